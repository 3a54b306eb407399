"""Splits the one-text form of a lookup's terms: `key file=x.ini section=a`."""

from __future__ import annotations

import shlex

from cleanslate.errors import RenderError


def key_values(text: str) -> tuple[str, dict[str, str]]:
    """The words without `=`, and the `name=value` pairs; quotes hold blanks together."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise RenderError(f"{text!r}: {error}", fix="close the quote") from None
    plain, pairs = [], {}
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name.isidentifier():
            pairs[name] = value
        else:
            plain.append(word)
    return " ".join(plain), pairs
