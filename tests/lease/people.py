"""Teammates who run `inv` against one real OpenSSH server, each with records of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.sshd import Sshd

REPOSITORY = Path(__file__).parents[2]


def inventory_of(sshd: Sshd, folder: Path, *names: str) -> Path:
    """An inventory file whose hosts are all on this server."""
    import getpass

    lines = [
        f"{name} ansible_host=127.0.0.1 ansible_port={sshd.port} ansible_user={getpass.getuser()}"
        f" ansible_ssh_private_key_file={sshd.key}"
        f" ansible_ssh_common_args='-o UserKnownHostsFile={sshd.known_hosts} -o IdentitiesOnly=yes'"
        for name in names
    ]
    path = folder / "hosts.ini"
    path.write_text("\n".join(lines) + "\n")
    return path


class Person:
    """Somebody with a checkout of their own: `name` is who they are for others."""

    def __init__(self, name: str, folder: Path, inventory: Path, play: Path) -> None:
        self.name = name
        self.inventory = inventory
        self.play_file = play
        self.runs = folder / f"runs-{name}"
        self.folder = folder
        self.environment = {
            **os.environ,
            "NO_COLOR": "1",
            "INVOKE_CLEANSLATE_RUNS": str(self.runs),
            "LOGNAME": name,
            "HOME": str(folder),
        }

    def start(self, *words: str) -> subprocess.Popen:
        """Run `inv` and do not wait for it."""
        return subprocess.Popen(
            [sys.executable, "-m", "cleanslate.cli", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            env=self.environment,
            cwd=REPOSITORY,
            start_new_session=True,
        )

    def play(self, *words: str) -> subprocess.Popen:
        """Start the play."""
        return self.start("play", str(self.play_file), "-i", str(self.inventory), *words)

    def inv(self, *words: str) -> tuple[int, str]:
        """Run `inv` to its end; the exit code, and everything it said."""
        running = self.start(*words)
        told, _ = running.communicate(timeout=100)
        return running.returncode, told

    def leases(self, host: str = "web") -> list[dict]:
        """What is held on a host."""
        code, told = self.inv("lease", "show", host, "-i", str(self.inventory), "--json")
        assert 0 == code, told
        return json.loads(told)["leases"]


def until(path: Path, seconds: float = 60) -> None:
    """Wait for a file."""
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not come"
        time.sleep(0.02)


def ended(running: subprocess.Popen) -> int:
    """Wait for an end; gives the exit code."""
    running.communicate(timeout=60)
    return running.returncode
