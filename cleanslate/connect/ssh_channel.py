"""One command over one ssh channel."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from paramiko.channel import Channel
from paramiko.common import cMSG_CHANNEL_REQUEST
from paramiko.message import Message
from paramiko.ssh_exception import SSHException

from cleanslate.connect.stream import KEEP, Kept, within
from cleanslate.errors import DeadlinePassed

_UNSETTLED = 0.05  # seconds
_BRIEFLY = 2.0  # seconds


class ChannelStream:
    """A command on a session channel. `on_close` is called once, when it is let go."""

    def __init__(self, channel: Channel, command: str, on_close: Callable[[], object]) -> None:
        self.errors = Kept(KEEP)
        self._channel = channel
        self._on_close = on_close
        self._closing = threading.Lock()
        self._closed = False
        # As exec_command does it, but without waiting for the answer: that would have no deadline, and a
        # refusal closes the channel anyway.
        channel._event_pending()  # type: ignore[attr-defined]
        self._request("exec", command, want_reply=True)

    def _request(self, kind: str, text: str, *, want_reply: bool) -> None:
        message = Message()
        message.add_byte(cMSG_CHANNEL_REQUEST)
        message.add_int(self._channel.remote_chanid)
        message.add_string(kind)
        message.add_boolean(want_reply)
        message.add_string(text)
        self._channel.get_transport()._send_user_message(message)  # type: ignore[attr-defined]

    def send(self, data: bytes) -> None:
        """Write everything."""
        rest = memoryview(data)
        while rest:
            try:
                sent = self._channel.send(bytes(rest[:32768]))
            except TimeoutError:
                continue  # the receiver's patience, which is the channel's too
            if sent == 0:
                raise BrokenPipeError("the channel was closed")
            rest = rest[sent:]

    def end_input(self) -> None:
        """Close its standard input."""
        self._briefly("closing an input", self._channel.shutdown_write)

    def receive(self, seconds: float) -> bytes | None:
        """Give what came; standard error is collected on the way."""
        self._channel.settimeout(seconds)
        try:
            data: bytes | None = self._channel.recv(262144)
        except TimeoutError:
            data = None
        while self._channel.recv_stderr_ready():
            self.errors.add(self._channel.recv_stderr(65536))
        return data

    def exit_code(self, seconds: float) -> int | None:
        """How it ended; -1 for a signal, since the library does not tell which."""
        if not self._channel.status_event.wait(seconds):
            return None
        if self._channel.exit_status < 0:
            time.sleep(_UNSETTLED)  # a lost connection closes its channels first, and is marked as lost after that
            transport = self._channel.get_transport()
            return -1 if transport.is_active() else None
        return self._channel.exit_status

    def stop(self, *, kill: bool) -> None:
        """Have the server signal the command's process group."""
        self._briefly("signalling", lambda: self._request("signal", "KILL" if kill else "TERM", want_reply=False))

    def close(self) -> None:
        """Close the channel."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        try:
            self._briefly("closing a channel", self._channel.close)
        finally:
            self._on_close()

    def _briefly(self, what: str, function: Callable[[], None]) -> None:
        """Call what has to send something; over a dead connection that may block, and then matters no more."""
        if not self._channel.get_transport().is_active():
            return
        with contextlib.suppress(OSError, EOFError, SSHException, DeadlinePassed):
            within(_BRIEFLY, what, function)
