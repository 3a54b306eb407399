"""A lab for tests: its own folder, its command line, and OpenSSH to get into its machines."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PYTHON = sys.executable

PROCESSES = """
import json, os
found = []
for entry in sorted(filter(str.isdigit, os.listdir("/proc")), key=int):
    try:
        fields = open(f"/proc/{entry}/stat").read().rpartition(")")[2].split()
        title = open(f"/proc/{entry}/cmdline").read().replace(chr(0), " ").strip()
    except OSError:
        continue
    found.append([int(entry), int(fields[1]), fields[0], title])
print(json.dumps(found))
"""


def lab_command(*words):
    """The command line of the lab's own program."""
    return [PYTHON, "-m", "cleanslate.lab", *map(str, words)]


class Practice:
    """The lab in a folder; `wrapped` is put before its commands (`unshare ...`)."""

    def __init__(self, root: Path, wrapped=()):
        self.root = root
        self.wrapped = list(wrapped)
        self._shared: dict[str, tuple[subprocess.Popen, Path]] = {}

    def run(self, *words, check=True):
        command = [*self.wrapped, *lab_command(*words), "--root", str(self.root)]
        return subprocess.run(command, capture_output=True, text=True, check=check, stdin=subprocess.DEVNULL)

    def status(self):
        return json.loads(self.run("status", "--json").stdout)

    def facts(self):
        return json.loads((self.root / "lab.json").read_text())

    def host(self, name):
        return self.facts()["hosts"][name]

    def ssh_command(self, machine, command, *options):
        options = ["-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "LogLevel=ERROR", *options]
        return ["ssh", "-F", str(self.root / "ssh_config"), *options, machine, command]

    def ssh(self, machine, command, *options, given=b"", check=True):
        """Run a command on a machine, over one connection for all such commands; gives bytes."""
        shared = options or ("-S", str(self._connection(machine)))
        line = self.ssh_command(machine, command, *shared)
        done = subprocess.run(line, input=given, capture_output=True)
        if check and done.returncode:
            raise AssertionError(f"{command}: exit {done.returncode}: {done.stdout!r} {done.stderr!r}")
        return done

    def _connection(self, machine):
        """The socket of a connection that is opened once; it ends with the lab."""
        if machine not in self._shared or self._shared[machine][0].poll() is not None:
            path = Path(
                tempfile.mkdtemp(prefix="lab-"), "ssh"
            )  # a socket's address has 107 bytes, tmp_path may not fit
            line = [*self.ssh_command(machine, "", "-M", "-N", "-S", str(path))][:-1]
            self._shared[machine] = subprocess.Popen(line, stdin=subprocess.DEVNULL), path
            until(path.exists)
        return self._shared[machine][1]

    def close(self):
        """End the lab, and the connections to it."""
        self.run("down")
        for process, path in self._shared.values():
            process.terminate()
            process.wait()
            shutil.rmtree(path.parent)
        self._shared.clear()

    def says(self, machine, command):
        """What a command prints, as text without the last line end."""
        return self.ssh(machine, command).stdout.decode().rstrip("\n")

    def processes(self, machine):
        """(pid, parent, state, title) of every process that a machine sees; no `ps` is needed for it."""
        told = self.ssh(machine, "python3 -", given=PROCESSES.encode()).stdout
        return [(pid, parent, state, title) for pid, parent, state, title in json.loads(told)]

    def titles(self, machine):
        """The titles of all processes that a machine sees."""
        return [title for *_, title in self.processes(machine)]

    def kill(self, machine, signal, *pids):
        """Signal processes by their number there; a negative one is a process group."""
        self.ssh(machine, f"kill -{signal} {' '.join(map(str, pids))}")

    def used(self, machine="pve-lab"):
        """MiB by GPU."""
        text = self.says(machine, "nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits")
        return [int(line) for line in text.split()]


def until(holds, seconds=15.0):
    """Wait for a fact; AssertionError when it does not come."""
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
    return found


def processes_of(root):
    """Pids outside of the lab whose command line or environment names its folder, or that map its devices."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                told = (
                    (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes() + (entry / "maps").read_bytes()
                )
            except OSError:
                continue
            if str(root).encode() in told:
                found.append(int(entry.name))
    return found
