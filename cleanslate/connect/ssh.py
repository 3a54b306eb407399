"""Opens ssh connections through fabric: host keys verified, deadlines on every phase, dead peers noticed."""

from __future__ import annotations

import contextlib
import logging
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from typing import IO, Any

from fabric import Config, Connection
from paramiko.channel import Channel
from paramiko.client import MissingHostKeyPolicy, SSHClient
from paramiko.common import cMSG_GLOBAL_REQUEST
from paramiko.config import SSHConfig
from paramiko.message import Message
from paramiko.packet import Packetizer
from paramiko.pkey import PKey
from paramiko.ssh_exception import SSHException
from paramiko.transport import Transport

from cleanslate.connect.host_keys import judge, known_types
from cleanslate.connect.ssh_auth import KeysAndPassword
from cleanslate.connect.ssh_channel import ChannelStream
from cleanslate.connect.ssh_settings import SshSettings
from cleanslate.connect.stream import Stream, within
from cleanslate.errors import DeadlinePassed, OutcomeUnknown, Unreachable

_QUICK_ACK = getattr(socket, "TCP_QUICKACK", None)  # Linux only; it has to be asked for again and again
_NEAR = 0.005  # seconds
_LOOK = 5.0  # seconds
_SESSIONS = 8  # commands at once on one connection; OpenSSH's servers allow ten

# The library prints tracebacks of lost connections; what matters in them is in our own errors.
logging.getLogger("paramiko").addHandler(logging.NullHandler())
logging.getLogger("paramiko").propagate = False


class _ListeningPacketizer(Packetizer):
    """Remembers when the peer was heard last, and has what it said acknowledged at once.

    OpenSSH's server leaves Nagle's algorithm on: its second small packet in a row waits for the acknowledgement of
    the first, which this side's kernel would hold back for 40 ms.
    """

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.heard = time.monotonic()
        self._tcp = stream if isinstance(stream, socket.socket) and stream.family != socket.AF_UNIX else None

    def read_message(self) -> tuple[int, Message]:
        message = super().read_message()
        self.heard = time.monotonic()
        if self._tcp is not None and _QUICK_ACK is not None:
            with contextlib.suppress(OSError):  # closed meanwhile
                self._tcp.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)
        return message


class _Transport(Transport):
    """Asks for known host keys and fast ciphers first, and for a sign of life when the peer is silent."""

    packetizer: _ListeningPacketizer

    def __init__(self, stream: Any, settings: SshSettings, **options: Any) -> None:
        # How often the connection's thread looks whether it is still wanted. The library's own tenth of a second makes
        # fifty hosts that only wait a twelfth of a core; we wake it when it is not wanted any more.
        self._active_check_timeout = min(_LOOK, settings.alive_interval / 3)
        super().__init__(stream, packetizer_class=_ListeningPacketizer, **options)
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


class _Policy(MissingHostKeyPolicy):
    """Judges every server's key: the client is given no keys of its own."""

    def __init__(self, settings: SshSettings, accept_new: bool, log: Any) -> None:
        self._settings = settings
        self._accept_new = accept_new
        self._log = log

    def missing_host_key(self, client: SSHClient, hostname: str, key: PKey) -> None:
        warning = judge(self._settings, key.get_name(), key.asbytes(), accept_new=self._accept_new)
        if warning:
            self._log.warning("host.key_accepted", text=warning)


def _fabric_config() -> Config:
    """Fabric's settings without any file: ours say it all. One for each connection, as they are not thread-safe."""
    return Config(ssh_config=SSHConfig(), lazy=True)


class SshLink:
    """One ssh connection."""

    def __init__(self, settings: SshSettings, *, hop: SshLink | None, accept_new: bool, log: Any) -> None:
        self.settings = settings
        self.patience = settings.silence
        self.near = False
        self._hop = hop
        self._accept_new = accept_new
        self._log = log
        self._phase = "connecting"
        self._closed = False
        self._socket: Any = None
        self._proxy: _Proxy | None = None
        self._transport: _Transport | None = None
        self._connection: Connection | None = None  # kept, since it may close the transport when it goes
        self._sessions = threading.BoundedSemaphore(_SESSIONS)

    # ------------------------------------------------------------------ opening

    def open(self, seconds: float) -> None:
        """Connect and log in. Unreachable says what was in the way."""
        where = f"{self.settings.alias} ({self.settings.host}:{self.settings.port})"
        try:
            within(seconds, f"connecting to {self.settings.alias}", lambda: self._open(time.monotonic() + seconds))
        except DeadlinePassed:
            self.close()
            raise Unreachable(f"{where} did not answer within {seconds:.3g} s ({self._phase})") from None
        except Unreachable:
            self.close()
            raise
        except (OSError, EOFError, SSHException) as error:
            said = self._proxy.said() if self._proxy else ""
            self.close()
            reason = said or getattr(error, "strerror", None) or str(error) or "the connection was closed"
            raise Unreachable(f"{where} cannot be reached ({self._phase}): {reason}") from None

    def _open(self, until: float) -> None:
        settings = self.settings
        self._socket = self._connect(until)
        left = max(until - time.monotonic(), 0.1)
        self._connection = connection = Connection(
            settings.host,
            user=settings.user,
            port=settings.port,
            config=_fabric_config(),
            gateway=False,
            connect_kwargs={
                "sock": self._socket,
                "timeout": left,
                "banner_timeout": left,
                "auth_timeout": left,
                "channel_timeout": left,
                "transport_factory": self._make_transport,
                "auth_strategy": KeysAndPassword(settings, left),
            },
        )
        connection.client.set_missing_host_key_policy(_Policy(settings, self._accept_new, self._log))
        self._phase = "exchanging keys and logging in"
        connection.open()
        assert self._transport is not None
        self._transport.ask_for_life()
        self._phase = "connected"
        if self._closed:  # nobody waits for this any more
            self.close()

    def _make_transport(self, stream: Any, **options: Any) -> _Transport:
        self._transport = _Transport(stream, self.settings, **options)
        return self._transport

    def _connect(self, until: float) -> Any:
        settings = self.settings
        if self._hop is not None:
            self._phase = f"connecting through {self._hop.settings.alias}"
            return self._hop.connect_to(settings.host, settings.port, until - time.monotonic())
        if settings.proxy_command is not None:
            self._phase = "connecting through ProxyCommand"
            self._proxy = _Proxy(settings.proxy_command)
            return self._proxy.socket
        began = time.monotonic()
        stream = _connect_tcp(settings.host, settings.port, until)
        self.near = time.monotonic() - began < _NEAR  # opening is one round trip, and the name
        return stream

    def connect_to(self, host: str, port: int, seconds: float) -> Any:
        """A socket-like channel from the machine at the other end to a further one."""
        assert self._transport is not None
        return self._transport.open_channel("direct-tcpip", (host, port), ("127.0.0.1", 0), timeout=seconds)

    # ------------------------------------------------------------------ open

    def start(self, command: str, seconds: float) -> Stream:
        """Start a command line in the login shell."""
        until = time.monotonic() + seconds
        if not self._sessions.acquire(timeout=max(seconds, 0)):
            raise Unreachable(
                f"{self.settings.alias}: {_SESSIONS} commands are under way, none ended in {seconds:.3g} s"
            )
        place = _Once(self._sessions.release)
        sending = _Once(lambda: None)
        try:
            return within(
                until - time.monotonic(),
                f"opening a session on {self.settings.alias}",
                lambda: self._start(command, max(until - time.monotonic(), 0.1), place, sending),
                undo=_end,
            )
        except (OSError, EOFError, SSHException, DeadlinePassed) as error:
            place()
            if isinstance(error, DeadlinePassed) and not sending():
                raise OutcomeUnknown(f"{self.settings.alias}: {error}; the command is ended if it has begun") from None
            raise Unreachable(f"{self.settings.alias}: no session could be opened: {error}") from None

    def _start(self, command: str, seconds: float, place: _Once, sending: _Once) -> ChannelStream:
        assert self._transport is not None
        channel = self._transport.open_session(timeout=seconds)
        if not sending():  # nobody waits any more, and it was said that the command was not sent: it must not be
            channel.close()
            raise DeadlinePassed("nobody waits for it any more")
        return ChannelStream(channel, command, place)

    def trouble(self) -> str | None:
        """Why the connection is of no use any more."""
        transport = self._transport
        if self._closed or transport is None or not transport.is_active():
            return "the connection was lost"
        silent = time.monotonic() - transport.packetizer.heard
        if silent > self.settings.silence:
            return f"the connection has been silent for {silent:.0f} s"
        return None

    def learn(self, errors: str) -> bool:
        """There is nothing to learn."""
        return False

    def close(self) -> None:
        """Close the connection; every command on it sees the end of its input."""
        self._closed = True
        for stream in (self._socket, getattr(self._socket, "_sock", None)):
            if isinstance(stream, socket.socket):
                with contextlib.suppress(OSError):
                    stream.shutdown(socket.SHUT_RDWR)  # wakes the transport's thread
            elif isinstance(stream, Channel):  # of a machine that is jumped through
                stream.close()
        transport = self._transport
        if transport is not None:
            transport.packetizer.complete_handshake()  # or its timer would outlive us
            transport.close()
            if transport.is_alive() and transport is not threading.current_thread():
                transport.join(1.0)
        if self._socket is not None:
            self._socket.close()
        if self._proxy is not None:
            self._proxy.close()


class _Once:
    """A function that is called by the first who asks, from whatever thread."""

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function
        self._unasked = threading.Semaphore(1)

    def __call__(self) -> bool:
        """Whether this was the first."""
        first = self._unasked.acquire(blocking=False)
        if first:
            self._function()
        return first


def _end(stream: ChannelStream) -> None:
    """End a command that began when nobody waited for it any more."""
    stream.stop(kill=True)
    stream.close()


class _Proxy:
    """A ProxyCommand, with a socket to talk to it; the library's own never notices that its command has ended."""

    def __init__(self, command: str) -> None:
        self.socket, theirs = socket.socketpair()
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        with theirs:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", f"exec {command}"],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._errors,
                start_new_session=True,
            )

    def said(self) -> str:
        """The last thing it wrote to standard error."""
        self._errors.seek(0)
        lines = self._errors.read()[-2000:].decode("utf-8", "replace").strip().splitlines()
        return f"ProxyCommand: {lines[-1]}" if lines else ""

    def close(self) -> None:
        """End it."""
        if self._errors.closed:
            return
        self.socket.close()
        self._process.terminate()
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()


def _connect_tcp(host: str, port: int, until: float) -> socket.socket:
    """A connected socket: each of the name's addresses in turn."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    failure: OSError = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in addresses:
        stream = socket.socket(family, kind, protocol)
        stream.settimeout(max(until - time.monotonic(), 0.1))
        try:
            stream.connect(address)
        except OSError as error:
            stream.close()
            failure = error
        else:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return stream
    raise failure
