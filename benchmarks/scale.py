"""Fifty and five hundred hosts, five steps each; and one host that hangs: python -m benchmarks.scale."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

from benchmarks.figures import Figure, tell
from benchmarks.room import Room, steps

STEPS = 5


def main() -> None:
    """Measure, and tell."""
    with Room() as room:
        book = room.playbook("scale", steps(STEPS))
        few = min((_run(room, book, 50) for _ in range(3)), key=lambda one: one["seconds"])
        many = _run(room, book, 500)
        alone = _hanging(room)
    per_host = (many["mib"] - few["mib"]) / 450
    tell(
        "scale",
        [
            Figure(f"500 hosts, {STEPS} steps each", many["seconds"], "ten times 50 hosts", 10 * few["seconds"], 1.2),
            Figure("memory for each host more", per_host, "what each may take", 1.5, 1.0, "MiB"),
            Figure("most threads at 500 hosts", many["threads"], "at 50 hosts", few["threads"], unit=""),
            Figure("most descriptors at 500 hosts", many["descriptors"], "at 50 hosts", few["descriptors"], unit=""),
            Figure("one of 20 hosts hangs for 3 s; the others are done after", alone, "the hang", 3.0,
                   0.5),
        ],
        note="One sshd with as many names as hosts; each has its own connection and agent on this one machine.",
    )  # fmt: skip


def _run(room: Room, book: Path, hosts: int) -> dict[str, float]:
    """One run, and the most that its process had of everything."""
    began = time.perf_counter()
    process = subprocess.Popen(
        room.ours("play", str(book), "-i", str(room.inventory(hosts)), "--output", "quiet"),
        cwd=room.root,
        stdout=subprocess.DEVNULL,
    )
    most = {"threads": 0.0, "descriptors": 0.0, "mib": 0.0}
    folder = Path("/proc", str(process.pid))
    while process.poll() is None:
        try:
            status = (folder / "status").read_text()
            now = {
                "threads": float(re.findall(r"Threads:\s+(\d+)", status)[0]),
                "descriptors": float(len(list((folder / "fd").iterdir()))),
                "mib": float(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024,
            }
            most = {name: max(most[name], now[name]) for name in most}
        except (OSError, IndexError):
            pass
        time.sleep(0.05)
    if process.returncode:
        raise RuntimeError(f"a run on {hosts} hosts ended with {process.returncode}")
    return {**most, "seconds": time.perf_counter() - began}


def _hanging(room: Room) -> float:
    """Seconds from the first to the last of the hosts that do not hang, with `free`."""
    text = (
        "- hosts: all\n  gather_facts: false\n  strategy: free\n  tasks:\n"
        "    - command: /bin/true\n"
        "    - command: sleep 3\n      when: inventory_hostname == 'h000'\n"
        "    - command: /bin/true\n"
    )
    argv = room.ours("play", str(room.playbook("hang", text)), "-i", str(room.inventory(20)), "--output", "json")
    process = subprocess.Popen(argv, cwd=room.root, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    first, others = 0.0, 0.0
    for line in process.stdout:
        if '"host.finished"' in line:
            first = first or time.perf_counter()
            if '"h000"' not in line:
                others = time.perf_counter()
    process.wait()
    return others - first


if __name__ == "__main__":
    main()
