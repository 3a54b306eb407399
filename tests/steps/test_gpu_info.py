"""gpu_info tells what it sees, of sick GPUs too, and never fails for it."""

from __future__ import annotations

from cleanslate.model import Status
from tests.steps.harness import run_step


def test_it_tells_gpus_holders_watchers_and_baselines(gpu_room):
    holder = gpu_room.act("--map", gpu_room.device(1), "4096")[0]
    watcher = gpu_room.act("--open", gpu_room.device(0))[0]
    facts = ["gpu 0 fabric 3", "gpu 1 used 700", f"gpu 1 pids {holder}:700,999999:5"]
    gpu_room.nvml("driver 580.159.04", "count 2", *facts)
    result = run_step("gpu_info", {}, target=gpu_room).result
    assert (Status.OK, 2, "580.159.04", "nvml") == (
        result.status,
        result.data["count"],
        result.data["driver"],
        result.data["source"],
    )
    assert {"GPU-0000-0": 0, "GPU-0000-1": 700} == result.data["baselines"]
    assert [(holder, {"1": 700})] == [(each["pid"], each["used_mib"]) for each in result.data["holders"]]
    assert [watcher] == [each["pid"] for each in result.data["watchers"]]
    assert [999999] == result.data["unseen"]
    assert ["completed", None] == [gpu["fabric"] for gpu in result.data["gpus"]]
    assert "2 x NVIDIA H200 (0: 0 MiB, 1: 700 MiB)" == result.data["msg"]


def test_sick_gpus_are_told_as_such(gpu_room):
    gpu_room.nvml("count 3", "gpu 1 code 15", "gpu 2 memory 4")
    result = run_step("gpu_info", {}, target=gpu_room).result
    words = "3 x NVIDIA H200 (0: 0 MiB, 1: GPU is lost, 2: unknown (Insufficient Permissions))"
    assert (Status.OK, words, "wedged") == (result.status, result.data["msg"], result.data["verdict"]["verdict"])


def test_a_query_that_fails_is_told_and_gives_no_gpu(room):
    room.smi(text="Failed to initialize NVML: Unknown Error\n", rc=255)
    result = run_step("gpu_info", {}, target=room).result
    assert (Status.OK, 0, {}) == (result.status, result.data["count"], result.data["baselines"])
    assert "the GPUs cannot be read: Failed to initialize NVML: Unknown Error" == result.data["msg"]


def test_its_baselines_are_what_assert_gpus_takes(gpu_room):
    gpu_room.nvml("count 1", "gpu 0 used 300")
    clean = run_step("gpu_info", {}, target=gpu_room).result.data["baselines"]
    gpu_room.nvml("count 1", "gpu 0 used 310")
    assert Status.OK == run_step("assert_gpus", {"baselines": clean}, target=gpu_room).result.status


def test_a_machine_without_gpus_has_none(room):
    result = run_step("gpu_info", {}, target=room).result
    assert ("no GPU", "none") == (result.data["msg"], result.data["source"])
