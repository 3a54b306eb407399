"""Where values stand in a text, and how one is put in, exchanged or taken out without touching its neighbours."""

from __future__ import annotations

import re
from dataclasses import field

from cleanslate.configtext.values import EditRefused, Path, index_of, show_path
from cleanslate.dataclass import dataclass


@dataclass
class Span:
    """A value from `start` to `end` (exclusive). A bracketed one has children: items, or members with keys."""

    start: int
    end: int
    opens: str = ""  # "{", "[" or nothing
    children: list[Child] = field(default_factory=list)

    def child(self, part: str) -> int | None:
        """The number of the child that a path's part names, or None; EditRefused where a key stands twice."""
        if self.opens == "[":
            return index_of(part, len(self.children))
        places = [place for place, child in enumerate(self.children) if child.key == part]
        if len(places) > 1:
            raise EditRefused(
                f'the key "{part}" stands {len(places)} times in one mapping', "remove all but one by hand"
            )
        return places[0] if places else None


@dataclass
class Child:
    """An item or member; it starts at its key, or at its value where it has none."""

    key: str | None
    start: int
    value: Span


def reach(span: Span, path: Path) -> Span:
    """The value at an existing path."""
    for depth, part in enumerate(path):
        place = span.child(part)
        if place is None:
            raise EditRefused(f'"{show_path(path[: depth + 1])}" cannot be found in the text')
        span = span.children[place].value
    return span


def walk(span: Span, path: Path) -> tuple[Span, int]:
    """The parent and the place in it of an existing path."""
    parent = reach(span, path[:-1])
    place = parent.child(path[-1])
    if place is None:
        raise EditRefused(f'"{show_path(path)}" cannot be found in the text')
    return parent, place


def newline_of(text: str) -> str:
    """The line end that the text uses."""
    return "\r\n" if "\r\n" in text else "\n"


def line_start(text: str, index: int) -> int:
    """Where the line of this character begins."""
    return text.rfind("\n", 0, index) + 1


def line_end(text: str, index: int) -> int:
    """Where the line of this character ends: behind its newline, or at the end of the text."""
    found = text.find("\n", index)
    return len(text) if found < 0 else found + 1


def indent_at(text: str, index: int) -> str:
    """The blanks that the line of this character begins with."""
    found = re.match(r"[ \t]*", text[line_start(text, index) : index])
    return found.group() if found else ""


def own_line(text: str, index: int) -> bool:
    """Whether nothing but blanks stands before this character on its line."""
    return not text[line_start(text, index) : index].strip(" \t")


def indent_unit(text: str, span: Span) -> str | None:
    """One level of the indentation below `span`, or None where everything stands on one line."""
    for child in span.children:
        if own_line(text, child.start) and line_start(text, child.start) > span.start:
            inner, outer = indent_at(text, child.start), indent_at(text, span.start)
            return inner[len(outer) :] if inner.startswith(outer) else inner
        if unit := indent_unit(text, child.value):
            return unit
    return None


def cut_child(text: str, parent: Span, place: int) -> str:
    """The text without one child of a bracketed value: with its comma, and with the blanks that led to it."""
    child = parent.children[place]
    if len(parent.children) == 1:
        return text[: parent.start + 1] + text[parent.end - 1 :]
    if place + 1 < len(parent.children):
        return text[: child.start] + text[parent.children[place + 1].start :]
    return text[: parent.children[place - 1].value.end] + text[child.value.end :]


def add_child(text: str, parent: Span, written: str, unit: str | None) -> str:
    """The text with one more child at the end of a bracketed value, laid out as its brothers are.

    An empty bracket opens up to lines of its own where the text uses indentation (`unit`).
    """
    newline = newline_of(text)
    if parent.children:
        last = parent.children[-1]
        gap = newline + indent_at(text, last.start) if own_line(text, last.start) else _gap(text, parent)
        return text[: last.value.end] + "," + gap + written + text[last.value.end :]
    if unit is None:
        return text[: parent.start + 1] + written + text[parent.end - 1 :]
    outer = indent_at(text, parent.start)
    inside = newline + outer + unit + written + newline + outer
    return text[: parent.start + 1] + inside + text[parent.end - 1 :]


def _gap(text: str, parent: Span) -> str:
    """What stands behind a comma of this bracket; a blank where it has only one child and tells nothing."""
    if len(parent.children) < 2:
        return " "
    between = text[parent.children[-2].value.end : parent.children[-1].start]
    return between.partition(",")[2]
