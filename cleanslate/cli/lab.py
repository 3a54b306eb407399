"""`inv lab`: the practice machine room, which lives in a program of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cleanslate.errors import InputError, suggest

_ACTIONS = ("up", "down", "status", "break")


def lab(root: Path, action: str, fault: str, *, as_json: bool) -> int:
    """Run the lab's own program; gives its exit code."""
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
    return subprocess.run([sys.executable, "-m", "cleanslate.lab", *words, "--root", str(root / ".lab")]).returncode
