"""The story in a lab of its own, quick: what is killed, cut off and gone on with in tests."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from cleanslate.lab import life
from cleanslate.record import list_runs, read_events, read_run

REPOSITORY = Path(__file__).parents[2]
STEPS = (
    "The command is given",
    "Look for the interpreter and the models",
    "The interpreter and the models are there",
    "The log's folder",
    "The start script, for people who start it by hand",
    "Stop the server, its workers and whatever they left behind",
    "Free the GPUs from the hypervisor, where the container cannot see the holder",
    "Every GPU is empty",
    "The draft model accepts the target's context length",
    "Launch",
    "Healthy means it answers, not that a port is open",
    "It answers a chat completion",
    "What it said",
)
"""The steps of playbooks/restart-eagle3.yml in order."""
_QUICK = ("-e", "eagle3_grace=0.3s", "-e", "holder_grace=0.2s")


def locked(path: Path) -> bool:
    """Whether a process holds this file locked."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


class Story:
    """A lab, records, and the controllers that work on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / "runs"
        self.lab = folder / "lab"
        (folder / "invoke.yaml").write_text("cleanslate: {inventory: hosts.yml}\n")
        (folder / "hosts.yml").write_text("plugin: lab\nroot: lab\n")
        shutil.copytree(REPOSITORY / "inventory" / "group_vars", folder / "group_vars")
        self.inventory = folder / "hosts.yml"
        self._lab("up", "--pace", "0.1")

    def _lab(self, *words: str) -> None:
        command = [sys.executable, "-m", "cleanslate.lab", *words, "--root", str(self.lab)]
        subprocess.run(command, check=True, capture_output=True)

    def trouble(self, *faults: str) -> None:
        """Ask the lab for troubles."""
        self._lab("break", *faults)

    def close(self) -> None:
        """End the lab."""
        self._lab("down")

    # ------------------------------------------------------------------ controllers

    def start(self, *words: str) -> subprocess.Popen:
        """Run `inv`; what it says goes into a file, so that nobody has to read it."""
        environment = {
            **os.environ,
            "NO_COLOR": "1",
            "INVOKE_CLEANSLATE_RUNS": str(self.runs),
            "HOME": str(self.folder),
        }
        with (self.folder / "said").open("wb") as said:
            return subprocess.Popen(
                [sys.executable, "-m", "cleanslate.cli", *words],
                stdout=said,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=environment,
                cwd=REPOSITORY,
                start_new_session=True,
            )

    def said(self) -> str:
        """What the last controller said."""
        return (self.folder / "said").read_text("utf-8", "replace")

    def inv(self, *words: str, seconds: float = 120) -> tuple[int, str]:
        """Run `inv` to its end: exit code, and everything it said."""
        running = self.start(*words)
        try:
            return running.wait(seconds), self.said()
        except subprocess.TimeoutExpired:
            running.kill()
            raise AssertionError(f"inv {' '.join(words)} hangs:\n{self.said()}") from None

    def play(self, *more: str) -> subprocess.Popen:
        """Start the story."""
        return self.start("play", "restart-eagle3", "-i", str(self.inventory), *_QUICK, *more)

    # ------------------------------------------------------------------ what it is like

    def begun(self) -> list[str]:
        """The names of the steps that the newest run has begun, in order."""
        runs = list_runs(self.runs)
        events = read_events(runs[0].folder) if runs else ()
        return [str(event.data["name"]) for event in events if event.kind == "step.started"]

    def until_begun(self, step: str, running: subprocess.Popen, seconds: float = 90) -> bool:
        """Wait until a run has begun a step; False when it has ended without."""
        end = time.monotonic() + seconds
        while step not in self.begun():
            if running.poll() is not None:
                return step in self.begun()
            assert time.monotonic() < end, f"{step} was not begun; {self.begun()}"
            time.sleep(0.02)
        return True

    def leases(self) -> list[str]:
        """The leases that are held on both machines; a file that nobody has locked is none."""
        return [path.name for path in self.lab.glob("*/home/.local/state/cleanslate/leases/*.lease") if locked(path)]

    def launches(self) -> list[str]:
        """The logs of launched servers: each launch has one of its own, whatever became of it."""
        return [path.name for path in (self.lab / "eagle3-lab" / "log").glob("eagle3-2*.log")]

    def assert_one_server(self) -> None:
        """Every GPU is held by one worker of one launch, nobody holds a lease, and every record reads back."""
        gpus = life.status(self.lab)["gpus"]
        assert [(77824, 1)] * 8 == [(gpu["used_mib"], len(gpu["holders"])) for gpu in gpus]
        assert 1 == len(self.launches())
        assert [] == self.leases()
        self.assert_records()

    def assert_records(self) -> None:
        """Every record reads back whole."""
        for run in list_runs(self.runs):
            assert run.id == read_run(run.folder)["id"]
            events = list(read_events(run.folder))
            lines = (run.folder / "events.jsonl").read_bytes().split(b"\n")
            assert len(events) >= len(lines) - 1  # at most the event that was being written is lost
