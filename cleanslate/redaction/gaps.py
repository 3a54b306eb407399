"""Masks what is left of secrets beside a line that says how many bytes of an output were cut out there.

Both ends of a gap are known to be cut, so that even one character that a secret begins with is masked before it, and
one that a secret ends with behind it. Elsewhere that would blot out half of everything (see cut.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from cleanslate.redaction.cut import MASK

GAP = " bytes cut ..."
_GAP = re.compile(r"((?:\n|\\n)?\.\.\. \d+ bytes cut \.\.\.(?:\n|\\n)?)")
_LONGEST = 4096  # characters of a secret
_HALF = "\ufffd"  # what is left of a character that was cut itself


class Gaps:
    """The forms by which secrets could be read, from both ends."""

    def __init__(self, forms: Iterable[str]) -> None:
        self._forms = list(forms)
        self._backward = [form[::-1] for form in self._forms]

    def mask(self, text: str) -> str:
        """The text without what is left of secrets beside the gaps in it."""
        if GAP not in text:
            return text
        pieces = _GAP.split(text)  # text, gap, text, gap, ..., text
        for place in range(1, len(pieces), 2):
            pieces[place - 1] = self._ending(pieces[place - 1])
            pieces[place + 1] = self._beginning(pieces[place + 1])
        return "".join(pieces)

    def mask_lines(self, items: Sequence[Any]) -> list[Any]:
        """The items, of which one may be a gap and those beside it the lines that were cut."""
        masked = list(items)
        for place, item in enumerate(items):
            if isinstance(item, str) and item.endswith(GAP) and _GAP.fullmatch(item):
                if place and isinstance(masked[place - 1], str):
                    masked[place - 1] = self._ending(masked[place - 1])
                if place + 1 < len(items) and isinstance(masked[place + 1], str):
                    masked[place + 1] = self._beginning(masked[place + 1])
        return masked

    def _ending(self, text: str) -> str:
        whole = text.rstrip(_HALF)
        left = _left(whole, self._forms)
        return whole[: len(whole) - left] + MASK if left else text

    def _beginning(self, text: str) -> str:
        whole = text.lstrip(_HALF)
        left = _left(whole[:_LONGEST][::-1], self._backward)
        return MASK + whole[left:] if left else text


def _left(text: str, forms: Iterable[str]) -> int:
    """How many characters at the end of the text are the first ones of a form, at most."""
    most = 0
    for form in forms:
        for size in range(min(len(form), len(text), _LONGEST), most, -1):
            if form[size - 1] == text[-1] and text.endswith(form[:size]):
                most = size
                break
    return most
