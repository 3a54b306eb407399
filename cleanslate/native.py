"""What pydantic's core does in machine code, for rooms that work on every event: JSON, and looking for many words.

It is there once pydantic is, or once `load` was called: most runs are too short to earn the milliseconds that it takes.
Until then, and for what it writes otherwise than Python, these functions give None, and callers go the long way.
"""

from __future__ import annotations

import importlib.util
import marshal
import re
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import PathFinder
from typing import Any

Finder = Callable[[str], bool]

_CORE = "pydantic_core._pydantic_core"

# Numbers that the core and Python write differently: with an exponent, very small ones, and those that are none.
_ODD_NUMBERS = r"\de[-+]?\d{1,3}[,\]}]|0\.0000|NaN|Infinity"


def load() -> None:
    """Load the core, if it is not there, without what pydantic puts around it (3 ms instead of 40)."""
    if _CORE in sys.modules:
        return
    package = importlib.util.find_spec("pydantic_core")
    spec = PathFinder.find_spec(_CORE, package.submodule_search_locations) if package else None
    if spec is None or spec.loader is None:
        return
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError:
        return  # whoever needs it more will say so
    sys.modules.setdefault(_CORE, module)


def json_of(value: Any) -> bytes | None:
    """The value as JSON in UTF-8, without blanks.

    Only of Python's own types, which have one JSON form: anything else (a template's lazy map, a date, a text that
    is no Unicode) gives None, as does a key that is True or False.
    """
    core: Any = sys.modules.get(_CORE)
    if core is None:
        return None
    try:
        marshal.dumps(value, 2)  # refuses other types than Python's own, and subclasses of them, at once
        text: bytes = core.to_json(value)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return None if b'"true":' in text or b'"false":' in text else text


def read_json(text: bytes) -> Any:
    """The value that `json_of` wrote."""
    return sys.modules[_CORE].from_json(text)


def finder(words: Iterable[str]) -> Finder | None:
    """A function that says whether any of the words is in a text, as it is or as `json_of` writes it.

    It may say yes where there is none, of texts with odd numbers or without Unicode; no is certain.
    """
    core = sys.modules.get(_CORE)
    if core is None:
        return None
    pattern = "|".join([_ODD_NUMBERS, *map(re.escape, sorted(set(words)))])
    try:
        holds = core.SchemaValidator({"type": "str", "pattern": pattern}).isinstance_python
    except Exception:  # noqa: BLE001 - too many words, say: whatever it does not take, callers have another way
        return None

    def found(text: str) -> bool:
        return bool(holds(text)) or not (text.isascii() or _is_unicode(text))

    return found


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
