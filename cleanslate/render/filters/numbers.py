"""Filters for numbers and sizes."""

from __future__ import annotations

import math
import re
from typing import Any

from cleanslate.errors import RenderError

_UNITS = {
    "Y": 1 << 80,
    "Z": 1 << 70,
    "E": 1 << 60,
    "P": 1 << 50,
    "T": 1 << 40,
    "G": 1 << 30,
    "M": 1 << 20,
    "K": 1 << 10,
    "B": 1,
}
_WORDS = dict(zip(_UNITS, ("yotta", "zetta", "exa", "peta", "tera", "giga", "mega", "kilo", ""), strict=True))


def log(value: Any, base: Any = math.e) -> float:
    """The logarithm."""
    try:
        return math.log10(value) if base == 10 else math.log(value, base)
    except (TypeError, ValueError) as error:
        raise RenderError(f"log wants positive numbers: {error}") from None


def power(value: Any, exponent: Any) -> Any:
    """The value to the power of the exponent."""
    try:
        return math.pow(value, exponent)
    except (TypeError, ValueError) as error:
        raise RenderError(f"pow wants numbers: {error}") from None


def root(value: Any, base: Any = 2) -> Any:
    """The root."""
    try:
        return math.sqrt(value) if base == 2 else math.pow(value, 1.0 / float(base))
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise RenderError(f"root wants numbers: {error}") from None


def human_readable(size: Any, isbits: bool = False, unit: str | None = None) -> str:
    """A size for people: `1.00 MB`."""
    if not isinstance(size, int | float):
        raise RenderError(f"human_readable wants a number, not {size!r}", fix="write | int before it")
    number = float(size)
    base = "bits" if isbits else "Bytes"
    letter, limit = "", 1
    for letter, limit in _UNITS.items():
        if (unit is None and number >= limit) or (unit is not None and unit.upper() == letter[0]):
            break
    suffix = base if limit == 1 else letter + base[0]
    return f"{number / limit:.2f} {suffix}"


def human_to_bytes(size: Any, default_unit: str | None = None, isbits: bool = False) -> int:
    """The number of bytes (or bits) that `10M` stands for."""
    match = re.match(r"^([0-9]*\.?[0-9]+)(?:\s*([A-Za-z]+))?\s*$", str(size))
    if match is None:
        raise RenderError(f"human_to_bytes: {str(size)!r} is no size", fix="write it like 10M, 1.5 GB or 2048")
    unit = match[2] or default_unit
    if not unit:
        return round(float(match[1]))
    letter = unit[0].upper()
    if letter not in _UNITS:
        raise RenderError(f"human_to_bytes: there is no unit {unit!r}", fix=f"write one of {', '.join(_UNITS)}")
    if not _is_unit(unit, "bit" if isbits else "byte"):
        raise RenderError(
            f"human_to_bytes: {unit!r} is no unit of {'bits' if isbits else 'bytes'}",
            fix=f"write {letter}, or {letter}{'b' if isbits else 'B'}",
        )
    return round(float(match[1]) * _UNITS[letter])


def _is_unit(unit: str, base: str) -> bool:
    """Whether it is M, megabyte or MB; the case tells MB from Mb."""
    letter = unit[0].upper()
    whole = _WORDS[letter] + base
    return (
        len(unit) == 1 or unit.lower() == whole or (letter != "B" and unit == letter + ("b" if base == "bit" else "B"))
    )


FUNCTIONS = {
    "human_readable": human_readable,
    "human_to_bytes": human_to_bytes,
    "log": log,
    "pow": power,
    "root": root,
}
