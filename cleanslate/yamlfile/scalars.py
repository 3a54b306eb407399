"""What a YAML 1.1 scalar means: the same numbers, booleans, dates and nulls that Ansible sees."""

from __future__ import annotations

from typing import Any

import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

_PREFIX = "tag:yaml.org,2002:"
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= {spelt: True for word in ("yes", "true", "on") for spelt in (word, word.title(), word.upper())}
_WORDS |= {spelt: False for word in ("no", "false", "off") for spelt in (word, word.title(), word.upper())}
_NUMERIC = {_PREFIX + "int", _PREFIX + "float", _PREFIX + "timestamp"}
# first character -> (tag, pattern) of whatever may start with it, from the library's own table
_PATTERNS = {
    first: [(tag, pattern) for tag, pattern in pairs if tag in _NUMERIC]
    for first, pairs in Resolver.yaml_implicit_resolvers.items()
    if isinstance(first, str)
}
_CONSTRUCTOR = SafeConstructor()
_CONSTRUCT = {
    "int": _CONSTRUCTOR.construct_yaml_int,
    "float": _CONSTRUCTOR.construct_yaml_float,
    "bool": _CONSTRUCTOR.construct_yaml_bool,
    "null": _CONSTRUCTOR.construct_yaml_null,
    "timestamp": _CONSTRUCTOR.construct_yaml_timestamp,
    "binary": _CONSTRUCTOR.construct_yaml_binary,
}

TEXT = object()
"""What `plain` answers for a scalar that is nothing but text."""


def plain(text: str) -> Any:
    """The value of an unquoted scalar, or TEXT. ValueError for what looks like a number or date and is none."""
    if text.isdigit() and text.isascii() and (text[0] != "0" or text == "0") and len(text) < 20:
        return int(text)
    if text in _WORDS:
        return _WORDS[text]
    for tag, pattern in _PATTERNS.get(text[0], ()):
        if pattern.match(text):
            return tagged(tag, text)
    return TEXT


def tagged(tag: str, text: str) -> Any:
    """The value of a scalar with one of YAML's tags (`!!int`). KeyError for another tag, ValueError for nonsense."""
    construct = _CONSTRUCT[tag.removeprefix(_PREFIX)]
    try:
        return construct(yaml.ScalarNode(tag, text))
    except (KeyError, IndexError, AttributeError, yaml.YAMLError) as error:
        raise ValueError(f"{text!r} is not a value of its type") from error
