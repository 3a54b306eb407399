"""Tests of what is in a list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cleanslate.render.filters.sequences import distinct


def subset(values: Iterable[Any], others: Iterable[Any]) -> bool:
    """Whether everything is in the other list too."""
    other = list(others)
    return all(value in other for value in distinct(list(values)))


def superset(values: Iterable[Any], others: Iterable[Any]) -> bool:
    """Whether everything of the other list is here too."""
    return subset(others, values)


def contains(values: Any, value: Any) -> bool:
    """Whether the value is in the list."""
    return value in values


def all_true(values: Iterable[Any]) -> bool:
    """Whether nothing in the list is false."""
    return all(values)


def any_true(values: Iterable[Any]) -> bool:
    """Whether something in the list is true."""
    return any(values)


FUNCTIONS = {
    "all": all_true,
    "any": any_true,
    "contains": contains,
    "issubset": subset,
    "issuperset": superset,
    "subset": subset,
    "superset": superset,
}
