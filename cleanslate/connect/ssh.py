"""Opens ssh connections through fabric: host keys verified, deadlines on every phase, dead peers noticed."""

from __future__ import annotations

import contextlib
import functools
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from fabric import Config, Connection
from paramiko.channel import Channel
from paramiko.client import MissingHostKeyPolicy, SSHClient
from paramiko.config import SSHConfig
from paramiko.pkey import PKey
from paramiko.ssh_exception import SSHException

from cleanslate.connect.host_keys import judge
from cleanslate.connect.ssh_auth import KeysAndPassword
from cleanslate.connect.ssh_channel import ChannelStream
from cleanslate.connect.ssh_settings import SshSettings
from cleanslate.connect.ssh_socket import Proxy, connect_tcp
from cleanslate.connect.ssh_transport import SshTransport
from cleanslate.connect.stream import Stream, within
from cleanslate.errors import DeadlinePassed, OutcomeUnknown, Unreachable

_NEAR = 0.005  # seconds
_SESSIONS = 8  # commands at once on one connection; OpenSSH's servers allow ten


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


_making = threading.Lock()  # Fabric's settings are not thread-safe; once it is made, a connection asks them nothing


@functools.cache
def _fabric_config() -> Config:
    """Fabric's settings without any file, as ours say it all; making them takes as long as half a connection."""
    return Config(ssh_config=SSHConfig(), lazy=True)


def _fabric_connection(settings: SshSettings, kwargs: dict[str, Any]) -> Connection:
    """A connection that is not open yet. What is given here, its settings need not be asked for."""
    with _making:
        return Connection(
            settings.host,
            user=settings.user,
            port=settings.port,
            config=_fabric_config(),
            gateway=False,
            forward_agent=False,
            inline_ssh_env=True,
            connect_kwargs=kwargs,
        )


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
        self._proxy: Proxy | None = None
        self._transport: SshTransport | None = None
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
        kwargs = {
            "sock": self._socket,
            "timeout": left,
            "banner_timeout": left,
            "auth_timeout": left,
            "channel_timeout": left,
            "transport_factory": self._make_transport,
            "auth_strategy": KeysAndPassword(settings, left),
        }
        self._connection = connection = _fabric_connection(settings, kwargs)
        connection.client.set_missing_host_key_policy(_Policy(settings, self._accept_new, self._log))
        self._phase = "exchanging keys and logging in"
        connection.open()
        assert self._transport is not None
        self._transport.ask_for_life()
        self._phase = "connected"
        if self._closed:  # nobody waits for this any more
            self.close()

    def _make_transport(self, stream: Any, **options: Any) -> SshTransport:
        self._transport = SshTransport(stream, self.settings, **options)
        return self._transport

    def _connect(self, until: float) -> Any:
        settings = self.settings
        if self._hop is not None:
            self._phase = f"connecting through {self._hop.settings.alias}"
            return self._hop.connect_to(settings.host, settings.port, until - time.monotonic())
        if settings.proxy_command is not None:
            self._phase = "connecting through ProxyCommand"
            self._proxy = Proxy(settings.proxy_command)
            return self._proxy.socket
        began = time.monotonic()
        stream = connect_tcp(settings.host, settings.port, until)
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
