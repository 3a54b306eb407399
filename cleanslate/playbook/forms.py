"""The forms in which a step names its type and arguments, brought to one."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import Origin
from cleanslate.model import SourceMap, SourceText
from cleanslate.playbook import explain
from cleanslate.playbook.arguments import RAW_OPTIONS, RAW_TYPES, split_text
from cleanslate.playbook.foreign import Said, type_at
from cleanslate.playbook.keywords import HANDLER, STEP, STEP_WORDS
from cleanslate.playbook.loader import Loader, Scope, as_map, as_name
from cleanslate.playbook.types import free_form, unknown_name
from cleanslate.playbook.values import copy_entry, shown, templated

ALL_ARGUMENTS = "**"


@dataclass
class Form:
    """A step's type and arguments in their one form. `subject` is how messages call the step."""

    type: str
    args: SourceMap
    subject: str
    origin: Origin
    name: SourceText | None = None
    loops: list[str] = field(default_factory=list)  # the keys that start with with_
    local: bool = False  # local_action


def read_form(entry: SourceMap, scope: Scope, loader: Loader, origin: Origin) -> Form | None:
    """The form of a step; None when there is no telling what it does (the mistake is noted)."""
    table = HANDLER if scope.handlers else STEP
    types: list[tuple[Any, str]] = []
    unknown: list[Any] = []
    refused: dict[Any, Said] = {}  # step types that there are and that cannot be used
    loops: list[str] = []
    for key in entry:
        if key in table or key in STEP_WORDS:
            continue
        if isinstance(key, str) and key.startswith("with_"):
            loops.append(key)
            continue
        name = type_at(key, entry, scope, loader) if isinstance(key, str) else None
        if isinstance(name, str):
            types.append((key, name))
        else:
            unknown.append(key)
            refused |= {key: name} if name else {}
    name_text = as_name(entry.get("name"), entry.value_origin("name"))
    kind = "handler" if scope.handlers else "step"
    action = next((key for key in ("action", "local_action") if key in entry), None)
    if action is not None:
        types.append((action, ""))
    said = f'{kind} "{name_text}"' if name_text else kind
    if len(types) != 1:
        _refuse_types(entry, types, unknown, refused, said, scope, loader, origin)
        return None
    key, type_name = types[0]
    value: Any = entry[key]
    if action is not None:
        found = _read_action(value, said, entry, entry.value_origin(action), scope, loader)
        if found is None:
            return None
        type_name, value = found
    subject = said if name_text else f"{kind} {type_name}"
    if isinstance(entry.get("name"), dict | list):
        loader.problems.add(f'{subject}: "name" takes text, not {shown(entry["name"])}', entry.value_origin("name"))
    for extra in unknown:
        what, fix = explain.unknown_step_key(extra, entry, type_name, key, kind)
        loader.problems.add(f"{subject}: {what}", entry.key_origin(extra), fix=fix)
    form = Form(type_name, SourceMap(), subject, origin, name_text, loops, action == "local_action")
    form.args = _read_arguments(form, value, entry, key, loader)
    return form


def _refuse_types(
    entry: SourceMap,
    types: list[tuple[Any, str]],
    unknown: list[Any],
    refused: dict[Any, Said],
    subject: str,
    scope: Scope,
    loader: Loader,
    at: Origin,
) -> None:
    if types:
        what, fix = explain.several_types([str(key) for key, _ in types], entry)
        loader.problems.add(f"{subject}: {what}", entry.key_origin(types[1][0]), fix=fix)
        return
    if not unknown:
        what, fix = explain.no_type(entry)
        loader.problems.add(f"{subject}: {what}", at, fix=fix)
        return
    key = next(iter(refused), None) or explain.likely_type(unknown, entry)
    severity = "warning" if scope.lenient else "error"
    what, fix = refused.get(key) or explain.unknown_type(key, entry)
    loader.problems.add(f"{subject}: {what}", entry.key_origin(key), fix=fix, severity=severity, code="unknown-step")
    for extra in unknown:
        if extra != key:
            what, fix = explain.unknown_step_key(extra, entry, None, key, subject.split(" ")[0])
            loader.problems.add(f"{subject}: {what}", entry.key_origin(extra), fix=fix, severity=severity)


def _read_action(
    value: Any, subject: str, entry: SourceMap, origin: Origin | None, scope: Scope, loader: Loader
) -> tuple[str, Any] | None:
    """`action: copy src=a dest=b`, `action: {module: copy, src: a}` -> the type's canonical name, and its arguments."""
    rest: Any
    if isinstance(value, dict):
        source = as_map(value, origin)
        word = source.get("module")
        rest = SourceMap((), source.origin)
        for key in source:
            if key != "module":
                copy_entry(source, key, rest)
    elif isinstance(value, str):
        word, _, text = value.strip().partition(" ")
        rest = SourceText(text.strip(), origin) if text.strip() else None
    else:
        word, rest = None, None
    if not isinstance(word, str) or not word:
        fix = "for example action: copy src=a dest=b"
        loader.problems.add(f"{subject}: an action names a step type and its arguments", origin, fix=fix)
        return None
    name = type_at(word, entry, scope, loader)
    if not isinstance(name, str):
        what, fix_said = name or unknown_name(word)
        loader.problems.add(f"{subject}: {what}", origin, fix=fix_said, code="unknown-step")
        return None
    return name, rest


# ---------------------------------------------------------------------- arguments


def _read_arguments(form: Form, value: Any, entry: SourceMap, key: Any, loader: Loader) -> SourceMap:
    """The arguments in long form: the type's own value over what stands in `args:`."""
    own = _from_value(form, value, entry.value_origin(key), loader)
    if entry.get("args") is None:
        return own
    origin = entry.value_origin("args")
    extra = entry["args"]
    if isinstance(extra, str) and not templated(extra):
        fix = "write it as a map, indented below args:"
        loader.problems.add(f'{form.subject}: "args" takes a map, not {shown(extra)}', origin, fix=fix)
        return own
    merged = _from_value(form, extra, origin, loader, what="args")
    made = SourceMap((), own.origin or origin)
    for source in (merged, own):
        for name in source:
            copy_entry(source, name, made)
    return made


def _from_value(form: Form, value: Any, origin: Origin | None, loader: Loader, what: str = "") -> SourceMap:
    if isinstance(value, dict):
        return _renamed(form.type, as_map(value, origin))
    made = SourceMap((), origin)
    if value is None:
        return made
    if isinstance(value, str):
        return _from_text(form, value, origin, loader, as_args=bool(what))
    text_argument = None if what else free_form(form.type)
    if text_argument is None:
        said = f'"{what}"' if what else form.type
        loader.problems.add(f"{form.subject}: {said} takes a map of arguments, not {shown(value)}", origin)
        return made
    return _put(made, text_argument, value, origin)


def _from_text(form: Form, text: str, origin: Origin | None, loader: Loader, *, as_args: bool) -> SourceMap:
    made = SourceMap((), origin)
    raw = form.type in RAW_TYPES
    stripped = text.strip()
    text_argument = free_form(form.type)
    if as_args or (text_argument is None and stripped.startswith("{{") and stripped.endswith("}}")):
        return _put(made, ALL_ARGUMENTS, SourceText(text, origin), origin)
    if "=" not in text:
        pairs: dict[str, str] = {}
        rest = stripped
    else:
        try:
            pairs, rest = split_text(text, only=RAW_OPTIONS if raw else None)
        except ValueError as error:
            fix = f'close it, or write the text below "{text_argument or form.type}:"'
            loader.problems.add(f"{form.subject}: cannot take the text apart: {error}", origin, fix=fix)
            return _put(made, text_argument or ALL_ARGUMENTS, SourceText("", origin), origin)
    for name, value in pairs.items():
        _put(made, name, SourceText(value, origin), origin)
    if rest and text_argument is None:
        what, fix_said = explain.free_text(form.type, rest, bool(pairs))
        loader.problems.add(f"{form.subject}: {what}", origin, fix=fix_said)
    elif rest and text_argument is not None:
        _put(made, text_argument, SourceText(rest, getattr(text, "origin", None) or origin), origin)
    return made


def _put(target: SourceMap, key: str, value: Any, origin: Origin | None) -> SourceMap:
    target[key] = value
    if origin is not None:
        target.key_origins[key] = target.value_origins[key] = origin
    return target


def _renamed(type_name: str, args: SourceMap) -> SourceMap:
    """`_raw_params` (Ansible's inner name for free text) under the argument's own name."""
    if "_raw_params" not in args:
        return args
    made = SourceMap((), args.origin)
    for key in args:
        copy_entry(args, key, made, (free_form(type_name) or key) if key == "_raw_params" else None)
    return made
