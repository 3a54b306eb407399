"""pydantic's findings about one value -> what was wanted there, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cleanslate.playbook.values import did_you_mean, shown

_WANTED = {
    "bool_type": "yes or no",
    "bool_parsing": "yes or no",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "string_type": "text",
    "string_sub_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "dict_type": "a map",
    "mapping_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
    "none_required": "nothing",
}


def wanted(details: Sequence[Any]) -> tuple[str, str | None]:
    """What to say right after `the argument "x" of copy`, and what to do; several details are a union's branches."""
    value = details[0].get("input")
    for detail in details:
        if detail["type"] == "literal_error":
            return _choice(detail, value)
    kinds = [_WANTED[detail["type"]] for detail in details if detail["type"] in _WANTED]
    others = [detail for detail in details if detail["type"] not in _WANTED]
    if kinds and not others:
        said = " or ".join(dict.fromkeys(kinds))
        if value is None:
            return " has no value", f"it takes {said}"
        return f" takes {said}, not {shown(value)}", _type_fix(said, value)
    return _message(others[0], value)


def _choice(detail: Any, value: Any) -> tuple[str, str | None]:
    expected = str(detail.get("ctx", {}).get("expected", "")).replace("'", "").replace(" or ", ", ")
    known = [word.strip() for word in expected.split(",") if word.strip()]
    fix = did_you_mean(str(value), known)
    return f" takes one of {', '.join(known)}, not {shown(value)}", fix


def _message(detail: Any, value: Any) -> tuple[str, str | None]:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "missing":
        return f' lacks "{detail["loc"][-1]}"', None
    if kind == "extra_forbidden":
        return f' has no "{detail["loc"][-1]}"', None
    if kind in ("greater_than", "greater_than_equal", "less_than", "less_than_equal"):
        sign, limit = next(((key, context[key]) for key in ("gt", "ge", "lt", "le") if key in context), ("", ""))
        words = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}
        return f" must be {words.get(sign, '')} {limit}, not {shown(value)}", None
    message = str(detail["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    what, _, fix = message.partition("; ")
    said = f"{what[:1].lower()}{what[1:]}"
    return (f": {said}" if what.startswith(shown(value)) else f" is {shown(value)}: {said}"), fix or None


def _type_fix(said: str, value: Any) -> str | None:
    if said == "text" and isinstance(value, dict | list):
        return "quote it if it is meant as text"
    if said == "a list" and isinstance(value, str):
        return f'write ["{value}"]' if len(value) <= 30 else "put it in square brackets"
    return None
