"""Text from hosts as it may be shown: what a terminal would obey, or nobody would see, becomes an escape."""

from __future__ import annotations


def visible(text: str, but: str) -> str:
    r"""The text with controls, changes of direction and the like as `\x1b` or `\u202e`; those in `but` stay."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in but else _escape(char) for char in text)


def _escape(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
