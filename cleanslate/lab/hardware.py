"""What GPUs a lab has: eight pretend ones, or with `--gpu real` those of this computer, really taken."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

_MOST_USED_MIB = 1024  # with more in use, somebody works here


class NoHardware(Exception):
    """There are no real GPUs to practise with; the text says why."""


class Hardware(NamedTuple):
    """Sizes are GiB on each GPU. `held` is what the stuck server has, `orphan` what hides outside on the last one,
    `weights` and `pool` what a new server takes, `pinned` the host memory that the stuck server has pinned. `pace` is
    how long a server's start takes, as a share of what it usually does.
    """

    real: bool = False
    gpus: int = 8
    total: float = 140.4
    held: float = 76
    orphan: float = 76
    weights: float = 58
    pool: float = 18
    pinned: float = 0
    pace: float = 1
    idle_mib: int = 0
    path: str = ""  # where the real nvidia-smi is
    libraries: str = ""  # LD_LIBRARY_PATH of this computer
    nodes: str = "/dev"  # where the real device files are
    torch: str = ""  # the folder that PyTorch is imported from, where the stuck server takes its memory through it

    @property
    def stuck(self) -> int:
        """How many GPUs the stuck server holds: of the pretend ones the orphan has the last to itself."""
        return self.gpus if self.real else self.gpus - 1

    @property
    def patience(self) -> float:
        """Seconds within which everything is held: PyTorch alone takes many to be imported by each worker."""
        return 120.0 if self.torch else 10.0

    def devices(self, pretend: Path) -> Path:
        """The folder of the device files."""
        return Path(self.nodes) if self.real else pretend

    def save(self, place: Path) -> None:
        """Write it down for those who come to the lab later."""
        place.write_text(json.dumps(self._asdict()) + "\n", encoding="utf-8")


def load(place: Path) -> Hardware:
    """What was written down; the pretend GPUs where nothing was."""
    try:
        return Hardware(**json.loads(place.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return Hardware()


def find_real(
    held: float | None = None, pinned: float = 0, nodes: str = "/dev", *, with_torch: bool = False
) -> Hardware:
    """The GPUs of this computer. Raises NoHardware where there is none, or one is in use.

    held: GiB that the stuck server takes on each; 70 % of the smallest otherwise. with_torch: it takes them through
    PyTorch.
    """
    program = shutil.which("nvidia-smi")
    if program is None:
        raise NoHardware("there is no nvidia-smi here, so no GPU to practise with; leave out --gpu real")
    rows = query(program, "memory.total,memory.used")
    total = min(row[0] for row in rows) / 1024
    used = max(row[1] for row in rows)
    if used > _MOST_USED_MIB:
        raise NoHardware(f"a GPU has {used} MiB in use: somebody works here, and the lab would take the rest")
    found = Hardware(
        real=True,
        gpus=len(rows),
        total=round(total, 1),
        held=round(total * 0.7, 1) if held is None else held,
        orphan=round(total * 0.1, 1),
        weights=round(total * 0.41, 1),
        pool=round(total * 0.13, 1),
        pinned=pinned,
        idle_mib=used,
        path=str(Path(program).parent),
        libraries=os.environ.get("LD_LIBRARY_PATH", ""),
        nodes=nodes,
        torch=find_torch() if with_torch else "",
    )
    if found.held + found.orphan + 2 > total:
        raise NoHardware(f"{found.held:g} GiB and {found.orphan:g} for the orphan do not fit into {total:.0f} GiB")
    return found


def find_torch() -> str:
    """The folder that PyTorch is imported from. Raises NoHardware where this Python has none."""
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        raise NoHardware(f"{sys.executable} has no PyTorch; leave out --torch")
    return str(Path(found.origin).parent.parent)


def query(program: str, fields: str) -> list[list[int]]:
    """Numbers of each GPU from nvidia-smi. Raises NoHardware with what it said where it gives none."""
    command = [program, f"--query-gpu={fields}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        rows = [[int(word) for word in line.split(",")] for line in done.stdout.splitlines() if line.strip()]
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise NoHardware(f"nvidia-smi does not tell of its GPUs: {error}") from None
    if done.returncode or not rows:
        raise NoHardware(f"nvidia-smi does not tell of its GPUs: {(done.stderr or done.stdout).strip()[:200]}")
    return rows
