"""Fifty milliseconds each way: python -m benchmarks.latency.

With root and a kernel that has it, `tc netem` in a network namespace makes the distance; otherwise a relay that holds
every byte back (far.py), which counts the opening of a connection as one round trip as well.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks.figures import Figure, tell
from benchmarks.measuring import Command, take_turns
from benchmarks.room import HOME, Room, steps

DELAY_MS = 50
_NAME = f"cleanslate-{os.getpid() % 10000}"
_HERE, _THERE = "10.213.77.1", "10.213.77.2"


def main() -> None:
    """Measure, and tell."""
    with _far_room() as (room, trip, how):
        hosts = str(room.inventory(1))

        def ours(count: int) -> Command:
            return Command(room.ours("play", str(room.playbook(f"n{count}", steps(count))), "-i", hosts), cwd=room.root)

        taken = take_turns(
            {
                "0": Command(room.ours("play", str(room.playbook("none", steps(0))), "-i", hosts), cwd=room.root),
                "1": ours(1),
                "21": ours(21),
                "ssh": Command(["ssh", *room.ssh_options(), room.listen, "/bin/true"]),
            }
        )
    one, many, none, ssh = (taken[name].seconds for name in ("1", "21", "0", "ssh"))
    step = (many - one) / 20
    connection = one - none
    tell(
        "latency",
        [
            Figure("one more step", step * 1000, "one round trip", trip * 1000, 1.15, "ms"),
            Figure("connection, agent and first step", connection, "`ssh HOST /bin/true` and two round trips",
                   ssh + 2 * trip, 1.0),
            Figure("20 steps after the connection", many - none, "(connection + 20 round trips)",
                   connection + 20 * trip, 1.15),
        ],
        note=f"{DELAY_MS} ms each way by {how}; the process's own start (a play without steps) is taken off.",
    )  # fmt: skip


@contextlib.contextmanager
def _far_room() -> Iterator[tuple[Room, float, str]]:
    """A room that is far away, the seconds of one round trip, and how it was made so."""
    if os.getuid() == 0 and shutil.which("ip") and shutil.which("tc"):
        try:
            with _far_away() as wrap, Room(listen=_THERE, wrap=wrap) as room:
                yield room, _round_trip(room.port), "`tc netem`"
            return
        except subprocess.CalledProcessError as error:
            print(f"no netem here ({error.cmd[0]} said so); measured through a relay instead")
    with Room() as room:
        argv = [sys.executable, "-m", "benchmarks.far", str(room.far_port()), str(room.port), str(DELAY_MS / 1000)]
        relay = subprocess.Popen(argv, cwd=HOME)
        try:
            room.reach_by(room.far_port())
            yield room, 2 * DELAY_MS / 1000, "a relay (the kernel here has no netem)"
        finally:
            relay.kill()
            relay.wait()


@contextlib.contextmanager
def _far_away() -> Iterator[tuple[str, ...]]:
    """A network namespace that is far away; gives what a command line begins with to run there."""

    def do(*words: str) -> None:
        subprocess.run(words, check=True, stderr=subprocess.DEVNULL)

    pair = (f"cs{os.getpid() % 100000}a", f"cs{os.getpid() % 100000}b")
    try:
        do("ip", "netns", "add", _NAME)
        do("ip", "link", "add", pair[0], "type", "veth", "peer", "name", pair[1], "netns", _NAME)
        do("ip", "addr", "add", f"{_HERE}/30", "dev", pair[0])
        do("ip", "link", "set", pair[0], "up")
        inside = ("ip", "netns", "exec", _NAME)
        do(*inside, "ip", "addr", "add", f"{_THERE}/30", "dev", pair[1])
        do(*inside, "ip", "link", "set", pair[1], "up")
        do(*inside, "ip", "link", "set", "lo", "up")
        do("tc", "qdisc", "add", "dev", pair[0], "root", "netem", "delay", f"{DELAY_MS}ms", "limit", "10000")
        do(*inside, "tc", "qdisc", "add", "dev", pair[1], "root", "netem", "delay", f"{DELAY_MS}ms", "limit", "10000")
        yield inside
    finally:
        subprocess.run(["ip", "link", "del", pair[0]], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "netns", "del", _NAME], check=False, stderr=subprocess.DEVNULL)


def _round_trip(port: int) -> float:
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        with socket.create_connection((_THERE, port)):
            taken.append(time.perf_counter() - began)
    return sorted(taken)[2]


if __name__ == "__main__":
    main()
