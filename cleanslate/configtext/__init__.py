"""Changes single values in configuration texts, and nothing else in them: the rest stays byte for byte.

Each format edits by position and is then held to account: what it wrote is read again, and must mean exactly
the old data with exactly the wanted change, or the edit is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, Protocol, cast

from cleanslate.configtext.values import (
    MISSING,
    EditRefused,
    can_be_added,
    coerce,
    lookup,
    missing_key,
    parse_path,
    same,
    show_path,
    with_value,
    without,
)
from cleanslate.dataclass import dataclass

__all__ = [
    "FORMATS",
    "MISSING",
    "Edit",
    "EditRefused",
    "edit",
    "format_of",
    "load",
    "lookup",
    "parse_path",
    "same",
    "wanted_value",
]

FORMATS = ("json", "yaml", "toml", "ini", "env")
_ENDINGS = {
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".toml": "toml",
    ".ini": "ini",
    ".cfg": "ini",
    ".conf": "ini",
    ".service": "ini",
    ".env": "env",
}


class Format(Protocol):
    """What a format can do; every path given to it is known to fit the data."""

    def load(self, text: str) -> Any:
        """The data; EditRefused where the text is not of this format."""

    def set_value(self, text: str, path: tuple[str, ...], value: Any) -> str:
        """The text with the value; missing keys are added."""

    def remove(self, text: str, path: tuple[str, ...]) -> str:
        """The text without what stands at the path, which exists."""


@dataclass(frozen=True)
class Edit:
    """One value that changed; `before` or `after` is MISSING where the key came or went."""

    path: str
    before: Any
    after: Any


def format_of(name: str) -> str | None:
    """The format that a file's name tells, or None."""
    path = PurePath(name)
    if path.name == ".env" or path.name.startswith(".env."):
        return "env"
    return _ENDINGS.get(path.suffix.lower())


def format_named(name: str) -> Format:
    """The editor of a format in FORMATS."""
    import importlib

    if name in ("ini", "env"):
        from cleanslate.configtext.line_text import Env, Ini

        return Ini() if name == "ini" else Env()
    found: Any = importlib.import_module(f"cleanslate.configtext.{name}_text")
    return cast("Format", found)


def load(text: str, format_name: str) -> Any:
    """The data of a text; EditRefused where it is not of that format."""
    return format_named(format_name).load(text)


def edit(
    text: str,
    format_name: str,
    *,
    values: Mapping[str, Any],
    removed: Sequence[str] = (),
    create: bool = False,
) -> tuple[str, list[Edit]]:
    """Set values and remove keys by path. Gives the new text and what changed; EditRefused changes nothing.

    A path that is not there is refused, with the nearest key, unless `create`. Removing what is not there is
    nothing to do.
    """
    edits: list[Edit] = []
    for shown, value in values.items():
        text, done = _set(text, format_name, shown, value, create=create)
        edits.extend(done)
    for shown in removed:
        path = parse_path(shown)
        data = load(text, format_name)
        before = lookup(data, path)
        if before is not MISSING:
            text = _held_to(format_named(format_name).remove(text, path), format_name, without(data, path), path)
            edits.append(Edit(show_path(path), before, MISSING))
    return text, edits


def wanted_value(value: Any, current: Any, format_name: str) -> Any:
    """The value as it will stand in the file: text in INI and .env, a number where one is and the text reads as one."""
    if format_name in ("ini", "env"):
        from cleanslate.configtext.line_text import plain

        return plain(value)
    return coerce(value, current)


def _set(text: str, format_name: str, shown: str, value: Any, *, create: bool) -> tuple[str, list[Edit]]:
    path = parse_path(shown)
    data = load(text, format_name)
    before = lookup(data, path)
    if before is MISSING and not (create and can_be_added(data, path)):
        raise missing_key(data, path)
    value = wanted_value(value, before, format_name)
    if same(before, value):
        return text, []
    wanted = with_value(data, path, value)
    text = _held_to(format_named(format_name).set_value(text, path, value), format_name, wanted, path)
    return text, [Edit(show_path(path), before, value)]


def _held_to(text: str, format_name: str, wanted: Any, path: tuple[str, ...]) -> str:
    """Refuse a text that does not mean what it should: better no change than a wrong one."""
    try:
        meant = load(text, format_name)
    except EditRefused:
        meant = MISSING
    if not same(meant, wanted):
        raise EditRefused(
            f'"{show_path(path)}" cannot be changed here without touching something else in the file',
            "edit it by hand, or use template",
        )
    return text
