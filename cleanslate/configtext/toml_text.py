"""TOML: values are exchanged where they stand, keys added at the end of their table; comments stay."""

from __future__ import annotations

import json
import re
from typing import Any

from cleanslate.configtext.spans import Span, add_child, cut_child, line_end, line_start, newline_of, reach, walk
from cleanslate.configtext.toml_scan import Scan, Table, scan
from cleanslate.configtext.values import MISSING, EditRefused, Path, lookup, show_path
from cleanslate.dataclass import dataclass

_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass
class _Found:
    """The entry (`key = value` line) that a path leads into, and what of the path is left below it."""

    key_start: int
    value: Span
    rest: Path


def load(text: str) -> Any:
    """The data (dates as the text that stands there); EditRefused with the line where the text is not TOML."""
    return scan(text).data


def set_value(text: str, path: Path, value: Any) -> str:
    """The text with the value at the path, or with a new key behind the last one of its table."""
    scanned = scan(text)
    found = _find(scanned, path)
    if found is None:
        if lookup(scanned.data, path) is not MISSING:
            raise EditRefused(f'"{show_path(path)}" is a whole table', "set the values in it one by one")
        return _add(text, scanned, path, value)
    if lookup(scanned.data, path) is MISSING:
        return _add_inline(text, scanned, found, path, value)
    span = reach(found.value, found.rest)
    return text[: span.start] + _dump(value, text[span.start : span.end]) + text[span.end :]


def remove(text: str, path: Path) -> str:
    """The text without the key's line, or without its place in an array or inline table."""
    found = _find(scan(text), path)
    if found is None:
        raise EditRefused(f'"{show_path(path)}" is a whole table', "remove its keys one by one")
    if found.rest:
        return cut_child(text, *walk(found.value, found.rest))
    return text[: line_start(text, found.key_start)] + text[line_end(text, found.value.end) :]


def _find(scanned: Scan, path: Path) -> _Found | None:
    for entry in scanned.entries:
        if path[: len(entry.path)] == entry.path:
            return _Found(entry.start, entry.value, path[len(entry.path) :])
    return None


def _add_inline(text: str, scanned: Scan, found: _Found, path: Path, value: Any) -> str:
    rest = found.rest
    depth = len(rest)
    while depth and lookup(scanned.data, path[: len(path) - len(rest) + depth]) is MISSING:
        depth -= 1
    parent = reach(found.value, rest[:depth])
    if not parent.opens:
        raise EditRefused(f'"{show_path(path)}" cannot be added: what should hold it is no table')
    for part in reversed(rest[depth + 1 :]):
        value = {part: value}
    written = _dump(value, "")
    member = written if parent.opens == "[" else f"{_key(rest[depth])} = {written}"
    if parent.opens == "{" and not parent.children:
        member = f" {member} "
    return add_child(text, parent, member, None)


def _add(text: str, scanned: Scan, path: Path, value: Any) -> str:
    newline = newline_of(text)
    table = _table(scanned, path)
    rest = path[len(table.path) :]
    if len(rest) > 1 and not table.path:
        lines = [f"[{'.'.join(map(_key, path[:-1]))}]", f"{_key(path[-1])} = {_dump(value, '')}"]
        gap = "" if not text else newline if text.endswith("\n") else newline * 2
        return text + gap + newline.join(lines) + newline
    line = f"{'.'.join(map(_key, rest))} = {_dump(value, '')}"
    indent = text[line_start(text, table.last_start) : table.last_start] if table.entries else ""
    end = line_end(text, table.last_end) if table.path or table.entries else 0
    gap = newline if end and not text[:end].endswith("\n") else ""
    return text[:end] + gap + indent + line + ("" if gap else newline) + text[end:]


def _table(scanned: Scan, path: Path) -> Table:
    """The table that is written out for the longest beginning of the path."""
    fitting = [
        table for table in scanned.tables if path[: len(table.path)] == table.path and len(table.path) < len(path)
    ]
    return max(fitting, key=lambda table: len(table.path))


def _key(part: str) -> str:
    return part if _BARE.fullmatch(part) else json.dumps(part, ensure_ascii=False)


def _dump(value: Any, old: str) -> str:
    """A value on one line; text in the kind of quotes that stood there before."""
    if value is None:
        raise EditRefused("TOML has no null", "remove the key instead")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, dict):
        if not value:
            return "{}"
        return "{ " + ", ".join(f"{_key(str(key))} = {_dump(item, '')}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_dump(item, "") for item in value) + "]"
    text = str(value)
    if old.startswith("'") and "'" not in text and text.isprintable():
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
