"""Filters for mappings, and for lists of mappings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import pass_environment

from cleanslate.errors import RenderError
from cleanslate.render.lazy import LazyList
from cleanslate.render.marks import Undefined
from cleanslate.render.registry import iterate

_LIST_MERGES = ("append", "append_rp", "keep", "prepend", "prepend_rp", "replace")


def combine(*mappings: Any, recursive: bool = False, list_merge: str = "replace") -> Any:
    """The mappings laid one over the other, later ones winning; with `recursive`, mappings in them too."""
    if list_merge not in _LIST_MERGES:
        raise RenderError(
            f'combine: there is no list_merge "{list_merge}"', fix=f"write one of {', '.join(_LIST_MERGES)}"
        )
    merged: Mapping[Any, Any] = {}
    for one in _flat(mappings):
        if not isinstance(one, Mapping):
            raise RenderError(f"combine wants mappings, not {type(one).__name__}: {one!r:.60}")
        merged = _merged(merged, one, recursive, list_merge) if merged else one
    return dict(merged.items())


def _flat(values: Any) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, list | tuple):
            found.extend(_flat(value))
        elif isinstance(value, Undefined):
            raise value.as_error()
        elif value is not None:
            found.append(value)
    return found


def _merged(low: Mapping[Any, Any], high: Mapping[Any, Any], recursive: bool, list_merge: str) -> dict[Any, Any]:
    merged = dict(low.items())
    for key, value in high.items():
        below = merged.get(key)
        if recursive and isinstance(below, Mapping) and isinstance(value, Mapping):
            merged[key] = _merged(below, value, recursive, list_merge)
        elif list_merge != "replace" and isinstance(below, list) and isinstance(value, list):
            merged[key] = _merged_lists(list(below), list(value), list_merge)
        else:
            merged[key] = value
    return merged


def _merged_lists(low: list[Any], high: list[Any], how: str) -> list[Any]:
    if how == "keep":
        return low
    if how == "append":
        return low + high
    if how == "prepend":
        return high + low
    rest = [value for value in low if value not in high]  # ..._rp: what is in both is taken once, from above
    return rest + high if how == "append_rp" else high + rest


def dict2items(mapping: Any, key_name: str = "key", value_name: str = "value") -> list[dict[str, Any]]:
    """A list of {key, value}, one for each entry."""
    if not isinstance(mapping, Mapping):
        raise RenderError(f"dict2items wants a mapping, not {type(mapping).__name__}")
    return [{key_name: key, value_name: value} for key, value in mapping.items()]


def items2dict(items: Any, key_name: str = "key", value_name: str = "value") -> dict[Any, Any]:
    """A mapping from a list of {key, value}."""
    if not isinstance(items, Sequence) or isinstance(items, str):
        raise RenderError(f"items2dict wants a list, not {type(items).__name__}")
    try:
        return {item[key_name]: item[value_name] for item in items}
    except KeyError as error:
        raise RenderError(
            f"items2dict: an item has no {error}",
            fix=f'name its keys: key_name="{key_name}", value_name="{value_name}"',
        ) from None
    except TypeError:
        raise RenderError("items2dict wants a list of mappings") from None


@pass_environment
def extract(environment: Any, key: Any, container: Any, morekeys: Any = None) -> Any:
    """`container[key]`, and what is further down under `morekeys`."""
    keys = [key] if morekeys is None else [key, *morekeys] if isinstance(morekeys, list) else [key, morekeys]
    for one in keys:
        container = environment.getitem(container, one)
        if isinstance(container, Undefined):
            return container
    return container


def subelements(obj: Any, subelements: Any, skip_missing: bool = False) -> list[tuple[Any, Any]]:
    """Pairs of an element and each item of a list inside it, which a dotted path (or a list of keys) names."""
    if isinstance(obj, Mapping):
        elements = list(obj.values())
    elif isinstance(obj, list | tuple):
        elements = list(obj)
    else:
        raise RenderError("subelements wants a list of mappings, or a mapping of them")
    if not isinstance(subelements, str | list | tuple):
        raise RenderError("subelements: the path must be text or a list of keys")
    path = subelements.split(".") if isinstance(subelements, str) else list(subelements)
    return [(element, item) for element in elements for item in _inner(element, path, skip_missing)]


def _inner(element: Any, path: list[Any], skip_missing: bool) -> list[Any]:
    values = element
    for key in path:
        if not isinstance(values, Mapping):
            raise RenderError(f'subelements: "{key}" should be in a mapping, and this is {type(values).__name__}')
        if key not in values:
            if skip_missing:
                return []
            raise RenderError(f'subelements: an element has no "{key}"', fix="give it one, or write skip_missing=true")
        values = values[key]
    if isinstance(values, LazyList | list | tuple):
        return list(values)
    raise RenderError(f'subelements: "{".".join(map(str, path))}" is no list, but {type(values).__name__}')


def rekey_on_member(data: Any, key: Any, duplicates: str = "error") -> dict[Any, Any]:
    """A mapping of the elements, by one of their members."""
    if duplicates not in ("error", "overwrite"):
        raise RenderError(f'rekey_on_member: duplicates cannot be "{duplicates}"', fix="write error or overwrite")
    elements = list(data.values()) if isinstance(data, Mapping) else list(iterate(data, "rekey_on_member"))
    found: dict[Any, Any] = {}
    for element in elements:
        if not isinstance(element, Mapping):
            raise RenderError("rekey_on_member wants mappings")
        if key not in element:
            raise RenderError(f'rekey_on_member: an element has no "{key}"')
        name = element[key]
        if found.get(name) and duplicates == "error":
            raise RenderError(f'rekey_on_member: "{name}" is there twice', fix='write duplicates="overwrite"')
        found[name] = element
    return found


FUNCTIONS = {
    "combine": combine,
    "dict2items": dict2items,
    "extract": extract,
    "items2dict": items2dict,
    "rekey_on_member": rekey_on_member,
    "subelements": subelements,
}
