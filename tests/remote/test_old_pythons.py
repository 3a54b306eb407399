"""The calls about processes and GPUs work on every Python that a target may have, 3.8 the oldest."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cleanslate.model import Status
from tests.steps.harness import run_step


def interpreters() -> dict[str, str]:
    """The Python that runs the tests, and whichever others from 3.8 on the machine has."""
    found = {f"{sys.version_info[0]}.{sys.version_info[1]}": sys.executable}
    for minor in range(8, 16):
        # pyenv's own first: what it puts on the PATH is a script that takes 0.1 s to find the same
        named = [str(path) for path in sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"))]
        named += [shutil.which(f"python3.{minor}")]
        for path in filter(None, named):
            if f"3.{minor}" in found:
                break
            if has_ctypes(Path(path), minor):
                found[f"3.{minor}"] = path
    return found


def has_ctypes(python: Path, minor: int) -> bool:
    """Whether it has the part that a build may lack: its file is there, or else it says so itself (each test process
    looks for itself as it collects, so that eight interpreters need not start).
    """
    if any(python.resolve().parent.parent.glob(f"lib/python3.{minor}/lib-dynload/_ctypes.*")):
        return True
    return subprocess.run([python, "-I", "-S", "-c", "import _ctypes"], capture_output=True).returncode == 0


INTERPRETERS = interpreters()


@pytest.mark.slow
@pytest.mark.parametrize("version", INTERPRETERS)
def test_a_server_is_ended_and_the_gpus_are_read(rooms, libraries, version):
    room = rooms(python=INTERPRETERS[version], libraries=libraries)
    room.nvml("count 2")
    pids = room.act("--title", "sglang::scheduler_TP0", "--map", room.device(0), "4096", "--ignore-term")
    stopped = run_step("stop_server", {"engine": "sglang", "grace": 0.1}, target=room).result
    released = run_step("release_gpus", {"scope": "host"}, target=room).result
    asserted = run_step("assert_gpus", {"count": 2, "used_mib": 0, "prove": "1GiB"}, target=room).result
    told = run_step("gpu_info", {}, target=room).result
    room.nvml("count 2", "gpu 0 hang 1")
    hung = room.call("gpus.read", {"first": 0.5}, deadline=20, read_only=True)
    statuses = [each.status for each in (stopped, released, asserted, told)]
    assert [Status.CHANGED, Status.OK, Status.OK, Status.OK] == statuses
    assert (pids, "nvml", "hung") == (stopped.data["pids"], told.data["source"], hung["failed"]["kind"])
