"""Turns what a template computed into plain data: no undefined values, no lazy containers, no trusted text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from types import GeneratorType
from typing import Any

from cleanslate.errors import RenderError
from cleanslate.model import SourceText
from cleanslate.render.marks import OMIT, Undefined

_ATOMS = frozenset({str, int, float, bool, type(None)})
_ITERATORS = frozenset(
    {
        GeneratorType,
        map,
        filter,
        zip,
        enumerate,
        reversed,
        type(iter([])),
        type(reversed([])),
        type({}.keys()),
        type({}.values()),
        type({}.items()),
    }
)


def listed(value: Any) -> Any:
    """Make a list of what can only be gone through once (a generator, `d.keys()`); leave the rest alone."""
    if type(value) in _ITERATORS:
        return list(value)
    if isinstance(value, Iterator) and type(value).__module__ in ("itertools", "builtins"):
        return list(value)
    return value


def plain(value: Any) -> Any:
    """Give plain data, deep: dict, list, str, numbers, dates. Raises RenderError for what is undefined inside.

    Keys become text, as in JSON; entries that are `omit` are left out.
    """
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is SourceText:
        return str(value)
    if isinstance(value, dict):
        return {_key(key): plain(item) for key, item in value.items() if item is not OMIT}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value if item is not OMIT]
    if isinstance(value, Undefined):
        raise value.as_error()
    if isinstance(value, Mapping):
        return _mapping(value)
    if value is OMIT or isinstance(value, date | bytes):
        return value
    return _rarely(value)


def _mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    """A host's variables leave out those that lead to all hosts' variables, and so back to themselves."""
    around = getattr(value, "leads_around", ())
    return {_key(key): plain(value[key]) for key in value if key not in around}


def _key(key: Any) -> str:
    if isinstance(key, Undefined):
        raise key.as_error()
    return key if type(key) is str else str(key)


def _rarely(value: Any) -> Any:
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    seen = listed(value)
    if seen is not value:
        return plain(seen)
    raise unstorable(value)


def unstorable(value: Any) -> RenderError:
    """The error for a template whose result is no data."""
    kind = type(value).__name__
    if type(value).__module__ == "jinja2.runtime" and kind == "Undefined":
        return RenderError(
            "the inline if has no else, and its condition is false", fix="write what holds otherwise: ... else ..."
        )
    if isinstance(value, Callable):  # type: ignore[arg-type]  # abc.Callable is fine in isinstance
        return RenderError(
            f'the template gives a function ("{getattr(value, "__name__", kind)}"), not a value',
            fix='call it with "()"; if it is a key of a mapping, write mapping["key"]',
        )
    if isinstance(value, range):
        return RenderError("the template gives a range, which is no list yet", fix="write range(...) | list")
    return RenderError(
        f"the template gives a {kind}, which cannot be kept as a value", fix="turn it into text or a number"
    )
