"""Filters for lists: as sets, side by side, every combination."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from jinja2 import pass_environment
from jinja2.filters import do_unique

from cleanslate.errors import RenderError
from cleanslate.render.marks import Undefined
from cleanslate.render.registry import iterate


def flatten(values: Any, levels: int | None = None, skip_nulls: bool = True) -> list[Any]:
    """The list without lists in it (or `levels` fewer), and without nulls."""
    flat: list[Any] = []
    for value in values if isinstance(values, str) else iterate(values, "flatten"):
        if skip_nulls and (value is None or (isinstance(value, str) and value in ("None", "null"))):
            continue
        if isinstance(value, list | tuple) and (levels is None or levels >= 1):
            flat.extend(flatten(value, levels if levels is None else int(levels) - 1, skip_nulls))
        else:
            flat.append(value)
    return flat


def distinct(values: list[Any]) -> list[Any]:
    """The list with each value once, in its order."""
    try:
        return list(dict.fromkeys(values))
    except TypeError:  # not everything can be hashed
        once: list[Any] = []
        for value in values:
            if value not in once:
                once.append(value)
        return once


def _members(values: list[Any]) -> Callable[[Any], bool]:
    try:
        return frozenset(values).__contains__
    except TypeError:
        return values.__contains__


def _pair(name: str, first: Any, second: Any) -> tuple[list[Any], list[Any]]:
    both = []
    for values in (first, second):
        if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
            raise RenderError(f"{name} wants two lists, not {type(values).__name__}")
        found = list(values)
        for value in found:
            if isinstance(value, Undefined):
                raise value.as_error()
        both.append(found)
    return both[0], both[1]


def _has(members: Callable[[Any], bool], values: list[Any], value: Any) -> bool:
    try:
        return members(value)
    except TypeError:
        return value in values


def union(first: Any, second: Any) -> list[Any]:
    """What is in one or the other, once."""
    one, other = _pair("union", first, second)
    return distinct(one + other)


def intersect(first: Any, second: Any) -> list[Any]:
    """What is in both, once, in the order of the first."""
    one, other = _pair("intersect", first, second)
    members = _members(other)
    return distinct([value for value in one if _has(members, other, value)])


def difference(first: Any, second: Any) -> list[Any]:
    """What is in the first only, once."""
    one, other = _pair("difference", first, second)
    members = _members(other)
    return distinct([value for value in one if not _has(members, other, value)])


def symmetric_difference(first: Any, second: Any) -> list[Any]:
    """What is in one of them only, once."""
    one, other = _pair("symmetric_difference", first, second)
    in_one, in_other = _members(one), _members(other)
    only = [value for value in one if not _has(in_other, other, value)]
    return distinct(only + [value for value in other if not _has(in_one, one, value)])


@pass_environment
def unique(environment: Any, values: Any, case_sensitive: bool | None = None, attribute: Any = None) -> list[Any]:
    """The list without what was there before; with `case_sensitive`, `a` and `A` are two."""
    sensitive = bool(case_sensitive)
    found = list(values)
    try:
        return list(do_unique(environment, found, sensitive, attribute))
    except TypeError:
        if attribute is not None:
            raise
        return distinct(found)


def zipped(first: Any, *others: Any, strict: bool = False) -> list[tuple[Any, ...]]:
    """The lists side by side, as far as the shortest goes."""
    return list(zip(first, *others, strict=strict))


def zip_longest(first: Any, *others: Any, fillvalue: Any = None) -> list[tuple[Any, ...]]:
    """The lists side by side, as far as the longest goes."""
    return list(itertools.zip_longest(first, *others, fillvalue=fillvalue))


def product(first: Any, *others: Any, repeat: int = 1) -> list[tuple[Any, ...]]:
    """Each of the first with each of the others."""
    return list(itertools.product(first, *others, repeat=repeat))


def combinations(values: Any, size: int) -> list[tuple[Any, ...]]:
    """Every choice of `size` values."""
    return list(itertools.combinations(values, size))


def permutations(values: Any, size: int | None = None) -> list[tuple[Any, ...]]:
    """Every order of (a choice of `size`) values."""
    return list(itertools.permutations(values, size))


FUNCTIONS = {
    "combinations": combinations,
    "difference": difference,
    "flatten": flatten,
    "intersect": intersect,
    "permutations": permutations,
    "product": product,
    "symmetric_difference": symmetric_difference,
    "union": union,
    "unique": unique,
    "zip": zipped,
    "zip_longest": zip_longest,
}
