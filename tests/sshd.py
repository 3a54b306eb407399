"""A real OpenSSH server on a free port of the loopback, with its own keys, for tests.

    with Sshd(tmp_path) as sshd:
        address = sshd.address("web")

Sessions get `home` as their HOME (so no start-up file of the machine's user is read), `path` as their PATH, and
leases of their own.
`namespaces=True` starts the server in its own PID and mount namespaces (root, or a kernel that allows user namespaces):
its sessions see only themselves in /proc, as in a container, and all of them end with the server.
"""

from __future__ import annotations

import contextlib
import functools
import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from cleanslate.connect.target import Address

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@functools.cache
def keys() -> Path:
    """A folder with key pairs made once for this process: `host`, `other_host` and `user`."""
    folder = Path(tempfile.mkdtemp(prefix="cleanslate-keys-"))
    for name in ("host", "other_host", "user"):
        make_key(folder / name)
    import atexit

    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def make_key(path: Path, *, passphrase: str = "", kind: str = "ed25519") -> Path:
    """Make a key pair; gives the private half's path."""
    size = ["-b", "2048"] if kind == "rsa" else []
    subprocess.run(
        ["ssh-keygen", "-q", "-t", kind, *size, "-N", passphrase, "-C", path.name, "-f", str(path)], check=True
    )
    return path


def free_port() -> int:
    """A port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Sshd:
    """One server. `extra` are further lines of sshd_config."""

    def __init__(
        self,
        folder: Path,
        *,
        namespaces: bool = False,
        host_key: str = "host",
        home: Path | None = None,
        path: str = SYSTEM_PATH,
        extra: tuple[str, ...] = (),
        port: int | None = None,
    ) -> None:
        self.folder = folder / f"sshd-{free_port()}"
        self.folder.mkdir(parents=True)
        self.port = port or free_port()
        self.home = home or self.folder / "home"
        self.home.mkdir(exist_ok=True)
        self.key = keys() / "user"
        self.known_hosts = self.folder / "known_hosts"
        self.log = self.folder / "log"
        self.namespaces = namespaces
        self.process: subprocess.Popen | None = None
        self.remember(host_key)
        authorized = self.folder / "authorized_keys"
        authorized.write_text((keys() / "user.pub").read_text())
        self.config = self.folder / "sshd_config"
        lines = [
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {keys() / host_key}",
            f"AuthorizedKeysFile {authorized}",
            f"SetEnv HOME={self.home} PATH={path} CLEANSLATE_LEASES={self.folder / 'leases'}",
            "PidFile none",
            "StrictModes no",
            "UsePAM no",
            "UseDNS no",
            "PermitRootLogin yes",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "MaxStartups 200",
            "MaxSessions 20",
            "PrintMotd no",
            *extra,  # sshd takes the first value of each
            "LogLevel VERBOSE",
        ]
        self.config.write_text("\n".join(lines) + "\n")

    def remember(self, host_key: str) -> None:
        """Write a known_hosts file with this one key of the server."""
        kind, blob, *_ = (keys() / f"{host_key}.pub").read_text().split()
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {kind} {blob}\n")

    def __enter__(self) -> Sshd:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server and wait until it listens."""
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where sshd locks itself in before a login
        argv = [shutil.which("sshd", path=SYSTEM_PATH) or "/usr/sbin/sshd", "-D", "-e", "-f", str(self.config)]
        if self.namespaces:
            user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
            argv = ["unshare", *user, "--pid", "--mount", "--fork", "--mount-proc", "--kill-child", *argv]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        until = time.monotonic() + 10
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.002)
        self.stop()
        raise RuntimeError(f"sshd did not start: {self.log.read_text()}")

    def stop(self) -> None:
        """End the server and everything that its sessions started and did not leave behind."""
        if self.process is None:
            return
        below = descendants(self.process.pid)
        for pid in (self.process.pid, *below):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.process = None

    @property
    def pid(self) -> int:
        """The listening server's process id (as seen from outside)."""
        assert self.process is not None
        return self.process.pid

    def sessions(self) -> list[int]:
        """The process ids of the servers of single connections, newest last."""
        return sorted(pid for pid in descendants(self.pid) if comm(pid) == "sshd")

    def address(self, name: str = "web", **changes: object) -> Address:
        """The address that reaches this server."""
        options = (("UserKnownHostsFile", str(self.known_hosts)), ("IdentitiesOnly", "yes"))
        settings: dict = {
            "host": "127.0.0.1",
            "port": self.port,
            "user": getpass.getuser(),
            "identity_files": (str(self.key),),
            "ssh_options": options,
        }
        settings.update(changes)
        return Address(name, **settings)

    def config_entry(self, alias: str, *more: str) -> str:
        """A section of ~/.ssh/config that reaches this server."""
        lines = [
            f"Host {alias}",
            "HostName 127.0.0.1",
            f"Port {self.port}",
            f"User {getpass.getuser()}",
            f"IdentityFile {self.key}",
            "IdentitiesOnly yes",
            f"UserKnownHostsFile {self.known_hosts}",
            *more,
        ]
        return "\n  ".join(lines) + "\n"


def comm(pid: int) -> str:
    """A process's short name; empty when it has gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def descendants(pid: int) -> list[int]:
    """Every process below one, at this moment."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found
