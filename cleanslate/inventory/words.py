"""Splits an INI host line into words as a POSIX shell reads them, and keeps the column of each word."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Word:
    """A word without its quotes; `columns` has the column (from 1) of each of its characters, and of its end."""

    text: str
    columns: tuple[int, ...]


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

    def take(self, at: int) -> None:
        self.started = True
        self.text.append(self.line[at])
        self.columns.append(at + 1)

    def word(self) -> Word:
        word = Word("".join(self.text), (*self.columns, self.at + 1))
        self.text, self.columns, self.started = [], [], False
        return word


def split_words(line: str) -> tuple[list[Word], int]:
    """Give the line's words, and the column of a comment that began inside a word (0: there is none).

    The rules are those of Python's `shlex.split(line, comments=True)`, which Ansible uses: `#` begins a
    comment even inside a word, unless it is quoted or escaped. Raises QuoteMistake.
    """
    reader = _Reader(line)
    words: list[Word] = []
    cut = 0
    while reader.at < len(line):
        char = line[reader.at]
        if char == "#":
            cut = reader.at + 1 if reader.started else 0
            break
        if char in " \t\r\n":
            if reader.started:
                words.append(reader.word())
        elif char in "'\"":
            _quoted(reader, char)
        elif char == "\\":
            _escaped(reader)
        else:
            reader.take(reader.at)
        reader.at += 1
    if reader.started:
        words.append(reader.word())
    return words, cut


def _quoted(reader: _Reader, quote: str) -> None:
    opened = reader.at
    reader.started = True
    reader.at += 1
    while reader.at < len(reader.line):
        char = reader.line[reader.at]
        if char == quote:
            return
        if char == "\\" and quote == '"' and reader.line[reader.at + 1 : reader.at + 2] in ('"', "\\"):
            reader.at += 1
        reader.take(reader.at)
        reader.at += 1
    raise QuoteMistake(f"the quote {quote} is not closed", opened + 1)


def _escaped(reader: _Reader) -> None:
    if reader.at + 1 >= len(reader.line):
        raise QuoteMistake("the line ends in a backslash", reader.at + 1)
    reader.at += 1
    reader.take(reader.at)
