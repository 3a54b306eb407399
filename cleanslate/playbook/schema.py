"""The JSON schema of playbooks, made from the keyword tables and the step types, for editors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleanslate.playbook import keywords as words
from cleanslate.playbook.types import known_names, spellings, step_name
from cleanslate.steps import registry

_TEMPLATE = {"type": "string", "pattern": r"\{[{%]"}
_LIST: dict[str, Any] = {"type": "array"}
_TEXTS: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": ["string", "number"]}}]}
_MAP = {"type": "object"}
_BY_READER: dict[Any, dict[str, Any]] = {
    words.flag: {"type": "boolean"},
    words.whole_number: {"type": "integer"},
    words.number: {"type": "number"},
    words.text: {"type": ["string", "number"]},
    words.variable_name: {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
    words.conditions: {"anyOf": [{"type": ["boolean", "string"]}, _LIST]},
    words.words: _TEXTS,
    words.names: _TEXTS,
    words.variables: _MAP,
    words.layers: {"anyOf": [_MAP, _LIST]},
    words.loop: _LIST,
    words.loop_control: _MAP,
}
_STEPS = {"type": ["array", "null"], "items": {"$ref": "#/definitions/entry"}}


def playbook_schema() -> dict[str, Any]:
    """The JSON schema (draft 7) of a playbook file, with every step type's arguments and their documentation."""
    definitions: dict[str, Any] = {"entry": _entry()}
    for name in registry.step_names():
        definitions[f"step.{name}"] = _arguments(name)
    play = {
        **_keywords(words.SHARED),
        **_keywords({key: words.Keyword(read) for key, read in words.PLAY_WORDS.items()}),
    }
    play |= dict.fromkeys(("tasks", "pre_tasks", "post_tasks", "handlers"), _STEPS)
    imported = {"import_playbook": {"type": "string"}, "name": {"type": "string"}, "vars": _MAP}
    imported |= {"when": _BY_READER[words.conditions], "tags": _TEXTS}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "cleanslate playbook",
        "type": "array",
        "items": {"anyOf": [_object(play, required=["hosts"]), _object(imported, required=["import_playbook"])]},
        "definitions": definitions,
    }


def _object(properties: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "additionalProperties": False, **more}


def _keywords(table: Mapping[str, words.Keyword]) -> dict[str, Any]:
    return {name: _or_template(_BY_READER.get(keyword.read, {})) for name, keyword in table.items()}


def _or_template(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, _TEMPLATE]} if schema else {}


def _entry() -> dict[str, Any]:
    """A step, handler or block."""
    properties = {"name": {"type": "string"}, **_keywords(words.HANDLER), **dict.fromkeys(words.BLOCK_PARTS, _STEPS)}
    properties |= {"args": {"type": ["object", "string"]}, "action": {}, "local_action": {}}
    for name in known_names():
        target = step_name(name)
        schema = {"anyOf": [{"$ref": f"#/definitions/step.{target}"}, {"type": ["string", "number", "null"]}]}
        properties[name] = schema
        if registry.step_type(target or name).ansible_name:
            properties[f"ansible.builtin.{name}"] = schema
    return _object(properties, patternProperties={"^with_": {}})


def _arguments(name: str) -> dict[str, Any]:
    """A step type's arguments; each may be a template instead."""
    from cleanslate.steps.contract import takes_any, with_descriptions

    found = registry.step_type(name)
    made = with_descriptions(found.arguments).model_json_schema(by_alias=False)
    inner = made.pop("$defs", {})
    properties = {}
    for word, field in spellings(found).items():
        schema = made["properties"][field]
        said = {key: schema[key] for key in ("description", "default") if key in schema}
        properties[word] = {**said, "anyOf": [schema, {"type": "string"}]}
    schema = _object(properties, description=found.summary)
    schema["additionalProperties"] = takes_any(found.arguments)
    if inner:
        schema["$defs"] = inner
    moved: dict[str, Any] = _moved(schema, f"#/definitions/step.{name}/$defs/")
    return moved


def _moved(value: Any, base: str) -> Any:
    """References to a model's own definitions, as they read from the whole schema."""
    if isinstance(value, dict):
        return {key: _target(inner, base) if key == "$ref" else _moved(inner, base) for key, inner in value.items()}
    return [_moved(inner, base) for inner in value] if isinstance(value, list) else value


def _target(reference: str, base: str) -> str:
    return base + reference.removeprefix("#/$defs/")
