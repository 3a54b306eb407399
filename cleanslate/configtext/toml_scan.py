"""Reads TOML with the place of everything; the standard library's reader tells no places and is missing in 3.10."""

from __future__ import annotations

import re
from dataclasses import field
from typing import Any, NoReturn

from cleanslate.configtext.spans import Child, Span
from cleanslate.configtext.values import MISSING, EditRefused, Path, lookup, show_path
from cleanslate.dataclass import dataclass

_BLANK = re.compile(r"[ \t]*")
_GAP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_REST = re.compile(r"[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z)")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LITERAL = re.compile(r"'[^'\n]*'")
_LONG = {
    '"""': re.compile(r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}', re.DOTALL),
    "'''": re.compile(r"'''(?:[^']|'{1,2}(?!'))*'{3,5}"),
}
_WORD = re.compile(r"[^\s,\]}#]+(?: \d\d:\d\d[^\s,\]}#]*)?")
_INTEGER = re.compile(
    r"[+-]?(?:0|[1-9](?:_?\d)*)|0x[0-9A-Fa-f](?:_?[0-9A-Fa-f])*|0o[0-7](?:_?[0-7])*|0b[01](?:_?[01])*"
)
_FLOAT = re.compile(r"[+-]?(?:(?:0|[1-9](?:_?\d)*)(?:\.\d(?:_?\d)*)?(?:[eE][+-]?\d(?:_?\d)*)?|inf|nan)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d.*|\d\d:\d\d.*")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\", "e": "\x1b"}


@dataclass
class Entry:
    """One `key = value`; its path is absolute, with numbers for arrays of tables."""

    path: Path
    start: int
    value: Span


@dataclass
class Table:
    """A table that has a header (or the root), and where its last line stands."""

    path: Path
    last_start: int
    last_end: int
    entries: int = 0


@dataclass
class Scan:
    """A whole text: its data, and where each part of it stands."""

    data: dict[str, Any] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    tables: list[Table] = field(default_factory=lambda: [Table((), 0, 0)])


def scan(text: str) -> Scan:
    """Read the text; EditRefused with the line where it is not TOML."""
    found = Scan()
    at = 1 if text.startswith("\ufeff") else 0
    while True:
        at = _match(_GAP, text, at)
        if at >= len(text):
            return found
        at = _header(found, text, at) if text[at] == "[" else _entry(found, text, at)
        end = _REST.match(text, at)
        if end is None:
            _refuse(text, at, "something stands behind the value")
        at = end.end()


def _match(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _refuse(text: str, at: int, what: str) -> NoReturn:
    raise EditRefused(f"this is not TOML: {what} in line {text.count(chr(10), 0, at) + 1}")


def _header(found: Scan, text: str, at: int) -> int:
    start, many = at, text.startswith("[[", at)
    keys, at = _keys(text, _match(_BLANK, text, at + (2 if many else 1)))
    close = "]]" if many else "]"
    if not text.startswith(close, at):
        _refuse(text, at, f'"{close}" is missing')
    path = _resolve(found.data, keys if not many else keys[:-1])
    if many:
        items = lookup(found.data, (*path, keys[-1]))
        if items is MISSING:
            items = _put(found.data, (*path, keys[-1]), [], text, start)
        if not isinstance(items, list):
            _refuse(text, start, f'"{show_path(keys)}" stands twice')
        items.append({})
        path = (*path, keys[-1], str(len(items) - 1))
    elif any(table.path == path for table in found.tables):
        _refuse(text, start, f'the table "{show_path(keys)}" stands twice')
    elif lookup(found.data, path) is MISSING:
        _put(found.data, path, {}, text, start)
    end = at + len(close)
    found.tables.append(Table(path, start, end))
    return end


def _resolve(data: Any, keys: Path) -> Path:
    """The absolute path of a header: a part that names an array of tables means its last one."""
    path: Path = ()
    for key in keys:
        path = (*path, key)
        value = lookup(data, path)
        if isinstance(value, list):
            path = (*path, str(len(value) - 1))
    return path


def _put(data: Any, path: Path, value: Any, text: str, at: int) -> Any:
    for part in path[:-1]:
        data = data[int(part)] if isinstance(data, list) else data.setdefault(part, {})
        if not isinstance(data, dict | list):
            _refuse(text, at, f'"{show_path(path)}" is below a value that is no table')
    if not isinstance(data, dict) or path[-1] in data:
        _refuse(text, at, f'"{show_path(path)}" stands twice')
    data[path[-1]] = value
    return value


def _entry(found: Scan, text: str, at: int) -> int:
    start, table = at, found.tables[-1]
    keys, at = _keys(text, at)
    if not text.startswith("=", at):
        _refuse(text, at, '"=" is missing')
    span, value = _value(text, _match(_BLANK, text, at + 1))
    path = (*table.path, *keys)
    _put(found.data, path, value, text, start)
    found.entries.append(Entry(path, start, span))
    table.last_start, table.last_end, table.entries = start, span.end, table.entries + 1
    return span.end


def _keys(text: str, at: int) -> tuple[Path, int]:
    keys: list[str] = []
    while True:
        for pattern in (_BARE, _BASIC, _LITERAL):
            if part := pattern.match(text, at):
                break
        else:
            _refuse(text, at, "a key is missing")
        written = part.group()
        keys.append(_unescape(written[1:-1]) if written[0] == '"' else written.strip("'"))
        at = _match(_BLANK, text, part.end())
        if not text.startswith(".", at):
            return tuple(keys), at
        at = _match(_BLANK, text, at + 1)


def _value(text: str, at: int) -> tuple[Span, Any]:
    first = text[at : at + 1]
    if first == "[" or first == "{":
        return _bracket(text, at, first)
    for quotes, pattern in _LONG.items():
        if text.startswith(quotes, at):
            found = pattern.match(text, at) or _refuse(text, at, "a text does not end")
            inner = re.sub(r"\A\r?\n", "", found.group()[3:-3])
            return Span(at, found.end()), _unescape(inner) if quotes == '"""' else inner
    if first and first in "\"'":
        found = (_BASIC if first == '"' else _LITERAL).match(text, at) or _refuse(text, at, "a text does not end")
        inner = found.group()[1:-1]
        return Span(at, found.end()), _unescape(inner) if first == '"' else inner
    found = _WORD.match(text, at) or _refuse(text, at, "a value is missing")
    return Span(at, found.end()), _word(found.group(), text, at)


def _word(word: str, text: str, at: int) -> Any:
    if word in ("true", "false"):
        return word == "true"
    if _INTEGER.fullmatch(word):
        return int(word.replace("_", ""), 0) if word.lstrip("+-") else 0
    if _FLOAT.fullmatch(word):
        return float(word.replace("_", ""))
    if _DATE.fullmatch(word):
        return word
    return _refuse(text, at, f'"{word}" is no value')


def _bracket(text: str, at: int, opens: str) -> tuple[Span, Any]:
    span, closes = Span(at, at, opens), "]" if opens == "[" else "}"
    items: list[Any] = []
    members: dict[str, Any] = {}
    at = _match(_GAP, text, at + 1)
    while not text.startswith(closes, at):
        keys: Path = ()
        start = at
        if opens == "{":
            keys, at = _keys(text, at)
            if not text.startswith("=", at):
                _refuse(text, at, '"=" is missing')
            at = _match(_GAP, text, at + 1)
        child, value = _value(text, at)
        span.children.append(Child(".".join(keys) if keys else None, start, child))
        if keys:
            _put(members, keys, value, text, start)
        else:
            items.append(value)
        at = _match(_GAP, text, child.end)
        if text.startswith(",", at):
            at = _match(_GAP, text, at + 1)
        elif not text.startswith(closes, at):
            _refuse(text, at, f'"," or "{closes}" is missing')
    span.end = at + 1
    return span, items if opens == "[" else members


def _unescape(text: str) -> str:
    text = re.sub(r"\\[ \t]*\r?\n\s*", "", text)

    def plain(found: re.Match[str]) -> str:
        code = found.group(1)
        return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, "\\" + code)

    return re.sub(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", plain, text)
