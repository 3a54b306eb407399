"""Frames, as remote/agent.py describes them, and the bytes that a call sends along in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

INLINE = 131072  # bytes of a blob that go along with the request itself
_LARGEST = 1 << 28  # bytes of one frame; more means that something else wrote into the channel


class Source:
    """Where a call's blob comes from: nothing, bytes that go along, or a file or long bytes to be sent in pieces.

    kind: what the request's header says of it. whole: what goes along. unsent: whether pieces are still to follow.
    """

    def __init__(self, blob: bytes | Path | None) -> None:
        self._file: BinaryIO | None = None
        self._rest = memoryview(b"")
        self.whole = b""
        self.kind: str | int | None = None
        self.unsent = False
        if isinstance(blob, Path):
            self._file = blob.open("rb")
            self.kind, self.unsent = blob.stat().st_size, True
        elif blob is not None and len(blob) > INLINE:
            self._rest = memoryview(blob)
            self.kind, self.unsent = len(blob), True
        elif blob is not None:
            self.kind, self.whole = "whole", blob

    def read(self, size: int) -> bytes:
        """The next bytes; clears `unsent` at the end."""
        if self._file is not None:
            data = self._file.read(size)
        else:
            data, self._rest = bytes(self._rest[:size]), self._rest[size:]
        self.unsent = bool(data) and (self._file is not None or bool(self._rest))
        return data

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


def frame(header: Mapping[str, Any], data: bytes = b"") -> bytes:
    """Make a frame of a header and bytes."""
    text = json.dumps(header, separators=(",", ":")).encode()
    return len(text).to_bytes(4, "big") + len(data).to_bytes(4, "big") + text + data


def take_frame(buffer: bytearray) -> tuple[dict[str, Any], bytes] | None:
    """Take one whole frame off the buffer's front; None while it is not whole. ValueError when it cannot be one."""
    if len(buffer) < 8:
        return None
    size, more = int.from_bytes(buffer[:4], "big"), int.from_bytes(buffer[4:8], "big")
    if size + more > _LARGEST or size < 2:
        raise ValueError("something else writes into the agent's channel")
    if len(buffer) < 8 + size + more:
        return None
    header = json.loads(bytes(buffer[8 : 8 + size]))
    data = bytes(buffer[8 + size : 8 + size + more])
    del buffer[: 8 + size + more]
    return header, data
