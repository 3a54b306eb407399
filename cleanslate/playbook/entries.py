"""Lists of entries (`tasks:`, `handlers:`, a block's parts) -> steps and blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cleanslate.errors import Origin
from cleanslate.model import Block, Node, SourceList, SourceMap, Step
from cleanslate.playbook import explain
from cleanslate.playbook.forms import Form, read_form
from cleanslate.playbook.inherit import merge, read_keywords
from cleanslate.playbook.keywords import BLOCK, BLOCK_PARTS, HANDLER, INCLUDE_ALLOWS, STEP, collection_names
from cleanslate.playbook.loader import Loader, Scope, as_map, as_name
from cleanslate.playbook.types import IMPORTS, INCLUDES
from cleanslate.playbook.values import did_you_mean, is_name, shown

Nodes = tuple[Node, ...]


def read_entries(value: Any, scope: Scope, loader: Loader, what: str, origin: Origin | None) -> Nodes:
    """The nodes of a list of entries; what is wrong with it is noted, and the rest is read on."""
    if value is None:
        return ()
    if not isinstance(value, list):
        fix = 'start each entry with "- "' if isinstance(value, dict) else None
        loader.problems.add(f"{what} takes a list of steps, not {shown(value)}", origin, fix=fix)
        return ()
    places = value.item_origin if isinstance(value, SourceList) else lambda _index: origin
    nodes: list[Node] = []
    for index, entry in enumerate(value):
        nodes += read_entry(entry, scope, loader, places(index) or origin or Origin(str(scope.file)))
    return tuple(nodes)


def read_entry(entry: Any, scope: Scope, loader: Loader, origin: Origin) -> Nodes:
    """The nodes of one entry: one step or block, or everything that an import stands for."""
    if not isinstance(entry, dict):
        what, fix = explain.not_an_entry(entry)
        loader.problems.add(what, origin, fix=fix)
        return ()
    source = as_map(entry, origin)
    if any(part in source for part in BLOCK_PARTS):
        return _read_block(source, scope, loader, origin)
    return _read_step(source, scope, loader, origin)


# ---------------------------------------------------------------------- blocks


def _read_block(entry: SourceMap, scope: Scope, loader: Loader, origin: Origin) -> Nodes:
    name = as_name(entry.get("name"), entry.value_origin("name"))
    subject = f'block "{name}"' if name else "block"
    problems = loader.problems
    for part in BLOCK_PARTS[1:]:
        if part in entry and (scope.handlers or "block" not in entry):
            what, fix = explain.stray_part(part, handlers=scope.handlers)
            problems.add(f"{subject}: {what}", entry.key_origin(part), fix=fix)
    for key in entry:
        if key not in BLOCK and key not in BLOCK_PARTS and key != "name":
            what, fix = explain.unknown_block_key(key, entry)
            problems.add(f"{subject}: {what}", entry.key_origin(key), fix=fix)
    keywords = merge(scope.inherit, read_keywords(entry, BLOCK, problems, subject))
    inner = replace(scope, inherit=keywords)
    if entry.get("collections"):
        inner = replace(inner, collections=collection_names(entry["collections"]))
    parts = {
        part: read_entries(entry.get(part), inner, loader, f'{subject}: "{part}"', entry.value_origin(part))
        for part in BLOCK_PARTS
    }
    if scope.handlers:
        return parts["block"]  # handlers are called one by one; the block only lends them its keywords
    return (Block(**parts, keywords=keywords, origin=origin, name=name, role=scope.role),)


# ---------------------------------------------------------------------- steps


def _read_step(entry: SourceMap, scope: Scope, loader: Loader, origin: Origin) -> Nodes:
    form = read_form(entry, scope, loader, origin)
    if form is None:
        return ()
    loader.count(origin)
    own = _read_own(entry, form, scope, loader)
    if form.type in IMPORTS:
        from cleanslate.playbook.imports import read_import

        return read_import(form, entry, own, scope, loader)
    if form.type in INCLUDES:
        _check_include_keywords(entry, form, loader)
    if form.local:
        own.setdefault("delegate_to", "localhost")
    keywords = merge(scope.inherit, own)
    return (Step(form.type, form.args, keywords, origin, form.name, scope.role, inherit=scope.inherit),)


def _read_own(entry: SourceMap, form: Form, scope: Scope, loader: Loader) -> dict[str, Any]:
    """The step's own keywords, by field."""
    table = HANDLER if scope.handlers else STEP
    own = read_keywords(entry, table, loader.problems, form.subject)
    for key in form.loops:
        if len(form.loops) > 1 or "loop" in own:
            loader.problems.add(f"{form.subject}: a step has one loop only", entry.key_origin(key))
        value = entry[key]
        kind = key.removeprefix("with_")
        if kind == "items" and is_name(value):
            what = f'{form.subject}: "{key}" goes once through the text "{value}"'
            fix = f'write {key}: "{{{{ {value} }}}}" if it is a variable'
            loader.problems.add(what, entry.value_origin(key), fix=fix, severity="warning", code="loop-text")
        if value is not None:
            own["loop"], own["loop_with"] = value, kind
    _check_loop(own, form, entry, loader)
    return own


def _check_loop(own: dict[str, Any], form: Form, entry: SourceMap, loader: Loader) -> None:
    problems = loader.problems
    if "loop_control" in own and "loop" not in own:
        fix = did_you_mean("loop", [str(key) for key in entry if key != "loop_control"])
        problems.add(f'{form.subject}: "loop_control" without a loop', entry.key_origin("loop_control"), fix=fix)
    if "until" not in own and "delay" in own and "retries" not in own:
        problems.add(
            f'{form.subject}: "delay" has no effect without "until" or "retries"',
            entry.key_origin("delay"),
            severity="warning",
            code="no-effect",
        )


def _check_include_keywords(entry: SourceMap, form: Form, loader: Loader) -> None:
    """An include hands nothing down, so keywords that are about its steps are refused, as in Ansible."""
    for key in entry:
        if key in HANDLER and key not in INCLUDE_ALLOWS:
            loader.problems.add(
                f'{form.subject}: "{key}" does not reach the steps of {form.type}',
                entry.key_origin(key),
                fix=f'write it below "apply:" ({form.type}: {{..., apply: {{{key}: {_short(entry[key])}}}}})',
            )


def _short(value: Any) -> str:
    said = shown(value)
    return said if len(said) <= 40 and not said.startswith("a ") else "..."
