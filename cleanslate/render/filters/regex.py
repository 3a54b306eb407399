"""Filters with regular expressions, in Python's dialect."""

from __future__ import annotations

import re
from typing import Any

from cleanslate.errors import RenderError


def flags_of(ignorecase: bool, multiline: bool) -> int:
    """Python's flags for the two options that all of these have."""
    return (re.IGNORECASE if ignorecase else 0) | (re.MULTILINE if multiline else 0)


def compiled(pattern: Any, flags: int) -> re.Pattern[str]:
    """A compiled expression; RenderError for one that is none."""
    try:
        return re.compile(str(pattern), flags)
    except re.error as error:
        raise RenderError(f'"{pattern}" is no regular expression: {error}') from None


def regex_replace(
    value: Any = "",
    pattern: Any = "",
    replacement: Any = "",
    ignorecase: bool = False,
    multiline: bool = False,
    count: int = 0,
    mandatory_count: int = 0,
) -> str:
    r"""The text with every match (or the first `count`) replaced; `\1` and `\g<name>` are groups."""
    text, done = compiled(pattern, flags_of(ignorecase, multiline)).subn(str(replacement), str(value), count=count)
    if mandatory_count and done != mandatory_count:
        raise RenderError(f"{done} of the {mandatory_count} replacements that must happen were possible")
    return text


def regex_findall(value: Any, regex: Any, multiline: bool = False, ignorecase: bool = False) -> list[Any]:
    """Every match: its text, its group, or its groups."""
    return compiled(regex, flags_of(ignorecase, multiline)).findall(str(value))


def regex_search(value: Any, regex: Any, *groups: Any, multiline: bool = False, ignorecase: bool = False) -> Any:
    """The first match's text, or the wanted groups as a list; null where nothing matches."""
    wanted = [_group(name) for name in groups]
    match = compiled(regex, flags_of(ignorecase, multiline)).search(str(value))
    if match is None:
        return None
    return [match.group(group) for group in wanted] if wanted else match.group()


def _group(name: Any) -> str | int:
    named = re.fullmatch(r"\\g<(\S+)>", str(name))
    if named:
        return named[1]
    numbered = re.fullmatch(r"\\(\d+)", str(name))
    if numbered:
        return int(numbered[1])
    raise RenderError(f'regex_search: "{name}" names no group', fix=r"write '\\1' or '\\g<name>'")


def regex_escape(value: Any, re_type: str = "python") -> str:
    """The text with everything escaped that a regular expression would read otherwise."""
    if re_type == "python":
        return re.escape(str(value))
    if re_type == "posix_basic":
        return re.sub(r"([].[^$*\\])", r"\\\1", str(value))
    raise RenderError(f'regex_escape: there is no re_type "{re_type}"', fix="write python or posix_basic")


FUNCTIONS = {
    "regex_escape": regex_escape,
    "regex_findall": regex_findall,
    "regex_replace": regex_replace,
    "regex_search": regex_search,
}
