"""Filters about having a value at all, and what kind."""

from __future__ import annotations

import pprint
from typing import Any

import jinja2

from cleanslate.errors import RenderError
from cleanslate.model import SourceText
from cleanslate.render.registry import takes_undefined
from cleanslate.render.undefined import Broken
from cleanslate.render.values import plain


@takes_undefined
def default(value: Any, default_value: Any = "", boolean: bool = False) -> Any:
    """The value, or the default where it is undefined (with `boolean`: or false, empty, null)."""
    if isinstance(value, Broken):
        raise value.as_error()
    if isinstance(value, jinja2.Undefined) or (boolean and not value):
        return default_value
    return value


@takes_undefined
def mandatory(value: Any, msg: str | None = None) -> Any:
    """The value; an error where it is undefined."""
    if isinstance(value, Broken):
        raise value.as_error()
    if isinstance(value, jinja2.Undefined):
        name = value._undefined_name
        shown = f' "{name}"' if isinstance(name, str) else ""
        raise RenderError(str(msg) if msg is not None else f"the mandatory variable{shown} is not defined")
    return value


@takes_undefined
def ternary(value: Any, true_val: Any, false_val: Any, none_val: Any = None) -> Any:
    """One of two values, as the first is true or false; a third where it is null and a third is given."""
    if isinstance(value, jinja2.Undefined):
        return value
    if value is None and none_val is not None:
        return none_val
    return true_val if bool(value) else false_val


def to_bool(value: Any) -> bool:
    """True for yes, on, true, 1 in any case; everything else is false."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.lower() in ("yes", "on", "1", "true")
    return isinstance(value, int | float) and value == 1


@takes_undefined
def type_debug(value: Any) -> str:
    """The name of the value's type."""
    if isinstance(value, jinja2.Undefined):
        return "Undefined"
    if isinstance(value, dict | list):
        return "dict" if isinstance(value, dict) else "list"
    return "str" if isinstance(value, SourceText) else type(value).__name__


def to_pretty(value: Any) -> str:
    """The value as Python would show it, for debugging."""
    return pprint.pformat(plain(value), sort_dicts=False)


FUNCTIONS = {
    "bool": to_bool,
    "d": default,
    "default": default,
    "mandatory": mandatory,
    "pprint": to_pretty,
    "ternary": ternary,
    "type_debug": type_debug,
}
