"""import_tasks and import_role: what they stand for, resolved at load with everything they hand down."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from cleanslate.model import Node, SourceMap
from cleanslate.playbook.find import tasks_file_places
from cleanslate.playbook.forms import Form
from cleanslate.playbook.inherit import merge
from cleanslate.playbook.keywords import STEP
from cleanslate.playbook.loader import Loader, Scope
from cleanslate.playbook.types import LANGUAGE_ARGUMENTS
from cleanslate.playbook.values import did_you_mean, shown, templated

_LOOPING = ("loop", "until", "retries")
_NOT_HANDED_DOWN = frozenset(keyword.field for keyword in STEP.values() if keyword.field and not keyword.inherited)


def read_import(form: Form, entry: SourceMap, own: dict[str, Any], scope: Scope, loader: Loader) -> tuple[Node, ...]:
    """The nodes that an import stands for; its keywords are inherited by all of them."""
    for key in entry:
        if key == "loop" or key in form.loops:
            include = form.type.replace("import", "include")
            what = f"{form.subject}: an import has no loop, since it happens before there are any values"
            loader.problems.add(what, entry.key_origin(key), fix=f"use {include} instead")
        elif key in STEP and STEP[key].field in _NOT_HANDED_DOWN and key not in ("loop_control",):
            what = f'{form.subject}: "{key}" has no effect on an import'
            loader.problems.add(what, entry.key_origin(key), severity="warning", code="no-effect")
    check_arguments(form, loader)
    handed = {name: value for name, value in own.items() if name not in _NOT_HANDED_DOWN and name != "loop_with"}
    inner = replace(scope, inherit=merge(scope.inherit, handed))
    if form.type == "import_role":
        from cleanslate.playbook.roles import read_imported_role

        return read_imported_role(form, inner, loader)
    return _read_tasks(form, inner, loader)


def check_arguments(form: Form, loader: Loader) -> None:
    """Refuse arguments that imports and includes do not have."""
    known = LANGUAGE_ARGUMENTS[form.type]
    for key in form.args:
        if key not in known:
            what = f'{form.subject}: {form.type} has no argument "{key}"'
            fix = did_you_mean(str(key), known)
            if key == "apply":
                fix = "what stands beside an import already applies to every step in it"
            loader.problems.add(what, form.args.key_origin(key), fix=fix)


def _read_tasks(form: Form, scope: Scope, loader: Loader) -> tuple[Node, ...]:
    from cleanslate.playbook.entries import read_entries

    origin = form.args.value_origin("file") or form.origin
    name = form.args.get("file")
    if not isinstance(name, str) or not name.strip():
        what = f"{form.subject}: import_tasks needs a file"
        loader.problems.add(what, origin, fix="for example import_tasks: more.yml")
        return ()
    if templated(name):
        name = loader.render(name, scope, origin, f"{form.subject}: the name of an imported file")
        if name is None:
            return ()
    path = find_tasks_file(str(name), scope, loader)
    if path is None:
        what, fix = missing_file(str(name), scope, loader)
        loader.problems.add(f"{form.subject}: {what}", origin, fix=fix, code="missing-file")
        return ()
    if not loader.enter(path, origin, form.subject):
        return ()
    try:
        value = loader.read(path)
        return read_entries(value, replace(scope, file=path), loader, str(name), origin)
    finally:
        loader.leave()


def find_tasks_file(name: str, scope: Scope, loader: Loader) -> Path | None:
    """The file of steps of this name, as seen from a place."""
    places = tasks_file_places(name, file=scope.file, role=scope.role, playbook_dir=loader.playbook_dir)
    return next((place for place in places if place.is_file()), None)


def missing_file(name: str, scope: Scope, loader: Loader) -> tuple[str, str]:
    """What to say about a file of steps that is nowhere."""
    from cleanslate.playbook.find import near_file

    places = tasks_file_places(name, file=scope.file, role=scope.role, playbook_dir=loader.playbook_dir)
    return f"there is no file {shown(name)}", near_file(name, places)
