"""Fifty milliseconds each way, and how many round trips what takes: python -m benchmarks.latency.

The distance is a relay that holds every byte back and counts (far.py); `tc netem` would need root and a kernel that has
it, and would not count.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence

from benchmarks.figures import Figure, tell
from benchmarks.room import HOME, Room, steps

DELAY = 0.05  # seconds each way
_TIMES = 3


def main() -> None:
    """Measure, and tell."""
    with Room() as room:
        near, far = room.port, room.far_port()
        argv = [sys.executable, "-m", "benchmarks.far", str(far), str(near), str(DELAY)]
        relay = subprocess.Popen(argv, cwd=HOME, stdout=subprocess.PIPE, text=True)
        try:
            room.reach_by(far)
            hosts = str(room.inventory(1))
            books = [room.playbook(f"n{count}", steps(count)) for count in (1, 21)]
            one, many = (_measure(relay, room, room.ours("play", str(book), "-i", hosts)) for book in books)
            ssh = _measure(relay, room, ["ssh", *room.ssh_options(), room.listen, "/bin/true"])
        finally:
            relay.kill()
            relay.wait()
    trip = 2 * DELAY
    connection = one[0] - trip
    tell(
        "latency",
        [
            Figure("round trips of connection and agent, one step and the end", one[1], "`ssh HOST /bin/true` and two",
                   ssh[1] + 2, 1.0, ""),
            Figure("round trips of one more step", (many[1] - one[1]) / 20, "one", 1.0, 1.0, ""),
            Figure("a play of 21 steps, whole process", many[0], "a play of one and 20 round trips",
                   one[0] + 20 * trip, 1.15),
            Figure("a play of one step, whole process", connection + trip, "`ssh HOST /bin/true`", ssh[0]),
        ],
        note="50 ms each way by a relay that counts round trips (the kernel of this machine has no netem).",
    )  # fmt: skip


def _measure(relay: subprocess.Popen[str], room: Room, argv: Sequence[str]) -> tuple[float, float]:
    """The least seconds, and the least round trips, that a command takes."""
    assert relay.stdout is not None
    found = []
    for _ in range(_TIMES):
        began = time.perf_counter()
        subprocess.run(list(argv), cwd=room.root, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds = time.perf_counter() - began
        found.append((seconds, float(relay.stdout.readline())))
    return min(one[0] for one in found), min(one[1] for one in found)


if __name__ == "__main__":
    main()
