"""The JSON schema of playbooks, for editors: from the keyword tables and the step types, so that it cannot drift."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cleanslate.steps.contract import StepType
from cleanslate.steps.registry import step_names, step_type

_TEMPLATE = {"type": "string", "pattern": r"\{[{%]"}
Schema = dict[str, Any]


def playbook_schema() -> Schema:
    """The schema of a playbook file: a list of plays and import_playbook entries."""
    from cleanslate.playbook.keywords import BLOCK, HANDLER, PLAY_PARTS, PLAY_WORDS, SHARED, STEP, STEP_WORDS

    types = [step_type(name) for name in step_names()]
    steps = {name: _step_schema(step) for step in types for name in _names(step)}
    step_words: Schema = {name: {} for name in (*STEP, *STEP_WORDS)}
    nodes = {"type": "array", "items": {"$ref": "#/$defs/node"}}
    block_words: Schema = {name: {} for name in BLOCK}
    block = dict.fromkeys(("block", "rescue", "always"), nodes)
    play_words: Schema = {name: {} for name in (*PLAY_WORDS, *SHARED)}
    parts = {name: nodes for name in PLAY_PARTS if name != "roles"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "cleanslate playbook",
        "type": "array",
        "items": {"anyOf": [{"$ref": "#/$defs/play"}, {"$ref": "#/$defs/import"}]},
        "$defs": {
            "import": _closed({"import_playbook": {}, "ansible.builtin.import_playbook": {}, **play_words}, ()),
            "play": _closed({**play_words, "roles": {"type": "array"}, **parts}, ["hosts"]),
            "node": {"anyOf": [{"$ref": "#/$defs/block"}, {"$ref": "#/$defs/step"}]},
            "block": _closed({**block_words, **block, "name": {}}, ["block"]),
            "step": {
                **_closed({**step_words, **{name: {} for name in HANDLER}, **steps}, ()),
                "minProperties": 1,
            },
        },
    }


def _closed(properties: Schema, required: Iterable[str]) -> Schema:
    """An object that takes these keys and no others."""
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        found["required"] = list(required)
    return found


def _names(step: StepType) -> list[str]:
    """Every name that a step type is written by."""
    if step.ansible_name is None:
        return [step.name, f"cleanslate.{step.name}"]
    return [step.name, f"{step.ansible_name}.{step.name}", *step.aliases]


def _step_schema(step: StepType) -> Schema:
    """A step type's arguments; every value may be a template, and free text stands for all of them."""
    model = step.arguments.model_json_schema()
    properties = {
        name: {"description": entry.get("description", ""), "anyOf": [_loose(entry, model), _TEMPLATE]}
        for name, entry in model.get("properties", {}).items()
    }
    aliases: Schema = {name: {} for name in step.arguments.model_fields if name not in properties}
    open_ended = step.arguments.model_config.get("extra") == "allow"
    mapping: Schema = {"type": "object", "properties": {**properties, **aliases}, "additionalProperties": open_ended}
    free: list[Schema] = [{"type": "string"}, {"type": "null"}]
    return {"description": step.summary, "anyOf": [mapping, *free]}


def _loose(entry: Schema, model: Schema) -> Schema:
    """What an editor should accept: words and numbers for one another where Ansible takes both, structure as it is."""
    if "$ref" in entry:
        return _loose(model["$defs"][entry["$ref"].rpartition("/")[2]], model)
    if "enum" in entry:
        return {"enum": list(entry["enum"])}
    if "anyOf" in entry:
        return {"anyOf": [_loose(part, model) for part in entry["anyOf"]]}
    if entry.get("type") in ("string", "number", "integer", "boolean"):
        return {"type": ["string", "number", "boolean"]}
    return {}
