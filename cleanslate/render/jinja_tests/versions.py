"""The test of versions: `'5.10' is version('5.9', '>=')`."""

from __future__ import annotations

import operator
import re
from typing import Any

from cleanslate.errors import RenderError

_OPERATORS = {
    **dict.fromkeys(("==", "=", "eq"), operator.eq),
    **dict.fromkeys(("<", "lt"), operator.lt),
    **dict.fromkeys(("<=", "le"), operator.le),
    **dict.fromkeys((">", "gt"), operator.gt),
    **dict.fromkeys((">=", "ge"), operator.ge),
    **dict.fromkeys(("!=", "<>", "ne"), operator.ne),
}
_LOOSE = re.compile(r"\d+|[a-z]+|\.", re.IGNORECASE)
_STRICT = re.compile(r"^(\d+)\.(\d+)(?:\.(\d+))?(?:([ab])(\d+))?$")
_SEMVER = re.compile(
    r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$"
)


def loose(text: str) -> Any:
    """Numbers as numbers, words as words; what cannot be compared says so."""
    return [int(part) if part.isdigit() else part for part in _LOOSE.findall(text) if part != "."]


def strict(text: str) -> Any:
    """`1.2`, `1.2.3`, with `a1` or `b2` before the release."""
    match = _STRICT.match(text)
    if match is None:
        raise RenderError(f'"{text}" is not a strict version', fix="write 1.2 or 1.2.3, or leave strict=true out")
    numbers = (int(match[1]), int(match[2]), int(match[3] or 0))
    return numbers, (match[4], int(match[5])) if match[4] else ("z", 0)


def semantic(text: str) -> Any:
    """A version of semver.org; what follows a plus does not count."""
    match = _SEMVER.match(text)
    if match is None:
        raise RenderError(f'"{text}" is not a semantic version', fix="write 1.2.3, or version_type='loose'")
    numbers = tuple(int(part) for part in match.groups()[:3])
    if match[4] is None:
        return numbers, 1, []
    before = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in match[4].split(".")]
    return numbers, 0, before


def pep440(text: str) -> Any:
    """A version of a Python package."""
    try:
        from packaging.version import InvalidVersion, Version
    except ImportError:
        raise RenderError(
            "version_type='pep440' needs the Python package \"packaging\"",
            fix="install it, or use version_type='loose'",
        ) from None
    try:
        return Version(text)
    except InvalidVersion as error:
        raise RenderError(str(error)) from None


_KINDS = {"loose": loose, "strict": strict, "semver": semantic, "semantic": semantic, "pep440": pep440}


def version(
    value: Any, version: Any, operator: str = "eq", strict: bool | None = None, version_type: str | None = None
) -> bool:
    """Whether a version stands in that relation to another."""
    if strict is not None and version_type:
        raise RenderError("version: strict and version_type say the same; write one of them")
    if not str(value):
        raise RenderError("version: the version to compare is empty")
    if not str(version):
        raise RenderError("version: the version to compare with is empty")
    kind = version_type or ("strict" if strict else "loose")
    if kind not in _KINDS:
        raise RenderError(f'version: there is no version_type "{kind}"', fix=f"write one of {', '.join(_KINDS)}")
    if operator not in _OPERATORS:
        raise RenderError(f'version: there is no operator "{operator}"', fix=f"write one of {', '.join(_OPERATORS)}")
    try:
        return bool(_OPERATORS[operator](_KINDS[kind](str(value)), _KINDS[kind](str(version))))
    except TypeError:
        raise RenderError(
            f'the versions "{value}" and "{version}" cannot be compared: a number stands where the other has a word'
        ) from None


FUNCTIONS = {"version": version, "version_compare": version}
