"""Tests of text: regular expressions and addresses."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from cleanslate.errors import RenderError
from cleanslate.render.filters.regex import compiled, flags_of

_HOW = ("match", "search", "fullmatch")


def regex(
    value: Any = "", pattern: Any = "", ignorecase: bool = False, multiline: bool = False, match_type: str = "search"
) -> bool:
    """Whether a regular expression matches, in the given way."""
    if match_type not in _HOW:
        raise RenderError(f'regex: there is no match_type "{match_type}"', fix=f"write one of {', '.join(_HOW)}")
    return bool(getattr(compiled(pattern, flags_of(ignorecase, multiline)), match_type)(_text(value)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def match(value: Any, pattern: Any = "", ignorecase: bool = False, multiline: bool = False) -> bool:
    """Whether a regular expression matches from the text's beginning."""
    return regex(value, pattern, ignorecase, multiline, "match")


def search(value: Any, pattern: Any = "", ignorecase: bool = False, multiline: bool = False) -> bool:
    """Whether a regular expression matches anywhere."""
    return regex(value, pattern, ignorecase, multiline, "search")


def is_uri(value: Any, schemes: list[str] | None = None) -> bool:
    """Whether a text can be read as a URI (with one of `schemes`); nearly every text can."""
    try:
        return urlsplit(value).scheme in schemes if schemes else bool(urlsplit(value)) or True
    except (AttributeError, TypeError, ValueError):
        return False


def is_url(value: Any, schemes: list[str] | None = None) -> bool:
    """Whether a text is a URI that names a machine or a path."""
    if not is_uri(value, schemes):
        return False
    parts = urlsplit(value)
    return bool(parts.scheme) and (bool(parts.netloc) or (parts.scheme == "file" and bool(parts.path)))


def is_urn(value: Any) -> bool:
    """Whether a text is a URN."""
    return is_uri(value, ["urn"])


FUNCTIONS = {"match": match, "regex": regex, "search": search, "uri": is_uri, "url": is_url, "urn": is_urn}
