"""How soon a wait ends after the fact, and what waiting costs: python -m benchmarks.waiting."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import statistics
import subprocess
import time
from pathlib import Path

from benchmarks.figures import Figure, tell
from benchmarks.room import Room, descendants

FACTS = 8
_LOOK = 8.0  # seconds over which processor time is read
_HZ = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure, and tell."""
    with Room() as room:
        late = {kind: _lateness(room, kind) for kind in ("path", "line", "port", "process")}
        one_agent, _ = _idle(room, 1)
        _, controller = _idle(room, 50)
    words = {"path": "a file is there", "line": "a ready line is written", "port": "a port is open",
             "process": "a process is gone"}  # fmt: skip
    tell(
        "waiting",
        [
            *(
                Figure(f"from the fact to the step's end: {words[kind]}", seconds * 1000, "60 ms and one round trip",
                       60.0, 1.0, "ms")
                for kind, seconds in late.items()
            ),
            Figure("processor of an agent that waits", 100 * one_agent, "1 % of a core", 1.0, 1.0, "%"),
            Figure("processor of the controller, 50 waiting hosts", 100 * controller, "1 % of a core", 1.0, 1.0, "%"),
        ],
        note=f"Medians of {FACTS}; the end is when its event is read from `--output json`.",
    )  # fmt: skip


def _lateness(room: Room, kind: str) -> float:
    """The median seconds between facts and the ends of the steps that wait for them."""
    facts = [_Fact(room, kind, number) for number in range(FACTS)]
    text = "- hosts: all\n  gather_facts: false\n  tasks:\n" + "".join(f"    - {fact.step}\n" for fact in facts)
    argv = room.ours("play", str(room.playbook(kind, text)), "-i", str(room.inventory(1)), "--output", "json")
    process = subprocess.Popen(argv, cwd=room.root, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found, waiting, since = [], iter(facts), 0.0
    try:
        for line in process.stdout:
            event = json.loads(line)
            if event["kind"] == "step.started":
                time.sleep(0.6 + random.random() / 5)
                since = next(waiting).happen()
            elif event["kind"] == "host.finished":
                found.append(time.perf_counter() - since)
    finally:
        process.wait()
        for fact in facts:
            fact.end()
    return statistics.median(found)


class _Fact:
    """One thing that a step waits for."""

    def __init__(self, room: Room, kind: str, number: int) -> None:
        self.kind = kind
        self.path = room.folder / f"fact-{kind}-{number}"
        self._socket = socket.socket()
        self._process: subprocess.Popen[bytes] | None = None
        if kind == "port":
            self._socket.bind(("127.0.0.1", 0))
            self.step = f"wait_for: {{port: {self._socket.getsockname()[1]}, timeout: 60}}"
        elif kind == "process":
            self._process = subprocess.Popen(["sleep", "600"])
            self.step = f"wait_for: {{path: /proc/{self._process.pid}, state: absent, timeout: 60}}"
        elif kind == "line":
            self.path.write_text("starting\n")
            self.step = f"wait_for: {{path: {self.path}, search_regex: ready, timeout: 60}}"
        else:
            self.step = f"wait_for: {{path: {self.path}, timeout: 60}}"

    def happen(self) -> float:
        """Make it so; gives when that was."""
        if self.kind == "port":
            self._socket.listen()
        elif self._process is not None:
            self._process.kill()
            self._process.wait()
        else:
            self.path.write_text("ready\n")
        return time.perf_counter()

    def end(self) -> None:
        """Leave nothing behind."""
        self._socket.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _idle(room: Room, hosts: int) -> tuple[float, float]:
    """What part of a core one agent, and the controller, use while every host waits for a file."""
    text = "- hosts: all\n  gather_facts: false\n  tasks:\n    - wait_for: {path: /nowhere/at/all, timeout: 600}\n"
    argv = room.ours("play", str(room.playbook("idle", text)), "-i", str(room.inventory(hosts)), "--output", "quiet")
    process = subprocess.Popen(argv, cwd=room.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        agents: list[int] = []
        until = time.monotonic() + 60
        while len(agents) < hosts and time.monotonic() < until:
            time.sleep(0.5)
            agents = [
                pid for pid in descendants(room.pid) if b"zlib" in _argv(pid) and _argv(pid).startswith(b"/usr/b")
            ]
        time.sleep(3)
        before = {pid: _used(pid) for pid in (process.pid, *agents)}
        time.sleep(_LOOK)
        used = {pid: (_used(pid) - then) / _LOOK for pid, then in before.items()}
        return statistics.mean(used[pid] for pid in agents), used[process.pid]
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)


def _argv(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _used(pid: int) -> float:
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / _HZ


if __name__ == "__main__":
    main()
