"""What a value is expected to be: a value, one of a list, or a type; told as a sentence when it is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleanslate.configtext.values import MISSING, describe, same

TYPES = ("integer", "number", "text", "boolean", "list", "mapping", "null")
_ALSO = {"int": "integer", "float": "number", "str": "text", "string": "text", "bool": "boolean", "dict": "mapping"}
_RULES = frozenset({"value", "in", "type", "absent", "min", "max"})


def unmet(expected: Any, actual: Any) -> str | None:
    """What was expected instead of the value that is there, or None where it is as expected.

    A list allows each of its values (or that very list). A mapping of nothing but `value`, `in`, `type`, `min`, `max`
    and `absent` is a set of rules that must all hold; any other mapping is a value.
    """
    rules = expected if _is_rules(expected) else None
    if rules is None:
        if actual is not MISSING and (same(expected, actual) or _among(expected, actual)):
            return None
        return _words(expected)
    for rule, wanted in rules.items():
        said = _rule(rule, wanted, actual)
        if said:
            return said
    return None


def wrong_rule(expected: Any) -> str | None:
    """What is wrong with an expectation itself, or None."""
    if not _is_rules(expected) or "type" not in expected:
        return None
    name = expected["type"]
    return None if _ALSO.get(name, name) in TYPES else f'"{name}" is no type; write one of {", ".join(TYPES)}'


def _is_rules(expected: Any) -> bool:
    return isinstance(expected, Mapping) and bool(expected) and expected.keys() <= _RULES


def _among(allowed: Any, actual: Any) -> bool:
    return isinstance(allowed, list) and any(same(each, actual) for each in allowed)


def _words(expected: Any) -> str:
    if isinstance(expected, list) and len(expected) > 1:
        return " or ".join(shown(each) for each in expected)
    return shown(expected[0] if isinstance(expected, list) and expected else expected)


def _rule(rule: str, wanted: Any, actual: Any) -> str | None:
    if rule == "absent":
        return None if (actual is MISSING) == bool(wanted) else ("no such key" if wanted else "any value")
    if actual is MISSING:
        return "a value"
    if rule == "value":
        return None if same(wanted, actual) else shown(wanted)
    if rule == "in":
        return None if _among(list(wanted), actual) else _words(list(wanted))
    if rule == "type":
        name = _ALSO.get(wanted, wanted)
        return (
            None
            if describe(actual) in ((name, "integer") if name == "number" else (name,))
            else f"a value of type {name}"
        )
    if not isinstance(actual, int | float) or isinstance(actual, bool):
        return f"a number with {rule} {wanted}"
    fits = actual >= wanted if rule == "min" else actual <= wanted
    return None if fits else f"{wanted} {'or more' if rule == 'min' else 'at most'}"


def shown(value: Any) -> str:
    """A value as JSON writes it, cut where it is long."""
    import json

    text = "missing" if value is MISSING else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:77] + "..."
