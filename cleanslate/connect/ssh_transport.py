"""The library's ssh connection, for many at once: fewer wake-ups and system calls, and it notices a dead peer."""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from typing import Any

from paramiko.common import cMSG_GLOBAL_REQUEST
from paramiko.message import Message
from paramiko.packet import Packetizer
from paramiko.transport import Transport

from cleanslate.connect.host_keys import known_types
from cleanslate.connect.ssh_settings import SshSettings

_QUICK_ACK = getattr(socket, "TCP_QUICKACK", None)  # Linux only; it has to be asked for again and again
_LOOK = 5.0  # seconds
_AT_ONCE = 65536  # bytes

# The library prints tracebacks of lost connections; what matters in them is in our own errors.
logging.getLogger("paramiko").addHandler(logging.NullHandler())
logging.getLogger("paramiko").propagate = False


class _ReadAhead:
    """A socket that takes all there is, where the library asks for a packet's length and then for the rest of it.

    What the peer said is acknowledged at once: OpenSSH's server leaves Nagle's algorithm on, so its second small packet
    in a row waits for the acknowledgement of the first, which this side's kernel would hold back for 40 ms.
    """

    def __init__(self, stream: Any) -> None:
        self.heard = time.monotonic()
        self.send = stream.send
        self.close = stream.close
        self._receive = stream.recv
        self._tcp = stream if isinstance(stream, socket.socket) and stream.family != socket.AF_UNIX else None
        self._held = b""
        self._at = 0

    def recv(self, size: int) -> bytes:
        """At most `size` bytes; the socket's errors, and nothing at its end."""
        end = self._at + size
        if self._at < len(self._held):
            piece = self._held[self._at : end]
            self._at = end
            return piece
        data: bytes = self._receive(max(size, _AT_ONCE))
        self.heard = time.monotonic()
        if self._tcp is not None and _QUICK_ACK is not None:
            with contextlib.suppress(OSError):  # closed meanwhile
                self._tcp.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)
        if len(data) <= size:
            return data
        self._held, self._at = data, size
        return data[:size]


class ListeningPacketizer(Packetizer):
    """Remembers when the peer was heard last."""

    def __init__(self, stream: Any) -> None:
        self._ahead = _ReadAhead(stream)
        super().__init__(self._ahead)  # type: ignore[arg-type] # of a socket it uses these three

    @property
    def heard(self) -> float:
        """When that was, in the time of time.monotonic."""
        return self._ahead.heard

    def start_handshake(self, timeout: float) -> None:
        """Start no timer, which would be a thread: whoever opens a connection closes it when the time is up."""


class SshTransport(Transport):
    """Asks for known host keys and fast ciphers first, and for a sign of life when the peer is silent."""

    packetizer: ListeningPacketizer

    def __init__(self, stream: Any, settings: SshSettings, **options: Any) -> None:
        # How often the connection's thread looks whether it is still wanted. The library's own tenth of a second makes
        # fifty hosts that only wait a twelfth of a core; we wake it when it is not wanted any more.
        self._active_check_timeout = min(_LOOK, settings.alive_interval / 3)
        super().__init__(stream, packetizer_class=ListeningPacketizer, **options)
        algorithms = self.get_security_options()
        first = [name for name in known_types(settings) if name in algorithms.key_types]
        algorithms.key_types = (*first, *(name for name in algorithms.key_types if name not in first))
        algorithms.ciphers = sorted(algorithms.ciphers, key=lambda name: "gcm" not in name)
        self._interval = settings.alive_interval

    def ask_for_life(self) -> None:
        """From now on, ask the peer for an answer whenever nothing was sent for the interval.

        The library's own keepalive asks for none, so it cannot tell a dead peer from a silent one.
        """

        def ask() -> None:
            message = Message()
            message.add_byte(cMSG_GLOBAL_REQUEST)
            message.add_string("keepalive@openssh.com")
            message.add_boolean(True)
            self._send_user_message(message)  # type: ignore[attr-defined] # missing in the stubs

        self.packetizer.set_keepalive(self._interval, ask)

    def _parse_debug(self, message: Message) -> None:
        """Leave unread what a server tells for debugging: the library would spell it out byte by byte, for no log."""
