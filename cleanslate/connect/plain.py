"""Runs one command line over a plain channel, for targets without Python and for steps that want no agent."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable
from typing import BinaryIO

from cleanslate.connect.bootstrap import kill_script, term_script
from cleanslate.connect.stream import KEEP, Kept, Stream
from cleanslate.errors import DeadlinePassed, Interrupted, OutcomeUnknown
from cleanslate.model import Answer

_PIECE = 32768
_NOISE = 16384  # bytes kept of what came before the command
_GRACE = 2.0  # seconds from TERM to KILL
_LOOK = 0.2  # seconds between looks at the clock; also the silence after which what was left running is let go


class PlainRun:
    """One command line under way.

    `marker` matches what it says first: its process group, before which everything is noise. `end` runs a script that
    signals that group.
    """

    def __init__(self, stream: Stream, where: str, marker: re.Pattern[bytes], end: Callable[[str], None]) -> None:
        self.cancelled = False
        self.group: int | None = None
        self.before = b""  # what was printed before the marker
        self._stream = stream
        self._where = where
        self._marker = marker
        self._end_group = end
        self._printed = Kept(KEEP)

    def run(self, stdin: BinaryIO, until: float, trouble: Callable[[], str | None]) -> Answer:
        """Wait for its end; DeadlinePassed, Interrupted, OutcomeUnknown. Without a `group`, it was never started."""
        feeder = threading.Thread(target=self._feed, args=(stdin,), name=f"cleanslate feeds {self._where}", daemon=True)
        feeder.start()
        try:
            code = self._listen(until, trouble)
        finally:
            self._stream.close()
            feeder.join(5.0)
        errors = self._stream.errors
        return Answer(
            {
                "rc": code,
                "stdout": self._printed.text(),
                "stderr": errors.text(),
                "stdout_cut": self._printed.cut,
                "stderr_cut": errors.cut,
            }
        )

    def _listen(self, until: float, trouble: Callable[[], str | None]) -> int:
        while True:
            data = self._stream.receive(max(min(_LOOK, until - time.monotonic()), 0.01))
            if data:
                self.take(data)
                continue
            code = self._stream.exit_code(5.0 if data == b"" else 0.0)
            if code is not None:  # ended; what it left behind may hold its pipes open for ever
                return code
            reason = trouble()
            if reason is not None or data == b"":
                reason = reason or "the connection was lost"
                raise OutcomeUnknown(f"{self._where}: {reason}; the command may or may not have ended")
            if self.cancelled or time.monotonic() > until:
                raise self._end()

    def take(self, data: bytes) -> None:
        """Take a piece of its standard output."""
        if self.group is None:
            self.before += data
            found = self._marker.search(self.before)
            if found is None:
                self.before = self.before[-_NOISE:]
                return
            self.group = int(found.group(1))
            self.before, data = self.before[: found.start()], self.before[found.end() :]
        self._printed.add(data)

    def _end(self) -> Exception:
        """TERM, then KILL its process group; gives the error to raise."""
        if self.group is None:
            self._stream.stop(kill=True)
            return OutcomeUnknown(f"{self._where}: the command had not started in time; it may have since")
        self._end_group(term_script(self.group))
        # That the command itself has ended says nothing of what it started, which may not mind TERM.
        left = 0.0 if self._stream.exit_code(_GRACE) is None else _GRACE
        self._end_group(kill_script(self.group, left))
        self._stream.exit_code(_GRACE)
        if self.cancelled:
            return Interrupted(f"{self._where}: the command was interrupted")
        return DeadlinePassed(f"{self._where}: the command did not end in time, and was ended")

    def _feed(self, stdin: BinaryIO) -> None:
        with contextlib.suppress(OSError, EOFError):
            while piece := stdin.read(_PIECE):
                self._stream.send(piece)
        self._stream.end_input()
