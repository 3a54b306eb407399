"""Keeps secrets out of everything that is shown or written: found by value, also where an encoding carries them."""

from __future__ import annotations

import base64
import functools
import itertools
import json
import re
import shlex
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "********"
SHORTEST = 3
_SHORTEST_LINE = 4
_SHORTEST_INSIDE_BASE64 = 8
_SHORTEST_CUT = 6  # characters of what is left of a secret that was cut off
_LONGEST_CUT = 4096
_SHORTEST_ANY_CASE = 8  # characters; of a shorter one another case may well be another word
_FRAGMENT = re.compile(r"\w{8,}")  # a word in a secret that is one by itself, if it has letters and digits

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


_REMEMBERED = 80  # characters of a text that is worth remembering
_MOST_REMEMBERED = 5000


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
    than it hides; `too_short` counts those, and `refused` names them, so that the run can say so.
    """

    def __init__(self) -> None:
        self.too_short = 0
        self.refused: dict[str, None] = {}
        self._texts: set[str] = set()
        self._pattern: tuple[re.Pattern[str], _Cut, dict[str, str]] | None = None  # the last: what texts became
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
                self._texts.add(text)
                self._pattern = None

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
            if isinstance(item, str) and not _HARMLESS_TEXT.search(item):
                self.add(item, name)
            elif not isinstance(item, str):
                self.learn(item)

    @staticmethod
    def looks_secret(name: str) -> bool:
        """Whether a variable or argument of that name is likely to hold a secret."""
        return looks_secret(name)

    def redact_text(self, text: str) -> str:
        """The text with every secret in it masked."""
        if not self._texts:
            return text
        pattern, cut, known = self._compiled()
        masked = known.get(text)
        if masked is None:
            masked = pattern.sub(MASK, cut.mask(text))
            if len(text) <= _REMEMBERED:  # names of hosts, fields, steps: events say the same few again and again
                if len(known) >= _MOST_REMEMBERED:
                    known.clear()
                known[text] = masked
        return masked

    def redact(self, value: Any, simple: Callable[[Any], Any] | None = None) -> Any:
        """A copy of the value, deep, with every secret masked, in keys and numbers too. Tuples become lists.

        `simple` gives the JSON form of a value; with it, so is the copy.
        """
        if not self._texts:
            return value if simple is None else simple(value)
        return self._redacted(value, self._compiled()[2], simple)

    def _redacted(self, value: Any, known: Mapping[str, str], simple: Callable[[Any], Any] | None) -> Any:
        """`known`: what texts became, most of an event's among them."""
        kind = type(value)
        if kind is str:
            masked = known.get(value)
            return self.redact_text(value) if masked is None else masked
        if kind is dict:
            again, name = self._redacted, self._key if simple is None else self._name
            return {known.get(key) or name(key): again(item, known, simple) for key, item in value.items()}
        if value is None or kind is bool:
            return value
        if kind is list or kind is tuple:
            return [self._redacted(item, known, simple) for item in value]
        if kind is int or kind is float:
            shown = str(value)
            return value if (known.get(shown) or self.redact_text(shown)) == shown else MASK
        if simple is not None:
            plain = simple(value)
            if type(plain) is not kind:
                return self._redacted(plain, known, simple)
        return self._other(value)

    def _other(self, value: Any) -> Any:
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

    def _name(self, key: Any) -> str:
        return self.redact_text(str(key))

    def _key(self, key: Any) -> Any:
        return self.redact_text(key) if isinstance(key, str) else key

    def _compiled(self) -> tuple[re.Pattern[str], _Cut, dict[str, str]]:
        pattern = self._pattern
        if pattern is None:
            with self._lock:
                found = {form for text in self._texts for form in forms(text)}
                pattern = self._pattern = _pattern_of(found), _Cut(self._texts), {}
        return pattern


def _pattern_of(found: Iterable[str]) -> re.Pattern[str]:
    """One expression for all: by first character, as a long plain alternation is slow; longer forms first."""
    by_first: dict[str, list[str]] = {}
    for form in sorted(found, key=len, reverse=True):
        by_first.setdefault(form[0], []).append(re.escape(form[1:]))
    groups = [f"{re.escape(first)}(?:{'|'.join(rests)})" for first, rests in by_first.items()]
    return re.compile("|".join(groups))


class _Cut:
    """Masks what is left of a secret that was cut off: its beginning at the end of a text or before dots, or its end
    at the start of one or behind dots. Many texts are shortened before anybody who knows the secrets sees them.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        found = {form for text in texts for part in _parts(text) for form in (part, *_escaped(part))}
        long = [form for form in found if len(form) > _SHORTEST_CUT]
        self._all = "\0".join(long)
        self._heads = _Heads(long, ("...", "\u2026"))
        self._tails = _Heads([form[::-1] for form in long], ("...", "\u2026", "\n..."))

    def mask(self, text: str) -> str:
        """The text without such rests."""
        if len(text) < _SHORTEST_CUT:
            return text
        if "..." in text or "\u2026" in text:
            return self._tails.mask(self._heads.mask(text)[::-1])[::-1]
        if text[-_SHORTEST_CUT:] in self._all:
            text = text[:-_LONGEST_CUT] + self._heads.mask(text[-_LONGEST_CUT:])
        if text[:_SHORTEST_CUT] in self._all:
            text = self._tails.mask(text[:_LONGEST_CUT][::-1])[::-1] + text[_LONGEST_CUT:]
        return text


class _Heads:
    """Beginnings of forms, where a text ends or one of some marks follows."""

    def __init__(self, long: list[str], marks: tuple[str, ...]) -> None:
        self._marks = marks
        self._forms: dict[str, list[str]] = {}
        for form in long:
            self._forms.setdefault(form[:_SHORTEST_CUT], []).append(form)
        self._seeds = _pattern_of({form[:_SHORTEST_CUT] for form in long}) if long else None

    def mask(self, text: str) -> str:
        """The text without such beginnings."""
        if self._seeds is None:
            return text
        parts, done, at = [], 0, 0
        while (match := self._seeds.search(text, at)) is not None:
            at = match.start() + 1
            end = self._end(text, match.start())
            if end == len(text) or text.startswith(self._marks, end):
                parts += [text[done : match.start()], MASK]
                done = at = end
        return "".join([*parts, text[done:]]) if parts else text

    def _end(self, text: str, start: int) -> int:
        """Where the longest beginning of a form ends that stands at `start`."""
        longest = start + _SHORTEST_CUT
        for form in self._forms.get(text[start : start + _SHORTEST_CUT], ()):
            there = text[start : start + len(form)]
            same = next((n for n, pair in enumerate(zip(there, form, strict=False)) if pair[0] != pair[1]), len(there))
            longest = max(longest, start + same)
        return longest


def forms(secret: str) -> Iterator[str]:
    """Every text by which a secret could be read: itself, its lines, and those words in it that look like secrets
    themselves (a password in an address), as they are and as encodings carry them.
    """
    for text in _parts(secret):
        for form in _encoded(text):
            if len(form) >= SHORTEST:
                yield form
        if len(text) >= _SHORTEST_ANY_CASE:
            yield from (text.lower(), text.upper())


def _parts(secret: str) -> set[str]:
    lines = {line.strip() for line in secret.splitlines()}
    words = {word for word in _FRAGMENT.findall(secret) if re.search(r"\d", word) and re.search(r"[^\W\d_]", word)}
    return {secret, secret.strip(), *(line for line in lines if len(line) >= _SHORTEST_LINE), *words}


def _escaped(text: str) -> Iterator[str]:
    """As JSON and Python write it."""
    yield from (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1])


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
