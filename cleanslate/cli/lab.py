"""`inv lab`: the practice machine room, which lives in a program of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cleanslate.errors import InputError, suggest

_ACTIONS = ("up", "down", "status", "break")


def lab(root: Path, action: str, fault: str, *, as_json: bool, gpu: str = "pretend") -> int:
    """Run the lab's own program; gives its exit code. `gpu` is `pretend` or `real`: two labs, each with its folder."""
    if gpu not in ("pretend", "real"):
        raise InputError(f'the lab has no "{gpu}" GPUs', fix="--gpu real, or leave it out")
    if action not in _ACTIONS:
        raise InputError(
            f'the lab knows no "{action}"', fix=suggest(action, _ACTIONS) or f"one of {', '.join(_ACTIONS)}"
        )
    if action == "break" and not fault:
        from cleanslate.lab.faults import FAULTS

        for name, about in {**FAULTS, "none": "nothing is broken"}.items():
            print(f"{name:<22}  {about}")
        return 0
    words = [action, fault] if fault else [action]
    if as_json:
        words.append("--json")
    folder = root / (".lab" if gpu == "pretend" else ".lab-gpu")
    if action == "up" and gpu == "real":
        words += ["--gpu", gpu]
    return subprocess.run([sys.executable, "-m", "cleanslate.lab", *words, "--root", str(folder)]).returncode
