"""Measures commands beside each other: in turns, each as a whole process, by wall clock and processor seconds."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Command:
    """One competitor. `times`: how often it is run; slow peers less. `before` puts things back between runs."""

    argv: Sequence[str]
    cwd: Path | None = None
    environment: Mapping[str, str] | None = None
    times: int = 5
    before: Callable[[], None] | None = None


@dataclass
class Taken:
    """What the runs of one command took, in seconds; `mib` is the most memory of its own process, in MiB."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    mib: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The median of the wall clock."""
        return statistics.median(self.wall)

    @property
    def processor(self) -> float:
        """The median of the processor seconds, of the process and of all those it waited for."""
        return statistics.median(self.cpu)


def take_turns(commands: Mapping[str, Command], *, warm: bool = True) -> dict[str, Taken]:
    """Run all commands in turns, as often as each says. RuntimeError with its output when one fails."""
    taken = {name: Taken() for name in commands}
    if warm:
        for name, command in commands.items():
            if command.times > 2:
                _run(name, command)
    for number in range(max(command.times for command in commands.values())):
        for name, command in commands.items():
            if number < command.times:
                wall, cpu, mib = _run(name, command)
                taken[name].wall.append(wall)
                taken[name].cpu.append(cpu)
                taken[name].mib.append(mib)
    return taken


def _run(name: str, command: Command) -> tuple[float, float, float]:
    if command.before is not None:
        command.before()
    began = time.perf_counter()
    process = subprocess.Popen(
        list(command.argv),
        cwd=command.cwd,
        env=dict(command.environment) if command.environment else None,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode:
        raise RuntimeError(f"{name} ended with {process.returncode}:\n{said.decode('utf-8', 'replace')[-2000:]}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
