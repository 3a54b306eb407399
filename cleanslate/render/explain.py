"""Says where in a source a template failed, and why, in words a person can act on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from cleanslate.errors import Origin, suggest
from cleanslate.model import SourceText, origin_of

_LONGEST = 100
_CLOSERS = {"{{": "}}", "{%": "%}", "{#": "#}"}


def place_of(text: str, at: int) -> Origin | None:
    """Give the place of the character `at` of a source text; lines after the first keep the first one's margin."""
    start = origin_of(text)
    if start is None or not start.line:
        return start
    above = text.count("\n", 0, at)
    column = at - (text.rfind("\n", 0, at) + 1)
    return Origin(start.file, start.line + above, (start.column or 1) + column)


def position_of_line(text: str, line: int) -> int:
    """Where line `line` (from 1) of a text begins; past the end, the text's last line."""
    at = 0
    for _ in range(line - 1):
        following = text.find("\n", at)
        if following < 0:
            break
        at = following + 1
    return at


def find_name(text: str, name: str, *, bare: bool = False, start: int = 0) -> int | None:
    """Where a variable's name stands in the expressions of a template; None where it does not."""
    pattern = re.compile(rf"(?<![\w.'\"])({re.escape(name)})(?![\w'\"])")
    for match in pattern.finditer(text, start):
        if bare or _expression_around(text, match.start()) is not None:
            return match.start()
    return None if start == 0 else find_name(text, name, bare=bare)


def find_access(text: str, key: Any) -> tuple[int, str] | None:
    """Where `.key` or `['key']` is asked of something, and of what (`a.b`); None where neither stands."""
    name = re.escape(str(key))
    path = r"([A-Za-z_]\w*(?:\.\w+|\[[^\[\]]*\])*?)"
    pattern = rf"{path}(?:\.{name}(?!\w)|\[\s*(?:'{name}'|\"{name}\"|{name})\s*\])"
    match = re.search(pattern, text)
    return (match.start(), match[1]) if match else None


def expression_at(text: str, at: int, *, bare: bool = False) -> str:
    """The `{{ ... }}` or `{% ... %}` around a character, on one line; of a bare expression, all of it."""
    around = None if bare else _expression_around(text, at)
    start, end = around or (0, len(text))
    if around is None and not bare:  # between expressions: the line
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at) if text.find("\n", at) >= 0 else len(text)
    shown = " ".join(text[start:end].split())
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 3] + "..."


def first_expression(text: str, line: int) -> int:
    """Where the first expression of a line begins; the line's start if it has none."""
    start = position_of_line(text, line)
    end = text.find("\n", start)
    match = re.compile(r"\{[{%]").search(text, start, end if end >= 0 else len(text))
    return match.start() if match else start


def _expression_around(text: str, at: int) -> tuple[int, int] | None:
    openings = {opening: text.rfind(opening, 0, at + 2) for opening in _CLOSERS}
    opening = max(openings, key=lambda name: openings[name])
    start = openings[opening]
    if start < 0:
        return None
    end = text.find(_CLOSERS[opening], start + 2)
    if end < 0:
        return (start, len(text))
    return (start, end + 2) if at < end + 2 and opening != "{#" else None


def missing_name(name: str, known: Iterable[str]) -> tuple[str, str]:
    """What is wrong, and what to do, when a variable is not defined."""
    hint = suggest(name, (word for word in known if isinstance(word, str)))
    return f'"{name}" is undefined', hint or f"define it, or say what holds without it: {name} | default(...)"


def missing_part(key: Any, container: Any, of: str | None) -> tuple[str, str | None]:
    """What is wrong, and what to do, when a value has no such key, item or attribute."""
    kind = _kind(container)
    subject = f'"{of}"' if of else f"a {kind}"
    if container is None:
        return f'{subject} is null, so it has no "{key}"', "give it a value, or write | default(...) after it"
    if isinstance(container, list | tuple) and isinstance(key, int):
        return f"{subject} has no item {key}: it has {len(container)}", None
    if isinstance(container, Mapping):
        keys = [word for word in container if isinstance(word, str)]
        hint = suggest(str(key), keys)
        listed = ", ".join(sorted(keys)[:10]) + (", ..." if len(keys) > 10 else "")
        return f'{subject} has no "{key}"', hint or (f"it has: {listed}" if listed else "it is empty")
    return f'{subject} ({kind}) has no "{key}"' if of else f'{subject} has no "{key}"', None


def _kind(value: Any) -> str:
    names = {SourceText: "text", str: "text", int: "number", float: "number", bool: "boolean", type(None): "null"}
    if isinstance(value, Mapping):
        return "mapping"
    return "list" if isinstance(value, list | tuple) else names.get(type(value), type(value).__name__)
