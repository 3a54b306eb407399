"""Children and their pipes inside an event loop: reaped by whoever they fall to, and never buffered without end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from collections.abc import Callable
from typing import Any

_CHUNK = 1 << 18


class Children:
    """Reaps every child of this process, its own and those that fell to it, and tells who waits for one."""

    def __init__(self) -> None:
        self._waiting: dict[int, Callable[[int], None]] = {}

    def start(self) -> None:
        """Begin to listen for the end of children; call inside the event loop."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self.reap)
        self.reap()

    def watch(self, pid: int, ended: Callable[[int], None]) -> None:
        """Call `ended` with the wait status of a child that was just started."""
        self._waiting[pid] = ended

    def reap(self) -> None:
        """Collect every child that has ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            ended = self._waiting.pop(pid, None)
            if ended:
                ended(status)


class Input:
    """Feeds a child's standard input from the channel; what does not fit stops the channel."""

    def __init__(self, descriptor: int, channel: Any) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._channel = channel
        self._pending: deque[bytes] = deque()
        self._ending = False
        self._waiting = False
        self._open = True

    def feed(self, data: bytes) -> None:
        """Pass bytes on, now or when the child takes them."""
        if self._open:
            self._pending.append(data)
            self._pump()

    def end(self) -> None:
        """Close the child's input when it has everything."""
        self._ending = True
        if not self._pending:
            self.close()

    def _pump(self) -> None:
        while self._pending:
            try:
                sent = os.write(self._descriptor, self._pending[0])
            except BlockingIOError:
                self._wait(wanted=True)
                return
            except OSError:  # the child closed its input: the rest is nobody's
                self.close()
                return
            if sent == len(self._pending[0]):
                self._pending.popleft()
            else:
                self._pending[0] = self._pending[0][sent:]
        self._wait(wanted=False)
        if self._ending and not self._pending:
            self.close()

    def _wait(self, *, wanted: bool) -> None:
        """Wait for room in the pipe, with the channel stopped; the state is set first, as resuming brings data."""
        if wanted == self._waiting:
            return
        self._waiting = wanted
        if wanted:
            self._loop.add_writer(self._descriptor, self._pump)
            self._channel.pause_reading()
        else:
            self._loop.remove_writer(self._descriptor)
            self._channel.resume_reading()

    def close(self) -> None:
        """Close the child's input now."""
        if self._open:
            self._open = False
            self._pending.clear()
            self._wait(wanted=False)
            os.close(self._descriptor)


class Output:
    """Sends what a child writes to the channel, as fast as the client takes it."""

    def __init__(self, descriptor: int, send: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self.descriptor = descriptor
        self._send = send
        self._ended = ended
        self._open = True
        self.resume()

    def _read(self) -> None:
        try:
            data = os.read(self.descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError:  # a terminal whose last user is gone
            data = b""
        if data:
            self._send(data)
        else:
            self.close()
            self._ended()

    def pause(self) -> None:
        """Leave what the child writes in its pipe."""
        if self._open:
            self._loop.remove_reader(self.descriptor)

    def resume(self) -> None:
        """Go on."""
        if self._open:
            self._loop.add_reader(self.descriptor, self._read)

    def close(self) -> None:
        """Take nothing more; the child gets an error when it writes."""
        if self._open:
            self.pause()
            os.close(self.descriptor)
            self._open = False
