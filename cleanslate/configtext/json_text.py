"""JSON: values are exchanged where they stand; key order, indentation, number forms and line ends stay."""

from __future__ import annotations

import json
import re
from typing import Any

from cleanslate.configtext.spans import (
    Child,
    Span,
    add_child,
    cut_child,
    indent_at,
    indent_unit,
    newline_of,
    reach,
    walk,
)
from cleanslate.configtext.values import MISSING, EditRefused, Path, lookup

_BLANK = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_WORD = re.compile(r"[^\s,\]}:]+")
_DEEPEST = 100


def load(text: str) -> Any:
    """The data; EditRefused with line and column where the text is not JSON."""
    try:
        return json.loads(text.lstrip("\ufeff"))
    except json.JSONDecodeError as error:
        raise EditRefused(f"this is not JSON: {error.msg} in line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise EditRefused("the JSON is nested too deeply") from None


def set_value(text: str, path: Path, value: Any) -> str:
    """The text with the value at the path; keys that are missing are added behind the last one of their mapping."""
    data, root = load(text), _locate(text)
    depth = len(path)
    while depth and lookup(data, path[:depth]) is MISSING:
        depth -= 1
    unit = indent_unit(text, root)
    if depth == len(path):
        parent, place = walk(root, path)
        old = parent.children[place].value
        return text[: old.start] + _write(value, text, old, unit) + text[old.end :]
    parent = reach(root, path[:depth])
    for part in reversed(path[depth + 1 :]):
        value = {part: value}
    return add_child(text, parent, _member(text, parent, root, path[depth], value, unit), unit)


def remove(text: str, path: Path) -> str:
    """The text without what stands at the path."""
    return cut_child(text, *walk(_locate(text), path))


def _locate(text: str) -> Span:
    start = 1 if text.startswith("\ufeff") else 0
    span, _ = _span(text, _skip(text, start), 0)
    return span


def _skip(text: str, index: int) -> int:
    found = _BLANK.match(text, index)
    return found.end() if found else index


def _span(text: str, index: int, depth: int) -> tuple[Span, int]:
    """The value that starts here, and where it ends. The text is known to be valid JSON."""
    if depth > _DEEPEST:
        raise EditRefused("the JSON is nested too deeply")
    opens = text[index]
    if opens not in "{[":
        found = (_STRING if opens == '"' else _WORD).match(text, index)
        end = found.end() if found else index
        return Span(index, end), end
    span, at = Span(index, index, opens), _skip(text, index + 1)
    while text[at] not in "}]":
        if text[at] == ",":
            at = _skip(text, at + 1)
        key, start = None, at
        if opens == "{":
            found = _STRING.match(text, at)
            end = found.end() if found else at
            key = json.loads(text[at:end], strict=False)
            at = _skip(text, _skip(text, end) + 1)
        value, at = _span(text, at, depth + 1)
        span.children.append(Child(key, start, value))
        at = _skip(text, at)
    span.end = at + 1
    return span, span.end


def _member(text: str, parent: Span, root: Span, key: str, value: Any, unit: str | None) -> str:
    outer = indent_at(text, parent.children[-1].start if parent.children else parent.start)
    inner = outer if parent.children else outer + (unit or "")
    written = _dump(value, text, unit, inner)
    if parent.opens == "[":
        return written
    return f"{json.dumps(key, ensure_ascii=text.isascii())}:{_colon_gap(text, root)}{written}"


def _colon_gap(text: str, span: Span) -> str:
    """What stands behind a colon in this text: usually a blank, nothing in a compact one."""
    for child in span.children:
        if child.key is not None:
            found = _STRING.match(text, child.start)
            between = text[found.end() if found else child.start : child.value.start]
            return between.partition(":")[2]
        if child.value.opens:
            return _colon_gap(text, child.value)
    return " "


def _write(value: Any, text: str, old: Span, unit: str | None) -> str:
    one_line = old.opens and "\n" not in text[old.start : old.end] and old.children
    return _dump(value, text, None if one_line else unit, indent_at(text, old.start))


def _dump(value: Any, text: str, unit: str | None, outer: str) -> str:
    if unit is None:
        return json.dumps(value, ensure_ascii=text.isascii())
    lines = json.dumps(value, ensure_ascii=text.isascii(), indent=unit).split("\n")
    return (newline_of(text) + outer).join(lines)
