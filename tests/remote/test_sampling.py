"""GPU memory over time: told when it changes, and now and then; what could not be read is told as that."""

from __future__ import annotations

import pytest

from tests.room.fixtures import actor, gpu_room, libraries, standing_rooms  # noqa: F401 - fixtures

TOTAL = 143771


def follow(room, seconds, on_progress=None, **arguments):
    """What is told within some seconds."""
    given = {"period": 0.05, "at_least": 10.0, "source": "nvml", **arguments}
    room.call("sampling.follow", given, deadline=seconds, read_only=True, on_progress=on_progress)
    return [dict(told) for told in room.progress]


@pytest.mark.slow
def test_it_is_told_when_something_changes_and_not_each_time(gpu_room):  # noqa: F811 - a fixture
    def change(_):
        gpu_room.nvml("count 2", "gpu 1 used 700")

    gpu_room.nvml("count 2", "gpu 0 used 0", "gpu 1 used 5")
    told = follow(gpu_room, 1.0, change)
    assert [[0, 5], [0, 700]] == [[gpu["used_mib"] for gpu in one["gpus"]] for one in told]
    assert [None, None] == [one["failed"] for one in told]
    assert all(gpu["uuid"] and gpu["total_mib"] for gpu in told[0]["gpus"])


def test_where_nothing_changes_it_is_told_now_and_then(gpu_room):  # noqa: F811 - a fixture
    assert 3 <= len(follow(gpu_room, 1.2, at_least=0.3)) <= 5


def test_a_memory_that_is_not_known_is_no_zero(gpu_room):  # noqa: F811 - a fixture
    gpu_room.nvml("count 1", "gpu 0 memory 3")
    (told,) = follow(gpu_room, 0.4)
    assert [None] == [gpu["used_mib"] for gpu in told["gpus"]]


@pytest.mark.slow
def test_a_driver_that_hangs_is_told_and_asked_no_more_for_a_while(gpu_room):  # noqa: F811 - a fixture
    gpu_room.nvml("count 1", "gpu 0 hang 1")
    told = follow(gpu_room, 1.5, first=0.3)
    assert [([], True)] == [(one["gpus"], "does not answer" in one["failed"]) for one in told]


def test_a_machine_without_gpus_is_not_asked(gpu_room):  # noqa: F811 - a fixture
    gpu_room.smi()
    assert {"gpus": True} == gpu_room.call("presence.gpus", {}, deadline=5, read_only=True).values
