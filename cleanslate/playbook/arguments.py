"""`key=value` text and free-form text, taken apart the way Ansible does."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from cleanslate.errors import InputError, Origin
from cleanslate.model import SourceMap, SourceText

# Step types whose whole text is a command line, of which only these options are picked out.
RAW_TYPES = frozenset(("command", "shell", "raw", "script"))
RAW_OPTIONS = frozenset(
    ("creates", "removes", "chdir", "executable", "warn", "stdin", "stdin_add_newline", "strip_empty_ends")
)
_KEY = re.compile(r"[^\s{}'\"]+\Z")
_OPENERS = {"{{": "}}", "{%": "%}", "{#": "#}"}
_ESCAPE = re.compile(r"(\\U[0-9a-fA-F]{8}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\N\{[^}]+\}|\\[\\'\"abfnrtv])")


class SplitText(NamedTuple):
    """The pairs that were found, in order, and what is left of the text."""

    pairs: dict[str, str]
    rest: str


class _Token(NamedTuple):
    start: int
    end: int


def split_text(text: str, *, only: frozenset[str] | None = None) -> SplitText:
    r"""Take `key=value` words out of a text; quotes and templates hold blanks together.

    With `only`, just these keys are picked out, and the rest of the text stays as it was written, line breaks and
    blanks included (a command line). A value is unquoted when quotes enclose it whole; `\n` and the like are decoded
    in it. ValueError when a quote or a template is not closed.
    """
    pairs: dict[str, str] = {}
    kept: list[str] = []
    at = 0
    for start, end in _tokens(text):
        word = text[start:end]
        key, equals, value = _cut(word)
        if equals and key and (only is None or key in only):
            pairs[key] = _unquoted(_decoded(value))
            kept.append(text[at:start])
            at = end
            while at < len(text) and text[at] in " \t":
                at += 1
    kept.append(text[at:])
    rest = "".join(kept).strip()
    return SplitText(pairs, rest.replace("\\=", "=") if only is not None else rest)


def split_key_values(text: str, origin: Origin | None = None) -> SourceMap:
    """The pairs of a text that is nothing but `key=value` words (`-e`), as text of the sources: they may be templates.

    InputError for anything else in it.
    """
    try:
        pairs, rest = split_text(text)
    except ValueError as error:
        raise InputError(f"cannot take {text!r} apart: {error}", origin=origin) from None
    if rest:
        raise InputError(f'"{rest}" is not key=value', origin=origin, fix="quote a value that has blanks: key='a b'")
    made = SourceMap((), origin)
    for key, value in pairs.items():
        made[key] = SourceText(value, origin)
    return made


def _cut(word: str) -> tuple[str, bool, str]:
    """A word at its first equals sign that no backslash precedes; one inside quotes or a template is none."""
    at = word.find("=")
    while at > 0 and word[at - 1] == "\\":
        at = word.find("=", at + 1)
    key = word[:at]
    if at <= 0 or not (_KEY.match(key) or (key.startswith("{{") and key.endswith("}}"))):
        return word, False, ""
    return key, True, word[at + 1 :]


def _tokens(text: str) -> list[_Token]:
    """Where the words of a text are: blanks separate them, but not in quotes or templates."""
    tokens: list[_Token] = []
    start: int | None = None
    quote = closer = ""
    at = 0
    while at < len(text):
        char = text[at]
        step = 1
        if closer:
            if text.startswith(closer, at):
                closer, step = "", 2
        elif char == "\\" and text[at + 1 : at + 2] in ("'", '"'):
            start, step = (at if start is None else start), 2
        elif text[at : at + 2] in _OPENERS:
            closer, step = _OPENERS[text[at : at + 2]], 2
            start = at if start is None else start
        elif quote:
            quote = "" if char == quote else quote
        elif char in " \t\n\r":
            if start is not None:
                tokens.append(_Token(start, at))
                start = None
        else:
            start = at if start is None else start
            quote = char if char in "'\"" else ""
        at += step
    if closer or quote:
        raise ValueError(f"{quote or closer} is missing" if closer else f"a quote ({quote}) is not closed")
    if start is not None:
        tokens.append(_Token(start, len(text)))
    return tokens


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" and value[-2] != "\\":
        return value[1:-1]
    return value


def _decoded(value: str) -> str:
    """Backslash escapes as in a Python string; everything else as it is."""
    if "\\" not in value:
        return value
    return _ESCAPE.sub(lambda found: codecs.decode(found[0], "unicode-escape"), value)
