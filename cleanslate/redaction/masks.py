"""What follows from the secrets that are known at a moment: where they are in a text, and the text without them."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping

from cleanslate import native
from cleanslate.redaction.cut import MASK, SHORTEST_CUT, Cut, pattern_of, rests
from cleanslate.redaction.forms import forms
from cleanslate.redaction.gaps import GAP, Gaps

_REMEMBERED = 80  # characters of a text that is worth remembering
_MOST_REMEMBERED = 5000


class Masks:
    """Made for the secrets `texts`, and of no use once there is one more. `texts` keeps the forms of each, as they
    take long to work out. `known`: what texts became, most of an event's among them.
    """

    def __init__(self, texts: dict[str, frozenset[str]]) -> None:
        for text, known in texts.items():
            if not known:
                texts[text] = frozenset(forms(text))
        self.known: dict[str, str] = {}
        self._texts = dict(texts)
        self._finder: native.Finder | None = None

    def found(self, text: str) -> bool:
        """Whether there could be something to mask in a text, or in values that `native.json_of` wrote it for."""
        finder = self._finder
        if finder is None:
            finder = self._finder = native.finder(_seeds(self._texts))
        return finder is None or finder(text)

    def mask(self, text: str) -> str:
        """The text with everything masked."""
        masked = self.known.get(text)
        if masked is None:
            masked = self._masked(text) if self.found(text) else str(text)
            if len(text) <= _REMEMBERED:  # names of hosts, fields, steps: events say the same few again and again
                if len(self.known) >= _MOST_REMEMBERED:
                    self.known.clear()
                self.known[text] = masked
        return masked

    def _masked(self, text: str) -> str:
        return self._pattern.sub(MASK, self._cut.mask(self.gaps.mask(text)))

    @functools.cached_property
    def gaps(self) -> Gaps:
        """Masks what is left of secrets beside what was cut out of an output."""
        return Gaps(self._forms)

    @functools.cached_property
    def _cut(self) -> Cut:
        return Cut(self._texts)

    @functools.cached_property
    def _pattern(self) -> re.Pattern[str]:
        return pattern_of(self._forms)

    @property
    def _forms(self) -> set[str]:
        return {form for found in self._texts.values() for form in found}


def _seeds(texts: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Short texts of which one at least is in every text, and in the JSON of every text, that is to be masked.

    The first characters of each form do: what is left of one that was cut off is known by no fewer. Of forms whose
    beginning was cut off, the last ones do. Beside a gap it may be a single one.
    """
    yield GAP
    for secret, found in texts.items():
        for form in found:
            yield form[:SHORTEST_CUT]
            yield _inside_json(form)[:SHORTEST_CUT]
        for form in rests(secret):
            yield form[-SHORTEST_CUT:]
            yield _inside_json(form[-SHORTEST_CUT:])


def _inside_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
