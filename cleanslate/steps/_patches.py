"""Reads unified diffs, and applies them and exact replacements to a text: all fits exactly, or nothing is done."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from cleanslate.dataclass import dataclass

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_END = "\\ No newline at end of file"


class PatchRefused(Exception):
    """A diff that cannot be read, or that does not fit; `found` are all reasons, in words."""

    def __init__(self, found: Sequence[str]) -> None:
        super().__init__("; ".join(found))
        self.found = list(found)


@dataclass
class Hunk:
    """One place of a file: the lines that stand there and those that are to, each with its line end."""

    header: str
    start: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Replacement:
    """A text that stands in a file exactly `count` times, and what is to stand there."""

    old: str
    new: str
    count: int = 1


def parse_diff(text: str) -> dict[str, list[Hunk]]:
    """The hunks of a unified diff by path, in its order. PatchRefused names what is wrong by its line."""
    lines = text.split("\n")
    found: dict[str, list[Hunk]] = {}
    current: list[Hunk] | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            path = _path(line, lines[at + 1], at + 1)
            current = found.setdefault(path, [])
            at += 2
        elif line.startswith("@@"):
            if current is None:
                raise PatchRefused([f"line {at + 1} of the diff: a hunk before any file (--- and +++)"])
            hunk, at = _hunk(lines, at)
            current.append(hunk)
        else:
            at += 1  # what git and mail programs write between the files
    if not found or not all(found.values()):
        empty = [path for path, hunks in found.items() if not hunks]
        raise PatchRefused([f"the diff has no hunk for {', '.join(empty)}" if empty else "this is no unified diff"])
    return found


def _path(old: str, new: str, number: int) -> str:
    names = [line[4:].split("\t")[0].strip().strip('"') for line in (old, new)]
    if "/dev/null" in names:
        made = "makes" if names[0] == "/dev/null" else "removes"
        raise PatchRefused([f"line {number} of the diff {made} a file; patch_files changes files that stay"])
    prefixed = names[0].startswith("a/") and names[1].startswith("b/")
    return names[1][2:] if prefixed else names[1]


def _hunk(lines: Sequence[str], at: int) -> tuple[Hunk, int]:
    met = _HUNK.match(lines[at])
    if met is None:
        raise PatchRefused([f'line {at + 1} of the diff is no hunk\'s head: "{lines[at][:60]}"'])
    wanted = [int(met[2] if met[2] is not None else 1), int(met[4] if met[4] is not None else 1)]
    hunk = Hunk(met[0], int(met[1]))
    begun, at = at, at + 1
    sides = {" ": (hunk.old, hunk.new), "-": (hunk.old,), "+": (hunk.new,)}
    while (len(hunk.old), len(hunk.new)) != tuple(wanted):
        tag = (lines[at][:1] or " ") if at < len(lines) else ""
        if tag not in sides or len(hunk.old) > wanted[0] or len(hunk.new) > wanted[1]:
            have = f"{len(hunk.old)} and {len(hunk.new)} lines"
            raise PatchRefused([f"line {begun + 1} of the diff: {met[0]} is followed by {have} only, or by others"])
        for side in sides[tag]:
            side.append(lines[at][1:] + "\n")
        at += 1
        at = _without_end(lines, at, sides[tag])
    return hunk, at


def _without_end(lines: Sequence[str], at: int, sides: Sequence[list[str]]) -> int:
    if at < len(lines) and lines[at].startswith(_NO_END):
        for side in sides:
            side[-1] = side[-1][:-1]
        return at + 1
    return at


def patched(text: str, hunks: Sequence[Hunk], replacements: Sequence[Replacement]) -> tuple[str, list[str]]:
    """(the new text, notes about hunks that were found elsewhere). PatchRefused with every hunk that does not fit."""
    lines = _split(text)
    wrong: list[str] = []
    notes: list[str] = []
    shift = 0
    for number, hunk in enumerate(hunks, 1):
        expected = max(0, hunk.start - 1 if hunk.old else hunk.start) + shift
        place = _find(lines, hunk, expected)
        if isinstance(place, str):
            wrong.append(f"hunk {number} ({hunk.header}) {place}")
            continue
        if place != expected:
            notes.append(
                f"hunk {number} was found {abs(place - expected)} lines {'below' if place > expected else 'above'}"
            )
        lines[place : place + len(hunk.old)] = hunk.new
        shift = place - (hunk.start - 1) + len(hunk.new) - len(hunk.old) if hunk.old else shift + len(hunk.new)
    new = "".join(lines)
    for number, each in enumerate(replacements, 1):
        there = new.count(each.old)
        if there != each.count:
            done = ", the new text is there" if each.new and each.new in new else ""
            wrong.append(f"replacement {number}: its text is there {there} times, not {each.count}{done}")
        else:
            new = new.replace(each.old, each.new)
    if wrong:
        raise PatchRefused(wrong)
    return new, notes


def _split(text: str) -> list[str]:
    """Lines by their line feeds alone; what else `splitlines` takes for an end belongs to the line."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _find(lines: Sequence[str], hunk: Hunk, expected: int) -> int | str:
    """Where a hunk's old lines stand: where it says, else the only other place; a sentence where neither."""
    size = len(hunk.old)
    if _stands(lines, hunk.old, expected):
        return expected
    if not size:
        return "adds lines behind the file's end" if expected > len(lines) else expected
    places = [at for at in range(len(lines) - size + 1) if _stands(lines, hunk.old, at)]
    if len(places) == 1:
        return places[0]
    if places:
        return f"fits in {len(places)} places, and not where it says (line {expected + 1})"
    if any(_stands(lines, hunk.new, at) for at in range(len(lines) - len(hunk.new) + 1)):
        return "is there already, though not made by this step"
    for offset, wanted in enumerate(hunk.old):
        there = lines[expected + offset] if expected + offset < len(lines) else None
        if there != wanted:
            shown = "the file's end" if there is None else f'"{there.rstrip()[:80]}"'
            return f'does not fit: line {expected + offset + 1} is {shown}, the patch has "{wanted.rstrip()[:80]}"'
    return "does not fit"


def _stands(lines: Sequence[str], block: Sequence[str], at: int) -> bool:
    return bool(block) and list(lines[at : at + len(block)]) == list(block)
