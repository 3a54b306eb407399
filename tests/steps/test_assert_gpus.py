"""assert_gpus through NVML's symbols and through nvidia-smi: only numbers pass, and nobody hangs."""

from __future__ import annotations

import threading

import pytest

from cleanslate.model import Status
from tests.steps.harness import run_step


def assert_gpus(room, **arguments):
    return run_step("assert_gpus", arguments, target=room).result


def test_eight_empty_gpus_pass_by_number_though_the_driver_reserves_memory(gpu_room):
    result = assert_gpus(gpu_room, count=8, used_mib=0)
    assert (Status.OK, "nvml", [0] * 8) == (
        result.status,
        result.data["source"],
        [gpu["used_mib"] for gpu in result.data["gpus"]],
    )
    assert [615] * 8 == [gpu["reserved_mib"] for gpu in result.data["gpus"]]


def test_a_driver_that_counts_the_reserved_part_as_used_reads_the_same(gpu_room):
    gpu_room.nvml("count 1", "gpu 0 counts_reserved 1", "gpu 0 used 7")
    result = assert_gpus(gpu_room, used_mib=7)
    assert (Status.OK, [7]) == (result.status, [gpu["used_mib"] for gpu in result.data["gpus"]])


@pytest.mark.parametrize(
    ("facts", "arguments", "message"),
    [
        (["count 8", "gpu 3 used 610"], {"count": 8, "used_mib": 0}, "GPU 3 uses 610 MiB, more than 0"),
        (["count 3", "gpu 0 used 5", "gpu 2 used 7"], {"used_mib": 0}, "2 GPUs use more than 0 MiB: GPU 0 5, GPU 2 7"),
        (["count 7"], {"count": 8, "used_mib": 0}, "7 GPUs, not 8"),
        (["count 0"], {}, "no GPU at all"),
        (["count 1", "gpu 0 used 17"], {}, "GPU 0 uses 17 MiB, more than 16"),
        (["count 1", "gpu 0 used 40"], {"baselines": {"GPU-0000-0": 20}}, "GPU 0 uses 40 MiB, more than 36"),
        (["count 1", "gpu 0 used 1439"], {"used_percent": 1}, "GPU 0 uses 1439 MiB, more than 1437.71"),
        (["count 2"], {"uuids": ["GPU-0000-0"]}, "GPU 1 (0000:02:00.0) is not one of those named"),
        (["count 2"], {"bus_ids": ["0000:01:00.0", "0000:09:00.0"]}, "GPU 0000:09:00.0 is not there"),
        (["count 2"], {"gpus": ["5"]}, "GPU 5 is not there"),
        (["count 1", "gpu 0 memory 4"], {}, "unknown for GPU 0 (Insufficient Permissions)"),
        (["count 1", "gpu 0 memory 3"], {}, "unknown for GPU 0"),
        (["count 1", "gpu 0 code 15"], {}, "GPU 0: GPU is lost"),
        (["count 1", "gpu 0 handle 16"], {}, "GPU 0: GPU requires restart"),
        (["count 1", "gpu 0 recovery 2"], {}, "the driver says what this GPU needs: reboot"),
        (["init 18"], {"count": 0}, "version mismatch"),
        (["init 999"], {"count": 0}, "Unknown Error"),
        (["init 17"], {"count": 0}, "The operating system has blocked the request"),
        (["count 1", "gpu 0 name NVIDIA GH200 480GB"], {}, "its holders cannot be seen here"),
        (["count 1", "gpu 0 mig 1", "gpu 0 memory 4", "gpu 0 part 2 used 50"], {}, "MIG 0:2 uses 50 MiB, more than 16"),
    ],
)
def test_whatever_is_not_an_empty_gpu_fails_with_its_name(gpu_room, facts, arguments, message):
    gpu_room.nvml(*facts)
    result = assert_gpus(gpu_room, **arguments)
    assert (Status.FAILED, True) == (result.status, message in result.data["msg"]), result.data["msg"]


@pytest.mark.parametrize(
    ("facts", "arguments"),
    [
        (["count 1", "gpu 0 used 16"], {}),
        (["count 1", "gpu 0 used 36"], {"baselines": {"00000000:01:00.0": 20}}),
        (["count 2", "gpu 1 used 9000"], {"gpus": ["0"], "used_mib": 0}),
        (["count 2"], {"bus_ids": ["0000:01:00.0", "00000000:02:00.0"], "uuids": "GPU-0000-1,GPU-0000-0"}),
        (["count 1", "gpu 0 used 1000"], {"used_mib": "1GiB"}),
        (["count 1", "gpu 0 mig 1", "gpu 0 memory 4", "gpu 0 part 2 used 0"], {"used_mib": 0}),
    ],
)
def test_what_holds_passes(gpu_room, facts, arguments):
    gpu_room.nvml(*facts)
    result = assert_gpus(gpu_room, **arguments)
    assert Status.OK == result.status, result.data["msg"]


@pytest.mark.parametrize(
    ("facts", "exit_code", "advice"),
    [
        (["count 1", "gpu 0 code 15"], 6, "reboot the machine"),
        (["count 1", "gpu 0 memory 16"], 6, "reset it from the host"),
        (["count 1", "gpu 0 recovery 1"], 6, "reset it from the host"),
        (["init 18"], 2, "install the host's version here"),
        (["init 17"], 2, "restart the container"),
        (["count 1", "gpu 0 memory 4"], 2, "read it on the hypervisor"),
    ],
)
def test_a_verdict_comes_with_its_exit_code_and_what_to_do(gpu_room, facts, exit_code, advice):
    gpu_room.nvml(*facts)
    result = assert_gpus(gpu_room, within=30)
    assert (exit_code, True) == (result.exit_code, advice in result.fix), result.fix


@pytest.mark.parametrize("facts", [["count 2", "gpu 1 hang 1"], ["hang_init 1"]])
def test_a_driver_that_does_not_answer_is_given_up_and_wedged(gpu_room, facts):
    gpu_room.nvml(*facts)
    answer = gpu_room.call("gpus.wait", {"first": 0.3, "following": 0.3, "seconds": 30}, deadline=20, read_only=True)
    assert (False, "hung", "wedged") == (answer["ok"], answer["verdict"]["kind"], answer["verdict"]["verdict"])


def test_memory_that_comes_back_is_seen_while_waiting(gpu_room):
    """The wait happens on the target, many looks a second, and tells what it sees."""
    gpu_room.nvml("count 2", "gpu 1 used 76000")
    timer = threading.Timer(0.4, gpu_room.nvml, ("count 2",))
    timer.start()
    result = assert_gpus(gpu_room, used_mib=0, within=20)
    timer.join()
    assert (Status.OK, True) == (result.status, result.data["looks"] > 5)
    assert {"1": 76000} == gpu_room.progress[0]["used_mib"]


def test_the_holder_is_named_when_it_does_not_come_back(gpu_room):
    pid = gpu_room.act("--title", "sglang::scheduler_TP1", "--map", gpu_room.device(1), "4096")[0]
    gpu_room.act("--open", gpu_room.device(1))
    gpu_room.nvml("count 2", "gpu 1 used 700", f"gpu 1 pids {pid}:700")
    result = assert_gpus(gpu_room, used_mib=0, within=0.2)
    expected = f"GPU 1 uses 700 MiB, more than 0 after 0.2 s; held by pid {pid} sglang::scheduler_TP1 (700 MiB)"
    assert expected == result.data["msg"]


def test_no_visible_holder_in_a_container_points_to_the_hypervisor(gpu_room):
    gpu_room.nvml("count 2", "gpu 1 used 700")
    result = assert_gpus(gpu_room, used_mib=0)
    assert result.data["msg"].endswith("no holder visible from inside this container; ask the hypervisor")
    assert result.fix.startswith('release_gpus: {container: "{{ vmid }}"}')


def test_signs_in_the_kernel_log_make_the_verdict_of_a_gpu_in_trouble(gpu_room):
    log = gpu_room.folder / "kern.log"
    log.write_text("[  1.0] NVRM: Xid (PCI:0000:02:00): 119, pid=1, Timeout waiting for RPC from GSP0!\n")
    asked = {"kernel_log": str(log), "used_mib": 0}
    gpu_room.nvml("count 2", "gpu 1 used 700")
    troubled = gpu_room.call("gpus.wait", asked, deadline=20)["verdict"]
    gpu_room.nvml("count 2", "gpu 0 used 700")
    other = gpu_room.call("gpus.wait", asked, deadline=20)["verdict"]
    assert ("wedged", 1, None) == (troubled["verdict"], troubled["gpu"], other)
    assert "Xid 119" in troubled["text"]


# ---- through nvidia-smi


def test_memory_fields_without_a_number_fail_and_name_the_gpus(room):
    """Eight rows: one without permission, one not available, six zeros. No traceback, no pass, no waiting."""
    words = {"3": {"memory.used": "[Insufficient Permissions]"}, "5": {"memory.used": "[N/A]"}}
    room.smi(gpus=words)
    result = assert_gpus(room, count=8, used_mib=0, within=30)
    assert "unknown for GPU 3 and 5 (Insufficient Permissions, N/A)" == result.data["msg"]
    assert "hypervisor" in result.fix
    assert (1, 2) == (result.data["looks"], result.exit_code)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"text": ""}, "nvidia-smi ended well and printed nothing"),
        ({"text": "No devices were found\n", "rc": 6}, "no GPU at all"),
        ({"text": "Failed to initialize NVML: Driver/library version mismatch\n", "rc": 18}, "version mismatch"),
        (
            {"text": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make\n", "rc": 9},
            "it couldn't",
        ),
        (
            {"text": "Unable to determine the device handle for GPU 0000:41:00.0: GPU is lost.  Reboot\n", "rc": 15},
            "GPU is lost",
        ),
        ({"text": "0, GPU-1, NVIDIA H200, 0000\n"}, "a line that is no answer"),
        ({"text": "something else\n"}, "a line that is no answer"),
        ({"count": 7}, "7 GPUs, not 8"),
        ({"without": [6]}, "7 GPUs, not 8"),
        ({"gpus": {"2": {"memory.used": "610"}}}, "GPU 2 uses 610 MiB, more than 0"),
        ({"gpus": {"2": {"uuid": "GPU-0000-1"}}}, "told one GPU twice"),
        ({"gpus": {"1": {"memory.used": "[GPU requires reset]"}}}, "GPU 1 (0000:02:00.0): the GPU must be reset"),
        ({"rc": 1}, "0, GPU-0000-0"),
    ],
)
def test_nothing_but_eight_rows_of_zeros_passes(room, state, message):
    room.smi(**state)
    result = assert_gpus(room, count=8 if message != "no GPU at all" else None, used_mib=0)
    assert (Status.FAILED, True) == (result.status, message in result.data["msg"]), result.data["msg"]


@pytest.mark.parametrize(
    "state",
    [
        {"unknown_fields": ["memory.reserved", "mig.mode.current"]},
        {"rc": 14},
        {"gpus": {"4": {"name": "Tesla, with commas, P100"}}},
    ],
)
def test_an_old_driver_a_corrupt_inforom_and_a_name_with_commas_pass(room, state):
    room.smi(**state)
    result = assert_gpus(room, count=8, used_mib=0)
    assert (Status.OK, "nvidia-smi") == (result.status, result.data["source"])


def test_a_hanging_nvidia_smi_is_wedged_and_asked_no_further(room):
    asked = room.folder / "asked"
    room.program("nvidia-smi", f"#!/bin/sh\necho $$ >> {asked}\nexec sleep 60\n")
    answer = room.call("gpus.wait", {"first": 0.5, "seconds": 30}, deadline=20, read_only=True)
    pids = [int(line) for line in asked.read_text().split()]
    assert ("hung", 1, [False]) == (answer["verdict"]["kind"], len(pids), room.alive(*pids))


def test_nothing_of_nvidia_here_is_zero_gpus_and_not_an_empty_one(room):
    assert [Status.OK, Status.FAILED] == [assert_gpus(room, count=0).status, assert_gpus(room).status]


# ---- proof


def test_prove_really_allocates_on_each_gpu_and_says_which_cannot(gpu_room):
    gpu_room.nvml("count 2")
    good = assert_gpus(gpu_room, prove="1GiB")
    gpu_room.nvml("count 2", "cuda 1 most 1000")
    bad = assert_gpus(gpu_room, prove="1GiB")
    assert (Status.OK, ["0000:01:00.0", "0000:02:00.0"]) == (good.status, [g["bus_id"] for g in good.data["proved"]])
    assert "GPU 1 (0000:02:00.0): no 1024 MiB to be had: CUDA error 2 (out of memory)" == bad.data["msg"]


@pytest.mark.parametrize(
    ("fact", "message", "exit_code"),
    [
        ("cuda count 1", "CUDA shows 1 GPUs, not 2", 2),
        ("cuda init 802", "CUDA does not start: CUDA error 802 (system not ready: the fabric manager", 2),
    ],
)
def test_prove_fails_when_cuda_does_not_start_or_misses_a_gpu(gpu_room, fact, message, exit_code):
    gpu_room.nvml("count 2", fact)
    result = assert_gpus(gpu_room, prove="1GiB")
    assert (exit_code, True) == (result.exit_code, message in result.data["msg"])


def test_a_hang_in_the_allocation_is_wedged(gpu_room):
    gpu_room.nvml("count 2", "cuda hang 1")
    answer = gpu_room.call("gpus.prove", {"mib": 1, "seconds": 0.3}, deadline=20)
    assert ([True], "hung") == ([gpu["ok"] for gpu in answer["gpus"]], answer["failed"]["kind"])


@pytest.mark.parametrize(("size", "mib"), [(512, 512), ("1GiB", 1024), ("1.5 g", 1536), ("300 MiB", 300)])
def test_sizes_are_mebibytes_with_or_without_a_unit(size, mib):
    from cleanslate.steps.assert_gpus import Arguments

    assert mib == Arguments(used_mib=size).used_mib
