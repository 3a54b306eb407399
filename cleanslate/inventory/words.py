"""Splits an INI host line into words as a POSIX shell reads them, and keeps the column of each word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from cleanslate.dataclass import dataclass

_SPECIAL = re.compile(r"['\"\\#]")
_RUN = re.compile(r"[^ \t\r\n'\"\\#]+")
_QUOTED_RUN = {"'": re.compile(r"[^']+"), '"': re.compile(r"[^\"\\]+")}


class Word(NamedTuple):
    """A word without its quotes; `columns` has the column (from 1) of each of its characters, and of its end."""

    text: str
    columns: Sequence[int]


class QuoteMistake(ValueError):
    """A quote that is not closed, or a backslash at the end; `column` counts from 1."""

    def __init__(self, what: str, column: int) -> None:
        self.what = what
        self.column = column
        super().__init__(what)


@dataclass
class _Reader:
    """Where the reader stands in the line, and the word it is in."""

    line: str
    at: int = 0
    started: bool = False

    def __post_init__(self) -> None:
        self.text: list[str] = []
        self.columns: list[int] = []

    def take(self, end: int) -> None:
        """Add what stands between here and `end` to the word, and go there."""
        self.started = True
        self.text.append(self.line[self.at : end])
        self.columns.extend(range(self.at + 1, end + 1))
        self.at = end

    def word(self) -> Word:
        word = Word("".join(self.text), (*self.columns, self.at + 1))
        self.text, self.columns, self.started = [], [], False
        return word


def split_words(line: str) -> tuple[list[Word], int]:
    """Give the line's words, and the column of a comment that began inside a word (0: there is none).

    The rules are those of Python's `shlex.split(line, comments=True)`, which Ansible uses: `#` begins a
    comment even inside a word, unless it is quoted or escaped. Raises QuoteMistake.
    """
    if not _SPECIAL.search(line):
        plain = _RUN.finditer(line)
        return [Word(found.group(), range(found.start() + 1, found.end() + 2)) for found in plain], 0
    reader = _Reader(line)
    words: list[Word] = []
    cut = 0
    while reader.at < len(line):
        char = line[reader.at]
        run = _RUN.match(line, reader.at)
        if run:
            reader.take(run.end())
        elif char == "#":
            cut = reader.at + 1 if reader.started else 0
            break
        elif char == "\\":
            _escaped(reader)
        elif char in "'\"":
            _quoted(reader, char)
        else:
            if reader.started:
                words.append(reader.word())
            reader.at += 1
    if reader.started:
        words.append(reader.word())
    return words, cut


def _quoted(reader: _Reader, quote: str) -> None:
    opened = reader.at
    reader.started = True
    reader.at += 1
    while reader.at < len(reader.line):
        run = _QUOTED_RUN[quote].match(reader.line, reader.at)
        if run:
            reader.take(run.end())
        elif reader.line[reader.at] == quote:
            reader.at += 1
            return
        else:  # a backslash: it escapes only a quote and itself
            if reader.line[reader.at + 1 : reader.at + 2] in ('"', "\\"):
                reader.at += 1
            reader.take(reader.at + 1)
    raise QuoteMistake(f"the quote {quote} is not closed", opened + 1)


def _escaped(reader: _Reader) -> None:
    if reader.at + 1 >= len(reader.line):
        raise QuoteMistake("the line ends in a backslash", reader.at + 1)
    reader.at += 1
    reader.take(reader.at + 1)
