"""Keeps secrets out of everything that is shown or written: found by value, also where an encoding carries them."""

from __future__ import annotations

import base64
import functools
import itertools
import json
import re
import shlex
import threading
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "********"
SHORTEST = 3
_SHORTEST_LINE = 4
_SHORTEST_INSIDE_BASE64 = 8

_SECRET_WORD = re.compile("pass|passw(or)?d|passphrase|pwd|secrets?|token|apikey|credentials?|bearer|cookie")
_SECRET_PAIR = re.compile("(api|private|access|secret|auth)_key")
# A path to a secret, its name, or how many tokens a model may make is not itself a secret.
_HARMLESS_END = re.compile(
    "file|path|dir|folder|names?|url|type|ids?|limit|count|num|number|length|size|min|max|rate|budget|enabled"
    "|policy|prompt|provider|store|field|env|expires|expiry|ttl|age|lifetime"
)
# What a secret's name may hold and is none: a template, an empty text, a switch.
_HARMLESS_TEXT = re.compile(
    r"\{\{|\{%|\A\s*(true|false|yes|no|on|off|none|null|ask|prompt|auto|optional|required)?\s*\Z", re.I
)


@functools.lru_cache(maxsize=4096)
def looks_secret(name: str) -> bool:
    """Whether a variable of that name is likely to hold a secret: `hf_token` and `apiKey`, not `max_tokens`."""
    spread = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    words = [word for word in re.split(r"[^a-z0-9]+", spread.lower()) if word]
    if not words or _HARMLESS_END.fullmatch(words[-1]):
        return False
    pairs = map("_".join, itertools.pairwise(words))
    return any(map(_SECRET_WORD.fullmatch, words)) or any(map(_SECRET_PAIR.fullmatch, pairs))


class Secrets:
    """The secrets of one run. Adding and redacting may happen in several threads at once.

    A text of fewer than 3 characters is not taken, as masking it would blot out everything else and tell more
    than it hides; `too_short` counts those, so that the run can say so.
    """

    def __init__(self) -> None:
        self.too_short = 0
        self._texts: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, text: str) -> None:
        """Redact this text from now on, and each line of it that has 4 characters or more."""
        text = str(text)
        if len(text.strip()) < SHORTEST:
            self.too_short += bool(text.strip())
            return
        with self._lock:
            if text not in self._texts:
                self._texts.add(text)
                self._pattern = None

    def learn(self, value: Any) -> None:
        """Redact every text that stands, at any depth, under a name that looks secret. Templates are no secrets."""
        if isinstance(value, Mapping):
            for name, item in value.items():
                if isinstance(item, str):
                    if looks_secret(str(name)) and not _HARMLESS_TEXT.search(item):
                        self.add(item)
                else:
                    self.learn(item)
        elif isinstance(value, list | tuple):
            for item in value:
                self.learn(item)

    @staticmethod
    def looks_secret(name: str) -> bool:
        """Whether a variable or argument of that name is likely to hold a secret."""
        return looks_secret(name)

    def redact_text(self, text: str) -> str:
        """The text with every secret in it masked."""
        if not self._texts:
            return text
        return self._compiled().sub(MASK, text)

    def redact(self, value: Any) -> Any:
        """A copy of the value, deep, with every secret masked, in keys and numbers too. Tuples become lists."""
        if not self._texts or value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self.redact_text(value)
        if isinstance(value, int | float):
            shown = str(value)
            return value if self.redact_text(shown) == shown else MASK
        if isinstance(value, Mapping):
            return {self._key(key): self.redact(item) for key, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.redact(item) for item in value]
        if isinstance(value, bytes):
            return self.redact_text(value.decode("utf-8", "replace"))
        shown = str(value)
        masked = self.redact_text(shown)
        return value if masked == shown else masked

    def _key(self, key: Any) -> Any:
        return self.redact_text(key) if isinstance(key, str) else key

    def _compiled(self) -> re.Pattern[str]:
        pattern = self._pattern
        if pattern is None:
            with self._lock:
                pattern = self._pattern = _pattern_of({form for text in self._texts for form in forms(text)})
        return pattern


def _pattern_of(found: set[str]) -> re.Pattern[str]:
    """One expression for all: by first character, as a long plain alternation is slow; longer forms first."""
    by_first: dict[str, list[str]] = {}
    for form in sorted(found, key=len, reverse=True):
        by_first.setdefault(form[0], []).append(re.escape(form[1:]))
    groups = [f"{re.escape(first)}(?:{'|'.join(rests)})" for first, rests in by_first.items()]
    return re.compile("|".join(groups))


def forms(secret: str) -> Iterator[str]:
    """Every text by which a secret could be read: itself, its lines, and both as encodings carry them."""
    lines = {line.strip() for line in secret.splitlines()}
    for text in {secret, secret.strip(), *(line for line in lines if len(line) >= _SHORTEST_LINE)}:
        for form in _encoded(text):
            if len(form) >= SHORTEST:
                yield form


def _encoded(text: str) -> Iterator[str]:
    yield text
    yield from _quoted(text)
    data = text.encode("utf-8", "surrogatepass")
    for percent in (quote(data), quote(data, safe=""), quote_plus(data), quote(data, safe="!'()*")):
        yield percent
        yield re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), percent)
    yield from _base64(data)


def _quoted(text: str) -> Iterator[str]:
    """As JSON, Python, a shell, YAML and HTML write it inside their quotes."""
    for ascii_only in (True, False):
        yield json.dumps(text, ensure_ascii=ascii_only)[1:-1]
    data = text.encode("utf-8", "surrogatepass")
    for shown in (repr(text)[1:-1], ascii(text)[1:-1], repr(data)[2:-1]):
        bare = shown.replace("\\'", "'").replace('\\"', '"')
        yield from (shown, bare, bare.replace("'", "\\'"), bare.replace('"', '\\"'))
    yield shlex.quote(text)
    yield text.replace("'", "'\"'\"'")
    yield text.replace("'", "'\\''")
    yield text.replace("'", "''")
    yield re.sub(r'(["$`\\])', r"\\\1", text)  # inside double quotes
    yield re.sub(r"([^\w@%+=:,./-])", r"\\\1", text)  # without quotes, as printf %q does
    import html

    yield html.escape(text)
    yield html.escape(text, quote=False)


def _base64(data: bytes) -> Iterator[str]:
    """In base64 by itself, and from the middle of a longer text (`user:password`), beginning at any of three places."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        whole = encode(data).decode("ascii")
        yield whole
        yield whole.rstrip("=")
        for width in (64, 76):  # as PEM and base64(1) wrap it
            yield from (whole[start : start + width] for start in range(0, len(whole) - 7, width))
        for shift in (1, 2):
            inside = _sure_part(encode(b"\0" * shift + data).decode("ascii"), shift, len(data))
            if len(inside) >= _SHORTEST_INSIDE_BASE64:
                yield inside
        inside = _sure_part(whole, 0, len(data))
        if len(inside) >= _SHORTEST_INSIDE_BASE64:
            yield inside


def _sure_part(encoded: str, shift: int, size: int) -> str:
    """The characters that do not depend on what stands before or after the secret."""
    first = -(-shift * 8 // 6)
    return encoded[first : (shift + size) * 8 // 6]
