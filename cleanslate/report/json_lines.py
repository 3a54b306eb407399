"""One event a line, as JSON: what programs read (docs/events.md)."""

from __future__ import annotations

import json
from typing import TextIO

from cleanslate.model import Event

_encode = json.JSONEncoder(check_circular=False).encode


class JsonLines:
    """Writes each event as one line, and flushes it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, event: Event) -> None:
        """Write one event."""
        line = {"at": round(event.at, 4), "kind": event.kind, **event.data}
        self._stream.write(_encode(line) + "\n")
        self._stream.flush()
