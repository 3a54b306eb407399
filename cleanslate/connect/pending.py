"""One call that waits for its answer: the meeting point of the caller, the reader and the writer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Literal

WINDOW = 2097152  # bytes of a blob that may be under way before the target asks for more
PIECE = 524288  # bytes sent at once


class Pending:
    """What has become of a call so far."""

    def __init__(
        self, number: int, sink: BinaryIO | None, on_progress: Callable[[Mapping[str, Any]], None] | None
    ) -> None:
        self.id = number
        self.sent = False  # from the moment at which its first byte may have left
        self.done = False
        self.answer: Mapping[str, Any] = {}
        self.failed: Mapping[str, Any] | None = None
        self.error: BaseException | None = None
        self.received = bytearray()
        self._sink = sink
        self._on_progress = on_progress
        self._credit = WINDOW
        self._abandoned = False
        self._changed = threading.Condition()

    # ------------------------------------------------------------------ the caller

    def wait(self, seconds: float, *, for_credit: bool) -> Literal["done", "credit", "nothing"]:
        """Wait for the end, or (once the call itself was sent) for leave to send more of the blob."""
        with self._changed:
            self._changed.wait_for(lambda: self.done or (for_credit and self._credit > 0), max(seconds, 0))
            if self.done:
                return "done"
            return "credit" if for_credit and self._credit > 0 else "nothing"

    def wait_done(self, seconds: float) -> None:
        """Wait for the end only."""
        with self._changed:
            self._changed.wait_for(lambda: self.done, max(seconds, 0))

    def take_credit(self) -> int:
        """How many bytes may be sent now; they are taken as sent."""
        with self._changed:
            size = min(self._credit, PIECE)
            self._credit -= size
            return size

    def abandon(self) -> bool:
        """Wait no longer. Whether the target has to be told; else it is not sent at all."""
        with self._changed:
            self._abandoned = True
            return self.sent and not self.done

    # ------------------------------------------------------------------ the writer

    def mark_sent(self) -> bool:
        """Whether to send the call; from now on it may have happened."""
        with self._changed:
            self.sent = not self._abandoned
            return self.sent

    # ------------------------------------------------------------------ the reader

    def add_credit(self, size: int) -> None:
        """The target has room for more."""
        with self._changed:
            self._credit += size
            self._changed.notify_all()

    def tell(self, facts: Mapping[str, Any]) -> None:
        """Pass progress on; what goes wrong there ends the call."""
        if self._on_progress is not None and self.error is None:
            try:
                self._on_progress(facts)
            except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
                self.error = error

    def take(self, data: bytes) -> None:
        """Take a piece of the answer's bytes; a sink that fails ends the call."""
        if self._sink is None:
            self.received += data
        elif self.error is None:
            try:
                self._sink.write(data)
            except (OSError, ValueError) as error:
                self.error = error

    def finish(self, answer: Mapping[str, Any] | None, failed: Mapping[str, Any] | None) -> None:
        """The answer is here."""
        with self._changed:
            self.answer, self.failed, self.done = answer or {}, failed, True
            self._changed.notify_all()

    def break_off(self, *, sent: Exception, unsent: Exception) -> None:
        """There will be no answer; what is not sent yet will not be sent any more."""
        with self._changed:
            self._abandoned = True
            self.error, self.done = (sent if self.sent else unsent), True
            self._changed.notify_all()
