"""The server of the tests itself, where others build on it: its namespaces, and that nothing of it stays."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.connect.conftest import alive
from tests.sshd import Sshd


def test_a_server_in_its_own_namespaces_sees_only_itself(tmp_path, open_connections):
    """As in a container: its processes have their own numbers and see no others; they end with it."""
    with Sshd(tmp_path, namespaces=True) as server:
        target = open_connections().target(server.address())
        inside = target.call("trial_calls.where", {}, deadline=10)["pid"]
        command = "ls /proc | grep -c '^[0-9]'; readlink /proc/self/ns/pid"
        count, namespace = target.call("command.run", {"command": command}, deadline=10)["stdout"].split()
        sessions = server.sessions()
        assert (True, True) == (inside < 1000, int(count) < 30)
        assert namespace != str(Path("/proc/self/ns/pid").readlink())
        target.plain("setsid sleep 64 >/dev/null 2>&1 &", deadline=10)
    until = time.monotonic() + 5
    while any(map(alive, sessions)) and time.monotonic() < until:
        time.sleep(0.01)
    assert [] == [pid for pid in sessions if alive(pid)]
    assert "sleep\x0064" not in " ".join(command_lines())


def command_lines():
    """Every process's command line."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                found.append(Path(entry.path, "cmdline").read_text())
            except OSError:
                continue
    return found
