"""What was taken from whom: the robber's side of it. The robbed host keeps its own in its journal."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def note_robbery(runs: Path, host: str, who: str, where: str, robbed: Sequence[Mapping[str, Any]]) -> None:
    """Add a line to `robberies.jsonl` beside the records for each lease that was taken away."""
    runs.mkdir(parents=True, exist_ok=True, mode=0o700)
    for lease in robbed:
        kept = {key: lease.get(key) for key in ("run", "who", "from", "playbook", "step", "since")}
        line = json.dumps({"at": round(time.time(), 3), "host": host, "by": who, "by_from": where, **kept})
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(runs / "robberies.jsonl", flags, 0o600)
        try:
            os.write(descriptor, line.encode() + b"\n")
        finally:
            os.close(descriptor)
