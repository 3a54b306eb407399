"""One running command on a target, as bytes in and out; the same whether over ssh or as a child of this process."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from cleanslate.errors import DeadlinePassed

T = TypeVar("T")
KEEP = 262144  # bytes kept of each end of an output


class Kept:
    """The first and the last `keep` bytes of a stream of any length."""

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self.total = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        room = self.keep - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self.keep:
            del self._tail[: -self.keep]

    @property
    def cut(self) -> bool:
        """Whether something in the middle is missing."""
        return self.total > 2 * self.keep

    def text(self) -> str:
        """What was kept, as text; a line in the middle says how much is missing."""
        if not self.cut:
            return (self._head + self._tail).decode("utf-8", "replace")
        head, tail = self._head.decode("utf-8", "replace"), self._tail[-self.keep :].decode("utf-8", "replace")
        return f"{head}\n... {self.total - 2 * self.keep} bytes cut ...\n{tail}"


class Stream(Protocol):
    """A command's standard input, output and error. One thread sends, one receives."""

    errors: Kept
    """What it wrote to standard error, as far as `receive` has seen it."""

    def send(self, data: bytes) -> None:
        """Write everything, waiting as long as that takes; OSError when it has gone."""

    def end_input(self) -> None:
        """Close its standard input."""

    def receive(self, seconds: float) -> bytes | None:
        """Give what came on standard output; nothing at its end, None when the time passed without any."""

    def exit_code(self, seconds: float) -> int | None:
        """How it ended (negative: by a signal), waiting a little for it; None when that is not known."""

    def stop(self, *, kill: bool) -> None:
        """Signal the command's process group TERM, or KILL."""

    def close(self) -> None:
        """Let go of it; what reads its standard input sees the end."""


class Link(Protocol):
    """A way to start commands on one machine."""

    patience: float
    """Seconds for which it may be silent before it is taken for lost, and for which it may be gone and come back."""

    near: bool
    """Whether a round trip takes less than the work that some more bytes spare the machine."""

    def start(self, command: str, seconds: float) -> Stream:
        """Start a command line in the login shell. Unreachable when that cannot be done in time."""

    def trouble(self) -> str | None:
        """Why nothing can be expected from here any more; None while all is well."""

    def learn(self, errors: str) -> bool:
        """Learn from what a command that could not be started said; whether another attempt may do better."""

    def close(self) -> None:
        """Close the connection and everything on it."""


class ProcessStream:
    """A command that runs as a child of this process, in a session of its own."""

    def __init__(self, argv: list[str]) -> None:
        self.errors = Kept(KEEP)
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._in = self._process.stdin
        self._out: int = self._process.stdout.fileno()
        self._err: int = self._process.stderr.fileno()
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)
        self._poll.register(self._err, select.POLLIN)
        self._closing = threading.Lock()

    def send(self, data: bytes) -> None:
        """Write everything."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._in.write(rest) :]
            except ValueError as error:  # closed meanwhile
                raise BrokenPipeError(str(error)) from None

    def end_input(self) -> None:
        """Close its standard input."""
        with contextlib.suppress(OSError):
            self._in.close()

    def receive(self, seconds: float) -> bytes | None:
        """Give what came; standard error is collected on the way."""
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            ready = {descriptor for descriptor, _ in self._poll.poll(max(left, 0) * 1000)}
            if self._err in ready:
                self._take_errors()
            if self._out in ready:
                data = os.read(self._out, 262144)
                if not data:
                    self._take_last_errors()
                return data
            if left <= 0:
                return None

    def _take_errors(self) -> bool:
        data = os.read(self._err, 65536)
        if data:
            self.errors.add(data)
        else:
            self._poll.unregister(self._err)
        return bool(data)

    def _take_last_errors(self) -> None:
        os.set_blocking(self._err, False)
        with contextlib.suppress(OSError, KeyError):
            while self._take_errors():
                pass

    def exit_code(self, seconds: float) -> int | None:
        """How it ended."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def stop(self, *, kill: bool) -> None:
        """Signal its process group."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL if kill else signal.SIGTERM)

    def close(self) -> None:
        """Close its input, give it time to end by itself, and see that it has ended."""
        with self._closing:
            self.end_input()
            for kill in (False, True):
                if self.exit_code(5.0) is not None:
                    break
                self.stop(kill=kill)
            self.exit_code(5.0)
            for pipe in (self._process.stdout, self._process.stderr):
                if pipe is not None:
                    pipe.close()


class LocalLink:
    """The machine that we run on, without any connection."""

    patience = 0.0
    near = True

    def start(self, command: str, seconds: float) -> Stream:
        """Start a command line in /bin/sh."""
        return ProcessStream(["/bin/sh", "-c", command])

    def trouble(self) -> str | None:
        """Nothing can be wrong."""
        return None

    def learn(self, errors: str) -> bool:
        """There is nothing to learn."""
        return False

    def close(self) -> None:
        """Nothing to close."""


def within(seconds: float, what: str, function: Callable[[], T], *, undo: Callable[[T], object] | None = None) -> T:
    """Call a function that may block for longer than it should; DeadlinePassed when it does not end in time.

    It then goes on in its own thread, and what it gives after all is handed to `undo`.
    """
    done = threading.Event()
    given: list[T] = []
    raised: list[BaseException] = []
    deciding = threading.Lock()
    late = False

    def work() -> None:
        try:
            result = function()
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            raised.append(error)
        else:
            with deciding:
                given.append(result)
                unwanted = late
            if unwanted and undo is not None:
                undo(result)
        done.set()

    threading.Thread(target=work, name=f"cleanslate {what}", daemon=True).start()
    if not done.wait(max(seconds, 0.0)):
        with deciding:
            late = not given
        if late:
            raise DeadlinePassed(f"{what} did not end within {max(seconds, 0.0):.3g} s")
    if raised:
        raise raised[0]
    return given[0]
