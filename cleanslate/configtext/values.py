"""Paths into configuration data, and what "the same value" means there."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from cleanslate.errors import suggest

Path = tuple[str, ...]
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")


class EditRefused(Exception):
    """The text cannot be edited as asked: what is in the way, and what to do instead."""

    def __init__(self, what: str, fix: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix


class _Missing:
    """Stands for "there is no such key"; falsy, so that it is not taken for a value."""

    def __bool__(self) -> bool:
        """Be no value."""
        return False

    def __repr__(self) -> str:
        """Read as people say it."""
        return "missing"


MISSING = _Missing()


def parse_path(text: str) -> Path:
    r"""Read `a.b.0` (a dot inside a key is written `\.`) or the JSON pointer `/a/b/0`.

    A list's place is a number; `-` stands behind its last item. Raises EditRefused for an empty path or part.
    """
    if text.startswith("/"):
        parts = [part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/")]
    else:
        parts = [part.replace("\\.", ".") for part in re.split(r"(?<!\\)\.", text)]
    if not all(parts):
        raise EditRefused(f'"{text}" is not a path: a part of it is empty', "write a.b.0, or the JSON pointer /a/b/0")
    return tuple(parts)


def show_path(path: Sequence[str]) -> str:
    """Write a path the way people would: dotted, or as a JSON pointer where a key has dots or slashes."""
    if any(re.search(r"[./~\\]", part) for part in path):
        return "/" + "/".join(part.replace("~", "~0").replace("/", "~1") for part in path)
    return ".".join(path)


def index_of(part: str, length: int) -> int | None:
    """The place in a list of `length` that a path's part names, or None."""
    return int(part) if re.fullmatch(r"0|[1-9]\d*", part) and int(part) < length else None


def lookup(data: Any, path: Path) -> Any:
    """The value at a path, or MISSING."""
    for part in path:
        if isinstance(data, dict) and part in data:
            data = data[part]
        elif isinstance(data, list) and (index := index_of(part, len(data))) is not None:
            data = data[index]
        else:
            return MISSING
    return data


def can_be_added(data: Any, path: Path) -> bool:
    """Whether the deepest part of the path that exists is something that can hold more."""
    depth = next(depth for depth in range(len(path), -1, -1) if lookup(data, path[:depth]) is not MISSING)
    parent = lookup(data, path[:depth])
    return isinstance(parent, dict) or parent is None or (isinstance(parent, list) and path[depth] == "-")


def with_value(data: Any, path: Path, value: Any) -> Any:
    """A copy of the data with the value at the path; parents that are missing become mappings."""
    if not path:
        return value
    first, rest = path[0], path[1:]
    if isinstance(data, list):
        index = len(data) if first == "-" else index_of(first, len(data))
        if index is None:
            raise EditRefused(f'"{first}" is no place in a list of {len(data)}', 'write its number, or "-" to append')
        old = data[index] if index < len(data) else MISSING
        return [*data[:index], with_value(old, rest, value), *data[index + 1 :]]
    if data is not MISSING and data is not None and not isinstance(data, dict):
        raise EditRefused(f'"{first}" cannot be set: what should hold it is {describe(data)}')
    data = data or {}
    return {**data, first: with_value(data.get(first, MISSING), rest, value)}


def without(data: Any, path: Path) -> Any:
    """A copy of the data without what stands at the path, which must exist."""
    first, rest = path[0], path[1:]
    if isinstance(data, list):
        index = int(first)
        middle = [without(data[index], rest)] if rest else []
        return [*data[:index], *middle, *data[index + 1 :]]
    if rest:
        return {**data, first: without(data[first], rest)}
    return {key: value for key, value in data.items() if key != first}


def same(one: Any, other: Any) -> bool:
    """Whether two values mean the same: true is not 1, 4 is 4.0, the order of keys does not matter."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return bool(type(one) is type(other) or isinstance(one, str) == isinstance(other, str)) and one == other


def describe(value: Any) -> str:
    """Name a value's type the way the documentation does (`integer`, `text`, `list` ...)."""
    kinds = {bool: "boolean", int: "integer", float: "number", str: "text", list: "list", dict: "mapping"}
    if value is None:
        return "null"
    return next((name for kind, name in kinds.items() if isinstance(value, kind)), type(value).__name__)


def coerce(value: Any, current: Any) -> Any:
    """Take text that reads as a number or boolean for one where the present value is one (`-e length=262144`)."""
    if not isinstance(value, str):
        return value
    if isinstance(current, bool):
        return {"true": True, "false": False}.get(value.strip().lower(), value)
    if isinstance(current, int | float) and _NUMBER.fullmatch(value.strip()):
        return float(value) if re.search(r"[.eE]", value) else int(value)
    return str(value)


def missing_key(data: Any, path: Path) -> EditRefused:
    """The refusal for a path that is not there: how far it goes, and which key was probably meant."""
    for depth in range(len(path)):
        parent = lookup(data, path[:depth])
        if lookup(data, path[: depth + 1]) is MISSING:
            break
    shown = show_path(path)
    where = f'"{show_path(path[:depth])}"' if depth else "the file"
    if not isinstance(parent, dict | list):
        return EditRefused(f'there is no "{shown}": {where} is {describe(parent)}')
    keys = [str(key) for key in parent] if isinstance(parent, dict) else []
    near = suggest(path[depth], keys)
    held = f"{where} is a list of {len(parent)}" if isinstance(parent, list) else f'{where} has no "{path[depth]}"'
    return EditRefused(f'there is no "{shown}": {held}', near or "set create: true to add it")
