"""What an ssh connection goes over: a socket to its server, or a ProxyCommand."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from typing import IO


class Proxy:
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


def connect_tcp(host: str, port: int, until: float) -> socket.socket:
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
