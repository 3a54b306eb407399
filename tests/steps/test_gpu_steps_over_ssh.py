"""The GPU steps through a real sshd and the real agent: what the other tests show call by call, as a run meets it."""

from __future__ import annotations

import socket
import time

import pytest

from cleanslate.connect.connections import RunConnections
from cleanslate.model import Status
from tests.sshd import SYSTEM_PATH, Sshd
from tests.steps.harness import run_step

pytestmark = pytest.mark.slow


@pytest.fixture
def reached(room, tmp_path):
    """The room's machine, reached by ssh: its sshd runs in the room, and sees what the room sees."""
    hidden = room.folder / "empty"  # no NVML and no CUDA of this machine's own
    sshd = Sshd(tmp_path, path=f"{room.bin}:{SYSTEM_PATH} LD_LIBRARY_PATH={hidden}")
    room.spawn("/usr/sbin/sshd", "-D", "-e", "-f", sshd.config)
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", sshd.port)) == 0:
                break
        time.sleep(0.01)
    connections = RunConnections()
    yield connections.target(sshd.address("gpu1"))
    connections.close()


def test_workers_that_left_the_tree_go_and_an_editor_stays(room, reached):
    room.smi(live=True)
    pids = [
        room.act("--leave", "--title", f"sglang::scheduler_TP{n}", "--map", room.device(n), str(76 << 30), *stubborn)[0]
        for n, stubborn in enumerate([[]] * 6 + [["--ignore-term"]] * 2)
    ]
    editor = room.act("--", "vim", "sglang/launch_server.py")[0]
    before = run_step("assert_gpus", {"count": 8, "used_mib": 0}, target=reached).result
    stopped = run_step("stop_server", {"name": "eagle3-over-ssh", "grace": 0.3}, target=reached).result
    after = run_step("assert_gpus", {"count": 8, "used_mib": 0, "within": 10}, target=reached).result
    assert [Status.FAILED, Status.CHANGED, Status.OK] == [each.status for each in (before, stopped, after)]
    assert dict(zip(pids, ["TERM"] * 6 + ["KILL"] * 2, strict=True)) == {
        entry["pid"]: entry["how"] for entry in stopped.data["stopped"]
    }
    assert [True] == room.alive(editor)


def test_on_the_hypervisor_only_the_containers_orphans_go(room, reached):
    room.smi(live=True)
    first = room.act("--comm", "init", prefix=("unshare", "--pid", "--fork", "--mount-proc"), inside=True)[0]
    room.program("lxc-info", f"#!/bin/sh\n[ $2 = 101 ] && echo {first}\n")
    enter = ("nsenter", "-t", str(first), "-p", "-m", "--")
    orphans = [room.act("--map", room.device(n), "4096", prefix=enter, inside=True)[0] for n in (0, 1)]
    neighbour = room.act("--map", room.device(1), "4096")[0]
    daemons = [
        room.act("--title", name, "--open", room.device(0))[0]
        for name in ("nvidia-persistenced", "dcgm-exporter", "nv-fabricmanager", "Xorg")
    ]
    result = run_step("release_gpus", {"container": "101", "grace": 0.3}, target=reached).result
    assert (Status.CHANGED, orphans) == (result.status, [entry["pid"] for entry in result.data["released"]])
    assert [True] * 5 == room.alive(neighbour, *daemons)


def test_a_field_without_a_number_and_a_missing_gpu_do_not_pass(room, reached):
    words = {"3": {"memory.used": "[Insufficient Permissions]"}, "5": {"memory.used": "[N/A]"}}
    room.smi(gpus=words)
    unknown = run_step("assert_gpus", {"count": 8, "used_mib": 0, "within": 30}, target=reached).result
    room.smi(text="")
    silent = run_step("assert_gpus", {"count": 8, "used_mib": 0}, target=reached).result
    room.smi(without=[7], gpus={"2": {"memory.used": "610"}})
    missing = run_step("assert_gpus", {"count": 8, "used_mib": 0}, target=reached).result
    assert [
        "unknown for GPU 3 and 5 (Insufficient Permissions, N/A)",
        "nvidia-smi ended well and printed nothing",
        True,
    ] == [unknown.data["msg"], silent.data["msg"], missing.data["msg"].startswith("7 GPUs, not 8")]
    assert "GPU 2 uses 610 MiB, more than 0" in missing.data["msg"]


def test_progress_of_a_wait_arrives_while_it_waits(room, reached):
    room.smi(count=1, gpus={"0": {"memory.used": "5"}})
    told = []
    reached.call("gpus.wait", {"used_mib": 0, "seconds": 1}, deadline=30, read_only=True, on_progress=told.append)
    assert {"0": 5} == told[0]["used_mib"]
