"""What a value in an INI inventory is: a Python literal where it reads as one, else text. Ansible's rule."""

from __future__ import annotations

import ast
import warnings
from typing import Any

from cleanslate.errors import Origin
from cleanslate.model import SourceList, SourceMap, SourceText

_CONSTANTS = {"True": True, "False": False, "None": None}


def literal(text: str, origin: Origin) -> Any:
    """Give 5 for `5`, True for `True`, a list for `[1, 2]`; `true`, `yes`, `0644` and all else stay text."""
    if text.isidentifier():
        return _CONSTANTS[text] if text in _CONSTANTS else SourceText(text, origin)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of backslashes that a path or pattern may well hold
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return SourceText(text, origin)
    if isinstance(value, str):
        return SourceText(value, origin._replace(column=origin.column + 1))
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
    return SourceText(str(value), origin)  # complex numbers and `...`, which no playbook can use
