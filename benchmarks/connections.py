"""How long connecting, the first call and further calls take, beside OpenSSH's own client.

    python -m benchmarks.connections

Everything runs on this machine: a real sshd on the loopback, the agents, and the controller. So fifty hosts here share
the processors that fifty machines would bring along.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cleanslate.connect.ssh  # noqa: F401 - its import is no part of what is measured
from cleanslate.connect.connections import RunConnections
from tests.sshd import Sshd

HOSTS = 50
CALLS = 10


def measure(what: str, function: Callable[[], object], times: int) -> None:
    """Print the least and the median time of a function."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        function()
        taken.append((time.perf_counter() - began) * 1000)
    taken.sort()
    print(f"{what:52} min {taken[0]:7.1f} ms   median {taken[times // 2]:7.1f} ms")


def main() -> None:
    """Measure one after the other."""
    with tempfile.TemporaryDirectory() as folder, Sshd(Path(folder)) as server:
        options = ["-F", "none", "-p", str(server.port), "-i", str(server.key), "-o", "IdentitiesOnly=yes"]
        options += ["-o", f"UserKnownHostsFile={server.known_hosts}", "127.0.0.1"]
        shared = ["-o", "ControlMaster=auto", "-o", f"ControlPath={folder}/%C", "-o", "ControlPersist=30", *options]

        def ssh(*words: str) -> None:
            subprocess.run(["ssh", *words], check=True)

        measure("ssh HOST true", lambda: ssh(*options, "true"), 10)
        measure("ssh HOST python3 -c pass", lambda: ssh(*options, "/usr/bin/python3 -I -S -c pass"), 10)
        ssh(*shared, "true")
        measure("ssh HOST true, over a ControlMaster", lambda: ssh(*shared, "true"), 30)
        subprocess.run(["ssh", "-O", "exit", *shared], check=True, capture_output=True)

        def first() -> None:
            connections = RunConnections()
            connections.target(server.address()).call("command.run", {"argv": ["true"]}, deadline=30)
            connections.close()

        measure("connect, start the agent, command.run true, close", first, 10)
        connections = RunConnections()
        target = connections.target(server.address())
        target.plain("true", deadline=30)
        target.call("command.run", {"argv": ["true"]}, deadline=30)
        measure("command.run true", lambda: target.call("command.run", {"argv": ["true"]}, deadline=30), 200)
        measure("plain true", lambda: target.plain("true", deadline=30), 30)
        connections.close()
        many(server)


def many(server: Sshd) -> None:
    """All hosts at once, connecting included and then not."""
    connections = RunConnections()

    def host(number: int) -> None:
        target = connections.target(server.address(f"web{number}"))
        for _ in range(CALLS):
            target.call("command.run", {"argv": ["true"]}, deadline=60)

    for what in ("connecting included", "connected already"):
        began = time.perf_counter()
        with ThreadPoolExecutor(HOSTS) as pool:
            list(pool.map(host, range(HOSTS)))
        print(f"{HOSTS} hosts x {CALLS} command.run, {what}: {time.perf_counter() - began:.2f} s")
    connections.close()


if __name__ == "__main__":
    main()
