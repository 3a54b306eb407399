"""One event a line, as JSON: what programs read (docs/events.md)."""

from __future__ import annotations

import json
from typing import TextIO

from cleanslate.model import Event, event_line


class JsonLines:
    """Writes each event as one line of ASCII, whatever the stream's encoding, and flushes it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, event: Event) -> None:
        """Write one event."""
        line = event_line(event)
        self._stream.write(line.decode("ascii") if line.isascii() else _in_ascii(line))
        self._stream.flush()


def _in_ascii(line: bytes) -> str:
    return json.dumps(json.loads(line), separators=(",", ":")) + "\n"
