"""Argument specs as roles write them (meta/argument_specs.yml): what is wrong with values, as sentences."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from cleanslate.steps.contract import as_flag

_BAD = object()
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6, "Z": 7, "Y": 8}


def errors(spec: Mapping[str, Any], values: Mapping[str, Any], where: str = "") -> Iterator[str]:
    """Every mistake in `values` by a spec's options; `where` is the path to them."""
    at = f" in {where}" if where else ""
    given = _by_name(spec, values)
    unknown = [str(name) for name in values if name not in spellings(spec)]
    missing = [name for name, about in spec.items() if as_flag(about.get("required")) is True and name not in given]
    if missing:
        yield f"missing required arguments: {', '.join(sorted(missing))}{at}"
    if unknown:
        yield f"no such arguments: {', '.join(sorted(unknown))}{at}; there are {', '.join(sorted(spec))}"
    for name, about in spec.items():
        if given.get(name) is not None:
            yield from value_errors(about, given[name], f"{where}.{name}" if where else name)


def rule_errors(about: Mapping[str, Any], values: Mapping[str, Any], where: str = "") -> Iterator[str]:
    """What is wrong by the rules between arguments: mutually_exclusive, required_together and the like."""
    at = f" in {where}" if where else ""
    there = {name for name, value in values.items() if value is not None}
    for group in _groups(about.get("mutually_exclusive")):
        if len(there & set(group)) > 1:
            yield f"only one of {', '.join(group)} may be given{at}"
    for group in _groups(about.get("required_together")):
        if 0 < len(there & set(group)) < len(set(group)):
            yield f"{', '.join(group)} belong together{at}"
    for group in _groups(about.get("required_one_of")):
        if not there & set(group):
            yield f"one of {', '.join(group)} is required{at}"
    for rule in about.get("required_if") or ():
        name, value, wanted = rule[:3]
        lacking = [one for one in wanted if one not in there]
        enough = len(lacking) < len(wanted) if len(rule) > 3 and as_flag(rule[3]) is True else not lacking
        if values.get(name) == value and not enough:
            yield f"{name} is {value!r}, so {', '.join(lacking)} must be given{at}"
    for name, wanted in (about.get("required_by") or {}).items():
        lacking = [one for one in ([wanted] if isinstance(wanted, str) else wanted) if one not in there]
        if name in there and lacking:
            yield f"{name} needs {', '.join(lacking)}{at}"


def _groups(value: Any) -> list[list[str]]:
    if not value:
        return []
    return [list(value)] if isinstance(value[0], str) else [list(group) for group in value]


def spellings(spec: Mapping[str, Any]) -> set[str]:
    """Every name that an argument of the spec may be given by."""
    return {name for key, about in spec.items() for name in (key, *(about.get("aliases") or ()))}


def _by_name(spec: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, about in spec.items():
        for word in (name, *(about.get("aliases") or ())):
            if word in values:
                found.setdefault(name, values[word])
    return found


def value_errors(about: Mapping[str, Any], value: Any, name: str) -> Iterator[str]:
    """What is wrong with one value, by what the spec says about it; `name` is the path to it."""
    kind = str(about.get("type") or "str")
    taken = _take(kind, value)
    if taken is _BAD:
        yield f"{name} must be {_NAMES.get(kind, kind)}, and is {value!r}"
        return
    choices = about.get("choices")
    if choices is not None:
        wrong = [one for one in (taken if isinstance(taken, list) else [taken]) if one not in list(choices)]
        if wrong:
            said = ", ".join(str(choice) for choice in choices)
            yield f"{name} must be one of {said}, and is {', '.join(map(repr, wrong))}"
    elements = about.get("elements")
    if kind == "list" and elements:
        items = [_take(str(elements), item) for item in taken]
        for index, item in enumerate(items):
            if item is _BAD:
                yield f"{name}[{index}] must be {_NAMES.get(str(elements), elements)}, and is {taken[index]!r}"
    else:
        items = [taken]
    if about.get("options"):
        for item in items:
            if isinstance(item, Mapping):
                yield from errors(about["options"], item, name)
                yield from rule_errors(about, item, name)


def _whole(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    try:
        number = Decimal(str(value))
        return int(number) if number == int(number) else _BAD
    except (InvalidOperation, ValueError, OverflowError):
        return _BAD


def _real(value: Any) -> Any:
    try:
        return float(value)
    except (TypeError, ValueError):
        return _BAD


def _truth(value: Any) -> Any:
    found = as_flag(value if isinstance(value, str) else str(value))
    return found if isinstance(found, bool) else _BAD


def _list(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, str):
        return value.split(",")
    return [str(value)] if isinstance(value, int | float) else _BAD


def _map(value: Any) -> Any:
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, str):
        return _BAD
    if value.lstrip().startswith("{"):
        try:
            return json.loads(value)
        except ValueError:
            return _BAD
    pairs = [part.partition("=") for part in value.replace(",", " ").split()]
    return {name: rest for name, _, rest in pairs} if pairs and all(sign for _, sign, _ in pairs) else _BAD


def _size(value: Any) -> Any:
    text = str(value).strip().upper().removesuffix("BIT").removesuffix("B")
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS and text[-1:] else (text, "")
    found = _real(number)
    return found if found is _BAD else int(found * 1024 ** _UNITS[unit])


def _json(value: Any) -> Any:
    return value if isinstance(value, str) else _BAD if value is None else json.dumps(value, default=str)


_TAKERS: Mapping[str, Callable[[Any], Any]] = {
    "int": _whole,
    "float": _real,
    "bool": _truth,
    "list": _list,
    "dict": _map,
    "bytes": _size,
    "bits": _size,
    "json": _json,
    "jsonarg": _json,
}
_NAMES = {"int": "a whole number", "float": "a number", "bool": "yes or no", "list": "a list", "dict": "a map"}


def _take(kind: str, value: Any) -> Any:
    """The value as its type wants it; _BAD where it cannot be had. Text, paths and raw values take anything."""
    if kind in ("str", "path") and not isinstance(value, str):
        return str(value)
    return _TAKERS.get(kind, lambda same: same)(value)
