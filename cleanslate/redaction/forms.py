"""Every text by which a secret could be read: its parts, and what encodings make of them."""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

SHORTEST = 3
_SHORTEST_LINE = 4
_SHORTEST_INSIDE_BASE64 = 8
_SHORTEST_ANY_CASE = 8  # characters; of a shorter one another case may well be another word
_FRAGMENT = re.compile(r"\w{8,}")  # a word in a secret that is one by itself, if it has letters and digits


def forms(secret: str) -> Iterator[str]:
    """Every text by which a secret could be read: itself, its lines, and those words in it that look like secrets
    themselves (a password in an address), as they are and as encodings carry them.
    """
    for text in parts(secret):
        for form in _encoded(text):
            if len(form) >= SHORTEST:
                yield form
        if len(text) >= _SHORTEST_ANY_CASE:
            yield from (text.lower(), text.upper())


def parts(secret: str) -> set[str]:
    """What of a secret is one by itself: all of it, each line, and words with letters and digits."""
    lines = {line.strip() for line in secret.splitlines()}
    words = {word for word in _FRAGMENT.findall(secret) if re.search(r"\d", word) and re.search(r"[^\W\d_]", word)}
    return {secret, secret.strip(), *(line for line in lines if len(line) >= _SHORTEST_LINE), *words}


def escaped(text: str) -> Iterator[str]:
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
