"""Makes calls of the agent's code in this process, and starts holders of GPU memory: for the programs beside it."""

from __future__ import annotations

import importlib
import select
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from cleanslate.remote.registry import Call, Failed  # noqa: E402 - found through the line above

HELD: list[subprocess.Popen] = []


class TimedCall(Call):
    """A call with a deadline, that keeps what it is told."""

    def __init__(self, seconds=120.0):
        super().__init__(left=seconds)
        self.until = time.monotonic() + seconds
        self.told: list[dict] = []

    def left(self):
        """Seconds to the deadline."""
        return self.until - time.monotonic()

    def progress(self, **facts):
        """Keep what is told."""
        self.told.append(facts)


def call(name, **arguments):
    """Make one call of the agent's code here; a refusal comes back as a dict too."""
    module, _, function = name.partition(".")
    try:
        return getattr(importlib.import_module(f"cleanslate.remote.{module}"), function)(TimedCall(), **arguments)
    except Failed as error:
        return {"failed_call": error.kind, "message": error.message, **error.details}


def start(options, before=()):
    """Start a holder, in front of it the words of `before`; its process, which `ready` waits for."""
    process = subprocess.Popen(
        [*before, sys.executable, str(HERE / "gpu_holder.py"), *map(str, options)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    HELD.append(process)
    return process


def ready(process):
    """None when the holder has its memory, or why it has not."""
    if not select.select([process.stdout], [], [], 120)[0]:
        return "the holder was not ready within 120 s"
    line = process.stdout.readline().strip()
    return None if line == "ready" else f"{line} {process.stdout.read()}"[:500]


def end_all():
    """End every holder that was started."""
    for each in HELD:
        each.kill()
        each.wait()


def short(entries):
    """The fields of processes that are worth printing."""
    kept = ("pid", "title", "gpus", "used_mib", "holds", "devices", "spared", "how", "ended", "seconds", "why")
    return [{key: entry[key] for key in kept if key in entry} for entry in entries]
