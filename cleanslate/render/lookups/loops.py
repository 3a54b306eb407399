"""Lookups that shape lists for loops."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

from cleanslate.errors import RenderError
from cleanslate.render.filters.mappings import subelements as subelements_of
from cleanslate.render.lookups import Lookups
from cleanslate.render.lookups.words import key_values
from cleanslate.render.marks import Undefined


def one_level(terms: list[Any]) -> list[Any]:
    """The list with the lists in it opened, one level deep."""
    flat: list[Any] = []
    for term in terms:
        if isinstance(term, list | tuple):
            flat.extend(term)
        else:
            flat.append(term)
    return flat


def items(lookups: Lookups, terms: list[Any]) -> list[Any]:
    """The items, lists among them opened."""
    return one_level(terms)


def as_list(lookups: Lookups, terms: list[Any]) -> list[Any]:
    """The items as they are."""
    return list(terms)


def indexed_items(lookups: Lookups, terms: list[Any]) -> list[Any]:
    """Each item with its number, from 0."""
    return [[number, value] for number, value in enumerate(one_level(terms))]


def nested(lookups: Lookups, terms: list[Any]) -> list[Any]:
    """Each item of the first list with each of the next."""
    if not terms:
        raise RenderError("nested wants at least one list")
    lists = [term if isinstance(term, list | tuple) else [term] for term in terms]
    return [one_level(list(combination)) for combination in itertools.product(*lists)]


def together(lookups: Lookups, terms: list[Any]) -> list[Any]:
    """The lists side by side; null where one has ended."""
    if not terms:
        raise RenderError("together wants at least one list")
    lists = [term if isinstance(term, list | tuple) else [term] for term in terms]
    return [one_level(list(row)) for row in itertools.zip_longest(*lists)]


def mapping_items(lookups: Lookups, terms: list[Any]) -> list[Any]:
    """The entries of mappings, as {key, value}."""
    found = []
    for term in terms:
        if isinstance(term, Undefined):
            raise term.as_error()
        if not isinstance(term, Mapping):
            raise RenderError(f"dict wants a mapping, not {type(term).__name__}")
        found += [{"key": key, "value": value} for key, value in term.items()]
    return found


def subelements(lookups: Lookups, terms: list[Any]) -> list[Any]:
    """Pairs of an element, without the list, and each item of that list inside it."""
    if len(terms) not in (2, 3):
        raise RenderError("subelements wants a list, a key, and perhaps {skip_missing: true}")
    flags = terms[2] if len(terms) == 3 else {}
    if not isinstance(flags, Mapping) or set(flags) - {"skip_missing"}:
        raise RenderError("subelements: the third term is {skip_missing: true} or nothing")
    elements = list(terms[0].values()) if isinstance(terms[0], Mapping) else terms[0]
    if not isinstance(elements, list | tuple):
        raise RenderError("subelements wants a list of mappings, or a mapping of them")
    kept = [one for one in elements if not (isinstance(one, Mapping) and one.get("skipped", False) is not False)]
    skip_missing = bool(flags.get("skip_missing", False))
    path = str(terms[1]).split(".")
    return [[_without(element, path), item] for element, item in subelements_of(kept, terms[1], skip_missing)]


def _without(element: Mapping[Any, Any], path: list[str]) -> dict[Any, Any]:
    first, *rest = path
    kept = {key: value for key, value in element.items() if key != first}
    return {**element, first: _without(element[first], rest)} if rest else kept


_SHORT = re.compile(r"^(?:(0x[0-9a-f]+|0?[0-9]+)-)?(0x[0-9a-f]+|0?[0-9]+)(?:/(0x[0-9a-f]+|0?[0-9]+))?(?::(.+))?$", re.I)
_NUMBERS = ("start", "end", "count", "stride")
_MOST = 1_000_000


def sequence(
    lookups: Lookups,
    terms: list[Any],
    start: Any = None,
    end: Any = None,
    count: Any = None,
    stride: Any = None,
    format: Any = None,
) -> list[Any]:
    """Numbers as text: `start=1 end=5 stride=2 format=host%02d`, or short `1-5/2:host%02d`."""
    given = {"start": start, "end": end, "count": count, "stride": stride, "format": format}
    options = {name: value for name, value in given.items() if value is not None}
    return [text for term in terms or [""] for text in _numbers({**options, **_sequence_words(term)})]


def _sequence_words(term: Any) -> dict[str, Any]:
    if isinstance(term, Mapping):
        return dict(term)
    text = str(term).strip()
    short = _SHORT.match(text)
    if short:
        named = dict(zip(("start", "end", "stride", "format"), short.groups(), strict=True))
        return {name: value for name, value in named.items() if value is not None}
    _, words = key_values(text)
    if unknown := set(words) - {*_NUMBERS, "format"}:
        raise RenderError(
            f'sequence has no option "{sorted(unknown)[0]}"', fix="it has start, end, count, stride, format"
        )
    return words


def _numbers(words: dict[str, Any]) -> list[str]:
    try:
        numbers = {
            name: int(str(words[name]), 0) if str(words[name])[:2] == "0x" else int(words[name])
            for name in _NUMBERS
            if name in words
        }
    except ValueError as error:
        raise RenderError(f"sequence wants numbers: {error}") from None
    start, stride = numbers.get("start", 1), numbers.get("stride", 1)
    if ("count" in numbers) == ("end" in numbers):
        raise RenderError("sequence wants either end or count")
    if "count" in numbers:
        count = numbers["count"]
        end = start + count * stride - stride if count else start
        if not count:
            return []
    else:
        end = numbers["end"]
    if stride == 0:
        raise RenderError("sequence: a stride of 0 goes nowhere")
    if stride > 0 and end < start:
        raise RenderError("sequence: to count backwards, make stride negative")
    if stride < 0 and end > start:
        raise RenderError("sequence: to count forward, make stride positive")
    series = range(start, end + (1 if stride > 0 else -1), stride)
    if len(series) > _MOST:
        raise RenderError(f"sequence: more than {_MOST} items")
    return [_formatted(words.get("format", "%d"), number) for number in series]


def _formatted(pattern: Any, number: int) -> str:
    try:
        return str(pattern) % number
    except (TypeError, ValueError):
        raise RenderError(f'sequence: "{pattern}" is no format for a number', fix="write it like host%02d") from None


FUNCTIONS = {
    "dict": mapping_items,
    "indexed_items": indexed_items,
    "items": items,
    "list": as_list,
    "nested": nested,
    "sequence": sequence,
    "subelements": subelements,
    "together": together,
}
