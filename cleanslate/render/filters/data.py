"""Filters between values and JSON or YAML text."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import yaml

from cleanslate.errors import RenderError
from cleanslate.render.values import plain

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def to_json(value: Any, *_ignored: Any, **options: Any) -> str:
    """The value as JSON text, on one line unless `indent` says otherwise."""
    options.pop("vault_to_text", None)
    options.pop("preprocess_unsafe", None)
    return json.dumps(plain(value), default=_json_default, **options)


def _json_default(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    raise RenderError(f"a {type(value).__name__} cannot be written as JSON")


def to_nice_json(value: Any, indent: int = 4, sort_keys: bool = True, *_ignored: Any, **options: Any) -> str:
    """The value as JSON text for people: indented by 4, keys sorted."""
    return to_json(value, indent=indent, sort_keys=sort_keys, separators=(",", ": "), **options)


def from_json(value: Any, **options: Any) -> Any:
    """The value that JSON text stands for."""
    try:
        return json.loads(str(value), **options)
    except ValueError as error:
        raise RenderError(f"from_json: {_shown(value)} is not JSON: {error}") from None


def to_yaml(value: Any, *_ignored: Any, **options: Any) -> str:
    """The value as YAML text, in YAML's own choice of flow and block style."""
    options = {"default_flow_style": None, "allow_unicode": True, **options}
    options.pop("vault_behavior", None)
    return str(yaml.dump(_yaml_plain(value, {}), Dumper=_Dumper, **options))


def to_nice_yaml(value: Any, indent: int = 4, *_ignored: Any, **options: Any) -> str:
    """The value as YAML text for people: a line for each entry, indented by 4."""
    return to_yaml(value, indent=indent, default_flow_style=options.pop("default_flow_style", False), **options)


def _yaml_plain(value: Any, done: dict[int, Any]) -> Any:
    """Plain data, but with keys that keep their type, and one copy of what is in it twice (YAML writes an anchor)."""
    if id(value) in done:
        return done[id(value)]
    if isinstance(value, dict):
        copy: dict[Any, Any] = {}
        done[id(value)] = copy
        copy.update({_yaml_key(key): _yaml_plain(item, done) for key, item in value.items()})
        return copy
    if isinstance(value, list | tuple):
        items: list[Any] = []
        done[id(value)] = items
        items.extend(_yaml_plain(item, done) for item in value)
        return items
    return plain(value)


def _yaml_key(key: Any) -> Any:
    return key if type(key) in (int, bool, float) else plain(key)


def from_yaml(value: Any) -> Any:
    """The value that YAML text stands for; what is no text stays as it is."""
    if not isinstance(value, str):
        return value
    try:
        return yaml.load(str(value), Loader=_Loader)
    except yaml.YAMLError as error:
        raise RenderError(f"from_yaml: {_shown(value)} is not YAML: {_first_line(error)}") from None


def from_yaml_all(value: Any) -> Any:
    """The values of a text with several YAML documents."""
    if not isinstance(value, str):
        return value
    try:
        return list(yaml.load_all(str(value), Loader=_Loader))
    except yaml.YAMLError as error:
        raise RenderError(f"from_yaml_all: {_shown(value)} is not YAML: {_first_line(error)}") from None


def _shown(value: Any) -> str:
    shown = repr(str(value))
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())


FUNCTIONS = {
    "from_json": from_json,
    "from_yaml": from_yaml,
    "from_yaml_all": from_yaml_all,
    "to_json": to_json,
    "to_nice_json": to_nice_json,
    "to_nice_yaml": to_nice_yaml,
    "to_yaml": to_yaml,
}
