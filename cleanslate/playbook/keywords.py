"""Which keywords may stand where, and what each of them takes: one table, and one reader for each kind of value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import Origin, Problems
from cleanslate.model import SourceMap
from cleanslate.playbook.values import did_you_mean, is_name, name_refusal, shown, templated

MISSING = object()
"""What a reader gives for a value that it refused: the keyword then counts as not written."""


@dataclass(frozen=True)
class Place:
    """One keyword at one place in the sources, and where to say what is wrong with it."""

    problems: Problems
    subject: str  # `step "Copy"`, `play "Web"`
    keyword: str
    origin: Origin | None

    def refuse(self, wanted: str, value: Any, fix: str | None = None) -> Any:
        """Note that the keyword's value is not what is wanted, and give MISSING."""
        self.problems.add(f'{self.subject}: "{self.keyword}" takes {wanted}, not {shown(value)}', self.origin, fix=fix)
        return MISSING

    def add(self, what: str, *, fix: str | None = None, severity: str = "error", code: str = "") -> None:
        """Note something else about the keyword."""
        self.problems.add(f"{self.subject}: {what}", self.origin, fix=fix, severity=severity, code=code)


Reader = Callable[[Any, Place], Any]

_FLAGS = {"yes", "no", "on", "off", "true", "false", "1", "0", "t", "f", "y", "n"}


def flag(value: Any, place: Place) -> Any:
    """A boolean in any of Ansible's spellings, or a template."""
    if isinstance(value, bool) or templated(value):
        return value
    if isinstance(value, int | float) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in _FLAGS:
        return value.strip().lower() in ("yes", "on", "true", "1", "t", "y")
    return place.refuse("yes or no", value)


def whole_number(value: Any, place: Place) -> Any:
    """A whole number, as number or text, or a template."""
    if templated(value):
        return value
    if isinstance(value, str) and re.fullmatch(r"\s*[-+]?\d+\s*", value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return place.refuse("a whole number", value)


def number(value: Any, place: Place) -> Any:
    """A number, as number or text, or a template."""
    if templated(value):
        return value
    if isinstance(value, str) and re.fullmatch(r"\s*[-+]?\d+(\.\d*)?\s*", value):
        return float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return place.refuse("a number of seconds" if place.keyword in ("delay", "pause") else "a number", value)


def text(value: Any, place: Place) -> Any:
    """Text, or a template; numbers are taken as they read."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return place.refuse("text", value, fix=f'quote it: {place.keyword}: "{"yes" if value else "no"}"')
    if isinstance(value, int | float):
        return str(value)
    return place.refuse("text", value)


def variable_name(value: Any, place: Place) -> Any:
    """The literal name of a variable."""
    if isinstance(value, str) and is_name(value):
        return str(value)
    if not isinstance(value, str):
        return place.refuse("the name of a variable", value)
    fix = name_refusal(value)
    return place.refuse("the name of a variable", value, fix=fix)


def conditions(value: Any, place: Place) -> Any:
    """Conditions that must all hold, as a tuple."""
    parts = value if isinstance(value, list) else [value]
    for part in parts:
        if isinstance(part, dict):
            key, rest = next(iter(part.items()), ("", ""))
            fix = f'quote the condition if it holds a colon: {place.keyword}: "{key}: {rest}"'
            return place.refuse("a condition", part, fix=fix)
        if isinstance(part, list):
            return place.refuse("a condition, or a list of them", part)
        if part is None:
            return place.refuse("a condition", part, fix="remove the keyword, or write the condition behind it")
    return tuple(parts)


def words(value: Any, place: Place) -> Any:
    """A list of words, or one text with commas, as a tuple of texts (tags). A list's items are not split."""
    parts = value if isinstance(value, list) else [value]
    if not all(isinstance(part, str | int | float) and not isinstance(part, bool) for part in parts):
        return place.refuse("a word, or a list of words", value)
    if isinstance(value, str) and not templated(value):
        parts = [word.strip() for word in value.split(",") if word.strip()]
    return tuple(part if templated(part) else str(part) for part in parts)


def names(value: Any, place: Place) -> Any:
    """A text or a list of texts, templates allowed, as a tuple (notify, listen)."""
    parts = value if isinstance(value, list) else [value]
    for part in parts:
        if not isinstance(part, str | int | float) or isinstance(part, bool):
            return place.refuse("a name, or a list of names", part)
    return tuple(part if isinstance(part, str) else str(part) for part in parts)


def variables(value: Any, place: Place) -> Any:
    """A map of variables, as one layer."""
    if not isinstance(value, dict):
        fix = "write it as a map: `name: value`, without dashes" if isinstance(value, list) else None
        return place.refuse("a map of variables", value, fix=fix)
    for key in value:
        if not is_name(key):
            where = value.key_origin(key) if isinstance(value, SourceMap) else place.origin
            said = f'{place.subject}: "{key}" in "{place.keyword}" cannot be the name of a variable'
            place.problems.add(said, where, fix=name_refusal(key))
    return (value if isinstance(value, SourceMap) else SourceMap(value, place.origin),)


def layers(value: Any, place: Place) -> Any:
    """A map, a list of maps or a template, as layers of which later ones win (environment, module_defaults)."""
    parts = value if isinstance(value, list) else [value]
    for part in parts:
        if not isinstance(part, dict) and not templated(part):
            return place.refuse("a map", part)
    return tuple(parts)


def loop(value: Any, place: Place) -> Any:
    """A list or a template that gives one."""
    if isinstance(value, list) or templated(value):
        return value
    fix = None
    if isinstance(value, dict):
        fix = 'to go through a map, write loop: "{{ the_map | dict2items }}"'
    elif isinstance(value, str) and value:
        fix = f'write a list, or a template if "{value}" is a variable: loop: "{{{{ {value} }}}}"'
    return place.refuse("a list", value, fix=fix)


def anything(value: Any, place: Place) -> Any:
    """Whatever stands there; somebody else looks at it."""
    return value


LOOP_CONTROL: Mapping[str, Reader] = {
    "loop_var": variable_name,
    "index_var": variable_name,
    "label": anything,
    "pause": number,
    "extended": flag,
    "extended_allitems": flag,
    "break_when": conditions,
}


def loop_control(value: Any, place: Place) -> Any:
    """The map of a loop's settings."""
    if not isinstance(value, dict):
        return place.refuse("a map", value, fix="for example loop_control: {label: ...}")
    made = SourceMap((), place.origin)
    source = value if isinstance(value, SourceMap) else SourceMap(value, place.origin)
    for key, inner in source.items():
        read = LOOP_CONTROL.get(key)
        if read is None:
            place.problems.add(
                f'{place.subject}: loop_control has no "{key}"',
                source.key_origin(key),
                fix=did_you_mean(str(key), LOOP_CONTROL),
            )
            continue
        kept = read(inner, Place(place.problems, place.subject, f"loop_control.{key}", source.value_origin(key)))
        if kept is not MISSING:
            made[key] = kept
            made.key_origins[key] = source.key_origin(key) or Origin("")
            made.value_origins[key] = source.value_origin(key) or Origin("")
    return made


def debugger(value: Any, place: Place) -> Any:
    """Ansible's task debugger: there is none here."""
    if value not in ("never", False):
        place.add(
            "there is no step debugger here", fix='remove "debugger"; --step asks before each step, -v shows more'
        )
    return MISSING


def collections(value: Any, place: Place) -> Any:
    """Names of collections; where they count (play, role, block, step) they are read by `collection_names`."""
    names = value if isinstance(value, list) else [value]
    if not all(isinstance(name, str) and name.count(".") == 1 for name in names):
        place.add(f'"collections" takes a list of names, not {shown(value)}', fix="for example [community.general]")
    return MISSING


def collection_names(value: Any) -> tuple[str, ...]:
    """The names under `collections`."""
    return tuple(str(name) for name in (value if isinstance(value, list) else [value]) if isinstance(name, str))


def ignored(value: Any, place: Place) -> Any:
    """A keyword of Ansible's that means nothing here."""
    place.add(f'"{place.keyword}" has no meaning here and is ignored', severity="note", code="ignored-keyword")
    return MISSING


@dataclass(frozen=True)
class Keyword:
    """How a keyword is read, which field of Keywords keeps it ("" for none), and whether what is inside inherits it."""

    read: Reader
    field: str = ""
    inherited: bool = True


def _same(read: Reader, *names: str, inherited: bool = True) -> dict[str, Keyword]:
    return {name: Keyword(read, name, inherited) for name in names}


# What plays, roles, blocks and steps share; all of it is inherited.
SHARED: dict[str, Keyword] = {
    **_same(flag, "any_errors_fatal", "become", "check_mode", "diff", "ignore_errors", "ignore_unreachable"),
    **_same(flag, "no_log", "run_once"),
    **_same(text, "become_flags", "become_method", "become_user", "connection", "remote_user"),
    **_same(whole_number, "port", "throttle", "timeout"),
    **_same(layers, "environment", "module_defaults"),
    **_same(words, "tags"),
    "debugger": Keyword(debugger),
    "collections": Keyword(collections),
    "become_exe": Keyword(ignored),
}
_INNER: dict[str, Keyword] = {  # what roles, blocks and steps have beyond plays
    **SHARED,
    **_same(variables, "vars"),
    **_same(conditions, "when"),
    **_same(text, "delegate_to"),
    **_same(flag, "delegate_facts"),
}
ROLE: Mapping[str, Keyword] = _INNER
BLOCK: Mapping[str, Keyword] = {**_INNER, **_same(names, "notify")}
STEP: Mapping[str, Keyword] = {
    **BLOCK,
    **_same(conditions, "changed_when", "failed_when", "until", inherited=False),
    **_same(whole_number, "retries", "poll", inherited=False),
    **_same(number, "delay", inherited=False),
    **_same(variable_name, "register", inherited=False),
    **_same(loop, "loop", inherited=False),
    **_same(loop_control, "loop_control", inherited=False),
    "async": Keyword(whole_number, "async_seconds", inherited=False),
}
HANDLER: Mapping[str, Keyword] = {**STEP, **_same(names, "listen", inherited=False)}

BLOCK_PARTS = ("block", "rescue", "always")
STEP_WORDS = ("name", "action", "local_action", "args")  # of a step's own form, not keywords with a value to keep

PLAY_PARTS = ("tasks", "pre_tasks", "post_tasks", "handlers", "roles")
PLAY_WORDS: Mapping[str, Reader] = {  # of plays only; plays.py keeps each in its own field
    "name": text,
    "hosts": anything,
    "vars": variables,
    "vars_files": anything,
    "vars_prompt": anything,
    "gather_facts": flag,
    "gather_subset": anything,
    "gather_timeout": ignored,
    "fact_path": ignored,
    "serial": anything,
    "strategy": text,
    "order": text,
    "max_fail_percentage": number,
    "force_handlers": flag,
    "lease": anything,
    "user": text,
    **dict.fromkeys(PLAY_PARTS, anything),
}

# Include steps hand nothing down but `vars`; so Ansible refuses what would only look as if it did.
INCLUDE_ALLOWS = frozenset(
    (*STEP_WORDS, "collections", "debugger", "ignore_errors", "listen", "loop", "loop_control", "no_log")
) | {"register", "run_once", "tags", "timeout", "vars", "when"}


def all_words() -> dict[str, str]:
    """Every keyword, with the kinds of entries that it may stand in, for people: `steps and blocks`."""
    places: dict[str, list[str]] = {}
    tables: list[tuple[str, Any]] = [
        ("plays", {*SHARED, *PLAY_WORDS}),
        ("roles", ROLE),
        ("blocks", {*BLOCK, *BLOCK_PARTS, "name"}),
        ("steps", {*STEP, *STEP_WORDS}),
        ("handlers", HANDLER),
    ]
    for kind, table in tables:
        for word in table:
            places.setdefault(word, []).append(kind)
    for kinds in places.values():
        if "steps" in kinds and "handlers" in kinds:
            kinds.remove("handlers")
    return {word: ", ".join(kinds[:-1]) + (" and " if kinds[1:] else "") + kinds[-1] for word, kinds in places.items()}
