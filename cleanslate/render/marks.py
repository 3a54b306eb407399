"""What rendering may give besides values: `omit`, undefined values, and the errors that name them."""

from __future__ import annotations

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


def is_template(value: Any) -> bool:
    """Whether a value, or something in it, is a template: text from the repository that holds `{{`, `{%` or `{#`."""
    kind = type(value)
    if kind is SourceText:
        return "{" in value and is_template_text(value)
    if isinstance(value, dict):
        return any(map(is_template, dict.values(value)))
    if isinstance(value, list | tuple):
        return any(map(is_template, list.__iter__(value) if isinstance(value, list) else value))
    return isinstance(value, SourceText) and is_template_text(value)
