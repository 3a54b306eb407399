"""Finds what is left of a secret that was cut off before anybody who knows the secrets saw it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cleanslate.redaction.forms import escaped, parts

MASK = "********"
SHORTEST_CUT = 6  # characters of what is left of a secret that was cut off
_LONGEST_CUT = 4096


def pattern_of(found: Iterable[str]) -> re.Pattern[str]:
    """One expression for all: by first character, as a long plain alternation is slow; longer forms first."""
    by_first: dict[str, list[str]] = {}
    for form in sorted(found, key=len, reverse=True):
        by_first.setdefault(form[0], []).append(re.escape(form[1:]))
    groups = [f"{re.escape(first)}(?:{'|'.join(rests)})" for first, rests in by_first.items()]
    return re.compile("|".join(groups))


def rests(secret: str) -> set[str]:
    """The forms of a secret of which something could be left."""
    found = {form for part in parts(secret) for form in (part, *escaped(part))}
    return {form for form in found if len(form) > SHORTEST_CUT}


class Cut:
    """Masks what is left of a secret that was cut off: its beginning at the end of a text or before dots, or its end
    at the start of one or behind dots. Many texts are shortened before anybody who knows the secrets sees them.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        long = list({form for text in texts for form in rests(text)})
        self._all = "\0".join(long)
        self._heads = _Heads(long, ("...", "\u2026"))
        self._tails = _Heads([form[::-1] for form in long], ("...", "\u2026", "\n..."))

    def mask(self, text: str) -> str:
        """The text without such rests."""
        if len(text) < SHORTEST_CUT:
            return text
        if "..." in text or "\u2026" in text:
            return self._tails.mask(self._heads.mask(text)[::-1])[::-1]
        if text[-SHORTEST_CUT:] in self._all:
            text = text[:-_LONGEST_CUT] + self._heads.mask(text[-_LONGEST_CUT:])
        if text[:SHORTEST_CUT] in self._all:
            text = self._tails.mask(text[:_LONGEST_CUT][::-1])[::-1] + text[_LONGEST_CUT:]
        return text


class _Heads:
    """Beginnings of forms, where a text ends or one of some marks follows."""

    def __init__(self, long: list[str], marks: tuple[str, ...]) -> None:
        self._marks = marks
        self._forms: dict[str, list[str]] = {}
        for form in long:
            self._forms.setdefault(form[:SHORTEST_CUT], []).append(form)
        self._seeds = pattern_of({form[:SHORTEST_CUT] for form in long}) if long else None

    def mask(self, text: str) -> str:
        """The text without such beginnings."""
        if self._seeds is None:
            return text
        pieces, done, at = [], 0, 0
        while (match := self._seeds.search(text, at)) is not None:
            at = match.start() + 1
            end = self._end(text, match.start())
            if end == len(text) or text.startswith(self._marks, end):
                pieces += [text[done : match.start()], MASK]
                done = at = end
        return "".join([*pieces, text[done:]]) if pieces else text

    def _end(self, text: str, start: int) -> int:
        """Where the longest beginning of a form ends that stands at `start`."""
        longest = start + SHORTEST_CUT
        for form in self._forms.get(text[start : start + SHORTEST_CUT], ()):
            there = text[start : start + len(form)]
            same = next((n for n, pair in enumerate(zip(there, form, strict=False)) if pair[0] != pair[1]), len(there))
            longest = max(longest, start + same)
        return longest
