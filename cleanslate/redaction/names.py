"""Which names say that what stands under them is a secret, and which texts are none wherever they stand."""

from __future__ import annotations

import functools
import itertools
import re

_SECRET_WORD = re.compile("pass|passw(or)?d|passphrase|pwd|secrets?|token|apikey|credentials?|bearer|cookie")
_SECRET_PAIR = re.compile("(api|private|access|secret|auth)_key")
# A path to a secret, its name, or how many tokens a model may make is not itself a secret.
_HARMLESS_END = re.compile(
    "file|path|dir|folder|names?|url|type|ids?|limit|count|num|number|length|size|min|max|rate|budget|enabled"
    "|policy|prompt|provider|store|field|env|expires|expiry|ttl|age|lifetime"
)
# What a secret's name may hold and is none: a template, an empty text, a switch.
HARMLESS_TEXT = re.compile(
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
