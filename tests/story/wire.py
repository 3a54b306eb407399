"""The lab behind a network that can be cut: sshd in a network namespace, at the end of a virtual wire.

The wire is a veth pair. With its far end down, packets vanish without a word in both directions, as with a laptop that
lost its network; with the sessions' sshd killed and the door closed, the near end learns at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.sshd import comm, descendants
from tests.story.servers import Room

INETD = r"""
import json, signal, socket, subprocess, sys, selectors
address, doors = sys.argv[1], json.loads(sys.argv[2])
wanted, listening = [True], {}
signal.signal(signal.SIGUSR1, lambda *_: wanted.__setitem__(0, False))
signal.signal(signal.SIGUSR2, lambda *_: wanted.__setitem__(0, True))
children = []
print("ready", flush=True)
while True:
    if wanted[0] and not listening:
        for port, command in doors.items():
            door = socket.socket()
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            door.bind((address, int(port)))
            door.listen(16)
            door.settimeout(0)
            listening[door] = command
    elif not wanted[0] and listening:
        for door in listening:
            door.close()
        listening.clear()
    found = selectors.DefaultSelector()
    for door in listening:
        found.register(door, selectors.EVENT_READ)
    for key, _ in found.select(0.05):
        try:
            client, _ = key.fileobj.accept()
        except OSError:
            continue
        client.setblocking(True)
        command = listening[key.fileobj]
        children.append(subprocess.Popen(["/bin/sh", "-c", "exec " + command], stdin=client, stdout=client))
        client.close()
    found.close()
    children = [one for one in children if one.poll() is None]
"""


class WiredRoom(Room):
    """A lab whose machines are reached over a wire. `alive` are ServerAliveInterval and -CountMax."""

    def __init__(self, folder: Path, alive: tuple[int, int]) -> None:
        self.alive = alive
        number = os.getpid() % 16000
        self.near = f"cw{number}"
        self.address = f"10.{213 + number % 7}.{number % 250}.2"
        self._near_address = self.address[:-1] + "1"
        self._doors: dict[str, str] = {}
        super().__init__(folder, "--pace", "0.1")
        self._lay()

    def way(self, name: str) -> dict[str, str]:
        """Over the wire."""
        port = str(2201 + len(self._doors))
        self._doors[port] = self.server_command(name)
        interval, count = map(str, self.alive)
        return {
            "HostName": self.address,
            "Port": port,
            "ServerAliveInterval": interval,
            "ServerAliveCountMax": count,
            "ConnectTimeout": "3",
        }

    def _lay(self) -> None:
        import json

        command = ["unshare", "-n", "--", sys.executable, "-c", INETD, self.address, json.dumps(self._doors)]
        starter = ["/bin/sh", "-c", 'read go; exec "$@"', "inetd", *command[3:]]
        self.inetd = subprocess.Popen(
            ["unshare", "-n", "--", *starter], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 10
        own = os.readlink("/proc/self/ns/net")  # noqa: PTH115 - a name, not a path
        while os.readlink(f"/proc/{self.inetd.pid}/ns/net") == own:  # noqa: PTH115 - as above
            assert time.monotonic() < deadline
            time.sleep(0.01)
        self._ip("link", "add", self.near, "type", "veth", "peer", "name", "far", "netns", str(self.inetd.pid))
        self._ip("addr", "add", f"{self._near_address}/24", "dev", self.near)
        self._ip("link", "set", self.near, "up")
        self._far("addr", "add", f"{self.address}/24", "dev", "far")
        self._far("link", "set", "lo", "up")
        self._far("link", "set", "far", "up")
        assert self.inetd.stdin and self.inetd.stdout
        self.inetd.stdin.write("go\n")
        self.inetd.stdin.flush()
        assert "ready\n" == self.inetd.stdout.readline()

    @staticmethod
    def _ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)

    def _far(self, *words: str) -> None:
        subprocess.run(["nsenter", "-t", str(self.inetd.pid), "-n", "ip", *words], check=True)

    # ------------------------------------------------------------------ cutting

    def cut(self, how: str) -> None:
        """Cut it: `dropped` (packets vanish), or `killed` (the sessions' servers die, and nothing listens)."""
        if how == "dropped":
            self._far("link", "set", "far", "down")
            return
        self.inetd.send_signal(signal.SIGUSR1)
        time.sleep(0.1)
        for pid in descendants(self.inetd.pid):
            if comm(pid).startswith("sshd"):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def mend(self, how: str) -> None:
        """Mend it."""
        if how == "dropped":
            self._far("link", "set", "far", "up")
        else:
            self.inetd.send_signal(signal.SIGUSR2)
            time.sleep(0.1)

    def close(self) -> None:
        """Take the wire away, and end the lab."""
        for pid in (*descendants(self.inetd.pid), self.inetd.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.inetd.wait()
        for stream in (self.inetd.stdin, self.inetd.stdout):
            if stream is not None:
                stream.close()
        subprocess.run(["ip", "link", "del", self.near], capture_output=True)
        super().close()
