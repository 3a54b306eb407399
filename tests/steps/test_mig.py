"""GPUs that are divided (MIG): each instance is read, asserted, named and proved by itself."""

from __future__ import annotations

import pytest

from cleanslate.model import Status
from tests.steps.harness import run_step

DIVIDED = ["count 2", "gpu 0 mig 1", "gpu 0 used 90", "gpu 0 part 0 used 3", "gpu 0 part 2 used 0"]
FULL = [*DIVIDED, "gpu 0 part 2 used 700"]


def assert_gpus(room, **arguments):
    return run_step("assert_gpus", arguments, target=room).result


@pytest.mark.parametrize(
    ("facts", "arguments"),
    [
        (DIVIDED, {}),
        (DIVIDED, {"count": 2, "instances": 2}),
        (FULL, {"gpus": ["0:0"]}),
        (FULL, {"gpus": ["mig-1000", "1"]}),
        (FULL, {"gpus": ["0"], "baselines": {"MIG-1002": 690}}),
        (FULL, {"used_percent": 5}),
        (DIVIDED, {"uuids": ["MIG-1000", "MIG-1002", "GPU-0000-1"]}),
        (["count 1", "gpu 0 mig 1", "gpu 0 used 16"], {"instances": 0}),
    ],
)
def test_each_instance_is_held_to_the_limit_and_the_division_itself_is_not(gpu_room, facts, arguments):
    gpu_room.nvml(*facts)
    result = assert_gpus(gpu_room, **arguments)
    assert Status.OK == result.status, result.data["msg"]


@pytest.mark.parametrize(
    ("facts", "arguments", "message"),
    [
        (FULL, {}, "MIG 0:2 uses 700 MiB, more than 16"),
        (
            [*FULL, "gpu 0 part 0 used 30"],
            {"used_mib": 0},
            "2 MIG instances use more than 0 MiB: GPU 0:0 30, GPU 0:2 700",
        ),
        (FULL, {"gpus": ["MIG-1002"], "used_percent": 1}, "MIG 0:2 uses 700 MiB, more than 163.84"),
        (FULL, {"baselines": {"0:2": 600}}, "MIG 0:2 uses 700 MiB, more than 616"),
        (DIVIDED, {"instances": 7}, "2 MIG instances, not 7: 0:0, 0:2"),
        (DIVIDED, {"gpus": ["0:1"]}, "GPU 0:1 is not there"),
        (DIVIDED, {"uuids": ["MIG-1000", "GPU-0000-1"]}, "MIG 0:2 (MIG-1002) is not one of those named"),
        (DIVIDED, {"uuids": ["MIG-1000", "MIG-1002"]}, "GPU 1 (0000:02:00.0) is not one of those named"),
        ([*DIVIDED, "gpu 0 part 2 memory 4"], {}, "unknown for GPU 0:2 (Insufficient Permissions)"),
        ([*DIVIDED, "gpu 0 part 2 memory 4", "gpu 1 memory 4"], {}, "unknown for GPU 0:2 and 1 (Insufficient"),
        (["count 1", "gpu 0 mig 1", "gpu 0 used 90"], {}, "GPU 0 uses 90 MiB, more than 16"),
    ],
)
def test_an_instance_that_is_not_empty_is_named(gpu_room, facts, arguments, message):
    gpu_room.nvml(*facts)
    result = assert_gpus(gpu_room, **arguments)
    assert (Status.FAILED, True) == (result.status, message in result.data["msg"]), result.data["msg"]


def test_only_the_holders_of_the_instance_in_trouble_are_named(gpu_room):
    pids = [gpu_room.act("--title", title, "--map", gpu_room.device(0), "4096")[0] for title in ("mine", "other")]
    gpu_room.nvml(*FULL, f"gpu 0 pids {pids[0]}:700:12,{pids[1]}:3:10")
    result = assert_gpus(gpu_room, used_mib=5)
    assert f"MIG 0:2 uses 700 MiB, more than 5; held by pid {pids[0]} mine (700 MiB)" == result.data["msg"]


def test_gpu_info_tells_each_instance_and_its_baseline(gpu_room):
    gpu_room.nvml(*FULL)
    data = run_step("gpu_info", {}, target=gpu_room).result.data
    kept = ("name", "uuid", "gpu_instance", "compute_instance", "profile", "used_mib", "total_mib")
    told = [{key: part[key] for key in kept} for part in data["gpus"][0]["instances"]]
    of_both = {"compute_instance": 0, "profile": "1g.18gb", "total_mib": 16384}
    first = {"name": "0:0", "uuid": "MIG-1000", "gpu_instance": 10, "used_mib": 3, **of_both}
    last = {"name": "0:2", "uuid": "MIG-1002", "gpu_instance": 12, "used_mib": 700, **of_both}
    assert [first, last] == told
    assert {"GPU-0000-0": 90, "MIG-1000": 3, "MIG-1002": 700, "GPU-0000-1": 0} == data["baselines"]


def test_each_instance_is_proved_by_itself(gpu_room):
    gpu_room.nvml(*DIVIDED)
    good = assert_gpus(gpu_room, prove="1GiB")
    gpu_room.nvml(*DIVIDED, "cuda MIG-1002 most 1000")
    bad = assert_gpus(gpu_room, prove="1GiB")
    assert ["MIG-1000", "MIG-1002", "GPU-0000-1"] == [each["uuid"] for each in good.data["proved"]]
    assert "MIG-1002: no 1024 MiB to be had: CUDA error 2 (out of memory)" == bad.data["msg"]
