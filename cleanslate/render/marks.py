"""What rendering may give besides values: `omit`, undefined values, and the errors that name them."""

from __future__ import annotations

import sys
from typing import Any

from cleanslate.errors import RenderError
from cleanslate.model import SourceText


class Omit:
    """The type of OMIT: an argument that renders to it is left out, in maps and lists too."""

    _one: Omit | None = None

    def __new__(cls) -> Omit:
        """Give the only one, also when copied or unpickled."""
        if cls._one is None:
            cls._one = super().__new__(cls)
        return cls._one

    def __repr__(self) -> str:
        return "omit"

    def __str__(self) -> str:
        return ""  # beside other text it is nothing

    def __copy__(self) -> Omit:
        return self

    def __deepcopy__(self, memo: Any) -> Omit:
        return self


OMIT = Omit()


class UndefinedVariable(RenderError, KeyError):
    """A name has no value. A KeyError too, as looking up a variable is looking into a mapping."""


class Undefined:
    """The mark of a value that is missing or could not be rendered; using it raises, asking `is defined` does not.

    It stands here, without Jinja, so that code may ask `isinstance(value, Undefined)` at no cost.
    """

    __slots__ = ()

    def as_error(self) -> RenderError:
        """Give the error that using this value raises."""
        raise NotImplementedError


_OPENINGS = ("{{", "{%", "{#")


def is_template_text(text: str) -> bool:
    """Whether a text has something for Jinja to do, no matter where it came from."""
    return "{" in text and any(opening in text for opening in _OPENINGS)


_LEAVES = frozenset({str, int, float, bool, type(None)})
_ENOUGH = 300


def is_template(value: Any) -> bool:
    """Whether a value, or something in it, is a template: text from the repository that holds `{{`, `{%` or `{#`."""
    return _search(value, sys.maxsize)


def may_hold_template(value: Any) -> bool:
    """The same, but True without looking further for a value with more than a few hundred things in it (facts)."""
    return _search(value, _ENOUGH)


def _search(value: Any, most: int) -> bool:
    if isinstance(value, SourceText):
        return is_template_text(value)
    waiting = [value] if isinstance(value, dict | list | tuple) else []
    while waiting:
        container = waiting.pop()
        most -= len(container)
        if most < 0:
            return True
        for item in dict.values(container) if isinstance(container, dict) else container:
            kind = type(item)
            if kind in _LEAVES:
                continue
            if kind is SourceText:
                if "{" in item and is_template_text(item):
                    return True
            elif isinstance(item, dict | list | tuple):
                waiting.append(item)
            elif isinstance(item, SourceText) and is_template_text(item):
                return True
    return False
