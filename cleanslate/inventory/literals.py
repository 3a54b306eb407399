"""What a value in an INI inventory is: a Python literal where it reads as one, else text. Ansible's rule."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from cleanslate.errors import Origin
from cleanslate.model import SourceList, SourceMap, SourceText

_CONSTANTS = {"True": True, "False": False, "None": None}
_INTEGER = re.compile(r"0|[1-9][0-9]{0,17}")
# How no Python literal begins: with most letters, with a slash, as an IPv4 address. Saves asking the parser.
_TEXT = re.compile(r"[^0-9+.(\[{'\"\sTFNbBrRuUs-]|[0-9]+\.[0-9]+\.")


def literal(text: str, origin: Origin) -> Any:
    """Give 5 for `5`, True for `True`, a list for `[1, 2]`; `true`, `yes`, `0644` and all else stay text."""
    if text.isidentifier():
        return _CONSTANTS[text] if text in _CONSTANTS else SourceText(text, origin)
    if _INTEGER.fullmatch(text):
        return int(text)
    if _TEXT.match(text):
        return SourceText(text, origin)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of backslashes that a path or pattern may well hold
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return SourceText(text, origin)
    if isinstance(value, str):
        return SourceText(value, origin._replace(column=origin.column + 1))
    if value is Ellipsis:
        return SourceText(text, origin)
    return _placed(value, origin)


def _placed(value: Any, origin: Origin) -> Any:
    if isinstance(value, str):
        return SourceText(value, origin)
    if isinstance(value, bytes):
        return SourceText(value.decode("utf-8", "replace"), origin)
    if isinstance(value, dict):
        return SourceMap(((_placed(key, origin), _placed(item, origin)) for key, item in value.items()), origin)
    if isinstance(value, set | frozenset):
        return SourceList([_placed(item, origin) for item in sorted(value, key=repr)], origin)
    if isinstance(value, list | tuple):
        return SourceList([_placed(item, origin) for item in value], origin)
    if value is None or isinstance(value, bool | int | float):
        return value
    return SourceText(str(value), origin)  # complex numbers, which no playbook can use
