"""A room to measure in: one sshd on the loopback with many names, and the inventories by which each tool reaches them.

Everything lies in one temporary folder and is gone afterwards. Every host is the same machine, which is also the
controller: fifty hosts share the processors that fifty machines would bring along. Each has a connection of its own.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Room:
    """`with Room() as room:`; `root` is a repository of playbooks of its own.

    `listen` is the server's address, `wrap` what its command line begins with (to run it in another network).
    """

    def __init__(self, listen: str = "127.0.0.1", wrap: tuple[str, ...] = ()) -> None:
        self.listen = listen
        self._wrap = wrap
        self.folder = Path(tempfile.mkdtemp(prefix="cleanslate-bench-"))
        self.root = self.folder / "repository"
        self.home = self.folder / "home"
        self.port = _free_port()
        self._far = _free_port()
        self.user = getpass.getuser()
        self.key = self.folder / "user_key"
        self.known_hosts = self.folder / "known_hosts"
        self._process: subprocess.Popen[bytes] | None = None
        for place in (self.root / "playbooks", self.home):
            place.mkdir(parents=True)
        (self.root / "invoke.yaml").write_text("cleanslate:\n  runs: .runs\n  forks: 50\n")

    def __enter__(self) -> Room:
        """Start the server."""
        for name in ("host_key", "user_key"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(self.folder / name)], check=True
            )
        kind, blob, *_ = (self.folder / "host_key.pub").read_text().split()
        self.known_hosts.write_text(f"[{self.listen}]:{self.port} {kind} {blob}\n")
        (self.folder / "authorized_keys").write_text((self.folder / "user_key.pub").read_text())
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the server with everything that its sessions started, and remove the folder."""
        if self._process is not None:
            for pid in (self._process.pid, *descendants(self._process.pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self) -> None:
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        config = self.folder / "sshd_config"
        lines = [
            f"Port {self.port}",
            f"ListenAddress {self.listen}",
            f"HostKey {self.folder / 'host_key'}",
            f"AuthorizedKeysFile {self.folder / 'authorized_keys'}",
            f"SetEnv HOME={self.home} PATH={_SYSTEM_PATH} CLEANSLATE_LEASES={self.folder / 'leases'}",
            "PidFile none",
            "StrictModes no",
            "UsePAM no",
            "UseDNS no",
            "PermitRootLogin yes",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "MaxStartups 2000",  # as shipped, sshd refuses the eleventh of those that come at once
            "MaxSessions 100",
            "PrintMotd no",
            "Subsystem sftp internal-sftp",
        ]
        config.write_text("\n".join(lines) + "\n")
        sshd = shutil.which("sshd", path=_SYSTEM_PATH) or "/usr/sbin/sshd"
        log = self.folder / "sshd.log"
        with log.open("ab") as stream:
            self._process = subprocess.Popen(
                [*self._wrap, sshd, "-D", "-e", "-f", str(config)],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
        until = time.monotonic() + 10
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex((self.listen, self.port)) == 0:
                    return
            time.sleep(0.01)
        raise RuntimeError(f"sshd did not start: {log.read_text()}")

    @property
    def pid(self) -> int:
        """The server's process id."""
        assert self._process is not None
        return self._process.pid

    def far_port(self) -> int:
        """A free port for a relay to this server."""
        return self._far

    def reach_by(self, port: int) -> None:
        """From now on every tool is told this port, of which the server's key is known too."""
        line = self.known_hosts.read_text().splitlines()[0]
        with self.known_hosts.open("a") as known:
            known.write(f"[{self.listen}]:{port} {line.partition(' ')[2]}\n")
        self.port = port
        _listening(port)

    # ------------------------------------------------------------------ how each tool is told

    def inventory(self, hosts: int, **variables: str) -> Path:
        """An inventory file for us and for Ansible, of so many hosts."""
        options = f"-o UserKnownHostsFile={self.known_hosts} -o IdentitiesOnly=yes"
        said = {
            "ansible_host": self.listen,
            "ansible_port": str(self.port),
            "ansible_user": self.user,
            "ansible_ssh_private_key_file": str(self.key),
            "ansible_ssh_common_args": f"'{options}'",
            "ansible_python_interpreter": "/usr/bin/python3",
            **variables,
        }
        names = "\n".join(f"h{number:03}" for number in range(hosts))
        path = self.folder / f"hosts-{hosts}.ini"
        path.write_text(f"{names}\n[all:vars]\n" + "".join(f"{key}={value}\n" for key, value in said.items()))
        return path

    def playbook(self, name: str, text: str) -> Path:
        """A playbook of the room's repository."""
        path = self.root / "playbooks" / f"{name}.yml"
        path.write_text(text)
        return path

    def ours(self, *words: str) -> list[str]:
        """The command line of `inv`, to be run in `root`."""
        return [str(HOME / "inv"), *words]

    def ssh_options(self) -> list[str]:
        """What `ssh`, `scp` and `rsync -e` need to know."""
        said = {
            "Port": self.port,
            "User": self.user,
            "IdentityFile": self.key,
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": self.known_hosts,
        }
        return ["-F", "none", *(word for key, value in said.items() for word in ("-o", f"{key}={value}"))]

    def ansible_environment(self, **more: str) -> dict[str, str]:
        """Ansible at its best: pipelining, fifty forks, nothing gathered, nothing kept outside the room."""
        return {
            **os.environ,
            "HOME": str(self.home),
            "ANSIBLE_PIPELINING": "True",
            "ANSIBLE_FORKS": "50",
            "ANSIBLE_HOME": str(self.folder / "ansible"),
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self.folder / "cp"),
            "ANSIBLE_STDOUT_CALLBACK": "default",
            "ANSIBLE_RETRY_FILES_ENABLED": "False",
            "ANSIBLE_PYTHON_INTERPRETER": "/usr/bin/python3",
            **more,
        }


def steps(count: int, step: str = "command: /bin/true") -> str:
    """A playbook of so many equal steps."""
    tasks = "".join(f"    - {step}\n" for _ in range(count))
    return f"- name: Measured\n  hosts: all\n  gather_facts: false\n  tasks:\n{tasks}"


def python() -> str:
    """The interpreter of our environment."""
    return sys.executable


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


def _listening(port: int) -> None:
    """Wait until somebody listens on a port of the loopback; asked of the kernel, as a connection would be counted."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        if any(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in rows):
            return
        time.sleep(0.02)
    raise RuntimeError("the relay did not start")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
