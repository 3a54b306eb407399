"""What a step with `no_log` was given and gave is a secret from then on, wherever it turns up later."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from cleanslate.redaction import Secrets

# Arguments and results that are what it is about; paths, modes and names are not.
_FIELDS = frozenset({"stdout", "stderr", "content", "stdin", "body", "json", "block", "line", "value", "ansible_facts"})
_SHORTEST, _LONGEST = 6, 65536  # characters; a shorter text may be any word of any other


def hide(secrets: Secrets, kind: str, arguments: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    """Redact what a step of this type was given and what it gave."""
    given = arguments if kind == "set_fact" else {key: arguments[key] for key in _FIELDS & arguments.keys()}
    for value in (given, {key: result[key] for key in _FIELDS & result.keys()}):
        for text in _texts(value):
            if _SHORTEST <= len(text.strip()) <= _LONGEST:
                secrets.add(text)
    if result.get("encoding") == "base64":
        try:
            plain = base64.b64decode(str(result.get("content")), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return
        if _SHORTEST <= len(plain.strip()) <= _LONGEST:
            secrets.add(plain)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
