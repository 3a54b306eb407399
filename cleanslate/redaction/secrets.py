"""The secrets of one run, and what becomes of texts and values that hold them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from cleanslate.redaction.cut import MASK
from cleanslate.redaction.forms import SHORTEST
from cleanslate.redaction.masks import Masks
from cleanslate.redaction.names import HARMLESS_TEXT, looks_secret


class Secrets:
    """The secrets of one run. Adding and redacting may happen in several threads at once.

    A text of fewer than 3 characters is not taken, as masking it would blot out everything else and tell more
    than it hides; `too_short` counts those, and `refused` names them, so that the run can say so.
    """

    def __init__(self) -> None:
        self.too_short = 0
        self.refused: dict[str, None] = {}
        self._texts: dict[str, frozenset[str]] = {}  # each with the forms it could be read by, once they were needed
        self._masks: Masks | None = None  # what follows from them
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, text: str, name: str = "") -> None:
        """Redact this text from now on, and each line of it that has 4 characters or more; `name` is what it is."""
        text = str(text)
        if len(text.strip()) < SHORTEST:
            if text.strip():
                self.too_short += 1
                self.refused[name or "a secret without a name"] = None
            return
        with self._lock:
            if text not in self._texts:
                self._texts[text] = frozenset()
                self._masks = None

    def learn(self, value: Any) -> None:
        """Redact every text that stands, at any depth, under a name that looks secret, alone or in a list there.

        Templates are no secrets.
        """
        if isinstance(value, Mapping):
            for name, item in value.items():
                if isinstance(item, str | list | tuple) and looks_secret(str(name)):
                    self._learn_texts(item, str(name))
                else:
                    self.learn(item)
        elif isinstance(value, list | tuple):
            for item in value:
                self.learn(item)

    def _learn_texts(self, value: Any, name: str) -> None:
        for item in [value] if isinstance(value, str) else value:
            if isinstance(item, str) and not HARMLESS_TEXT.search(item):
                self.add(item, name)
            elif not isinstance(item, str):
                self.learn(item)

    @staticmethod
    def looks_secret(name: str) -> bool:
        """Whether a variable or argument of that name is likely to hold a secret."""
        return looks_secret(name)

    def may_hold(self, text: str) -> bool:
        """Whether there could be a secret in a text, or in the values that `native.json_of` wrote it for.

        No is certain; yes is not.
        """
        return bool(self._texts) and self._compiled().found(text)

    def redact_text(self, text: str) -> str:
        """The text with every secret in it masked."""
        return self._compiled().mask(text) if self._texts else text

    def redact(self, value: Any, simple: Callable[[Any], Any] | None = None) -> Any:
        """A copy of the value, deep, with every secret masked, in keys and numbers too. Tuples become lists.

        `simple` gives the JSON form of a value; with it, so is the copy.
        """
        if not self._texts:
            return value if simple is None else simple(value)
        return self._redacted(value, self._compiled(), simple)

    def _redacted(self, value: Any, masks: Masks, simple: Callable[[Any], Any] | None) -> Any:
        known, kind = masks.known, type(value)
        if kind is str:
            masked = known.get(value)
            return self.redact_text(value) if masked is None else masked
        if kind is dict:
            again, name = self._redacted, self._key if simple is None else self._name
            return {known.get(key) or name(key): again(item, masks, simple) for key, item in value.items()}
        if value is None or kind is bool:
            return value
        if kind is list or kind is tuple:
            return [self._redacted(item, masks, simple) for item in masks.gaps.mask_lines(value)]
        if kind is int or kind is float:
            shown = str(value)
            return value if (known.get(shown) or self.redact_text(shown)) == shown else MASK
        if simple is not None:
            plain = simple(value)
            if type(plain) is not kind:
                return self._redacted(plain, masks, simple)
        return self._other(value)

    def _other(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.redact_text(value)
        if isinstance(value, int | float):
            shown = str(value)
            return value if self.redact_text(shown) == shown else MASK
        if isinstance(value, Mapping):
            return {self._key(key): self.redact(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.redact(item) for item in self._compiled().gaps.mask_lines(value)]
        if isinstance(value, set | frozenset):
            return [self.redact(item) for item in value]
        if isinstance(value, bytes):
            return self.redact_text(value.decode("utf-8", "replace"))
        shown = str(value)
        masked = self.redact_text(shown)
        return value if masked == shown else masked

    def _name(self, key: Any) -> str:
        return self.redact_text(str(key))

    def _key(self, key: Any) -> Any:
        return self.redact_text(key) if isinstance(key, str) else key

    def _compiled(self) -> Masks:
        masks = self._masks
        if masks is None:
            with self._lock:
                masks = self._masks = Masks(self._texts)
        return masks
