"""The lab on real GPUs, as far as it goes without one: the boundary is libcuda and nvidia-smi, both built here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.practice import Practice
from tests.lab.test_story import EMPTY, FREE, SAID, STOP, Checkout

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
HERE = Path(__file__).parent
LOCAL = ("-i", "inventory/local-gpu.yml")


@pytest.fixture
def stub(tmp_path, monkeypatch):
    """A computer with one GPU of 140 GiB: its libcuda, its nvidia-smi, its device files."""
    folder = tmp_path / "stub"
    for name in ("bin", "lib", "dev", "held"):
        (folder / name).mkdir(parents=True)
    for name in ("nvidia0", "nvidiactl", "nvidia-uvm"):
        (folder / "dev" / name).touch()
        os.truncate(folder / "dev" / name, 4096)
    library = folder / "lib" / "libcuda.so.1"
    command = ["gcc", "-shared", "-fPIC", "-w", f'-DSTUB="{folder}"', "-o", str(library), str(HERE / "cuda_stub.c")]
    subprocess.run(command, check=True)
    text = (HERE / "smi_stub.py").read_text().replace("REPOSITORY", str(HERE.parent.parent))
    program = folder / "bin" / "nvidia-smi"
    program.write_text(f"#!{sys.executable} -I\n{text}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder / "lib"))
    return folder


def test_the_whole_story_with_memory_that_is_taken_through_libcuda(stub, tmp_path):
    """The server that hangs has 100 GiB, the orphan outside 14; then an empty GPU, and a server that answers."""
    checkout = Checkout(tmp_path / "checkout")
    room = Practice(checkout.root / ".lab-gpu")
    try:
        room.run("up", "--gpu", "real", "--held", "100", "--nodes", stub / "dev")
        [gpu] = room.status()["gpus"]
        assert (116736, ["sglang::scheduler_TP0"] * 2) == (gpu["used_mib"], [holder[1] for holder in gpu["holders"]])
        played = checkout.play("restart-eagle3", *LOCAL)
        assert (0, []) == (played.code, played.failed), played.text
        changed = {name: played.status[name] for name in (STOP, FREE, EMPTY)}
        assert {STOP: "changed", FREE: "changed", EMPTY: "ok"} == changed
        assert played.result[SAID]["msg"].startswith("I am the practice server")
        refused = room.run("break", "slow-release", check=False)
        assert (1, True) == (refused.returncode, "these GPUs are real" in refused.stderr)
        stopped = checkout.play("stop-eagle3", *LOCAL)
        assert (0, 0) == (stopped.code, room.status()["gpus"][0]["used_mib"]), stopped.text
    finally:
        room.close()
