"""Who maps a GPU's device holds memory, who has it open watches; told from real processes' files."""

import os
import time
from pathlib import Path

import pytest

from cleanslate.remote import gpu_devices, gpu_reading, smi
from cleanslate.remote.gpu_holders import Holders


@pytest.fixture
def look(room):
    """The devices that an actor uses, as the room sees them."""

    def look(*options):
        pid = room.act(*options)[0]
        found = room.call("gpus.read", {"holders": True}, deadline=20, read_only=True)["holders"]
        return next((each for each in found if each["pid"] == pid), None)

    return look


def test_open_is_watching_and_mapped_is_holding(room, look):
    room.smi(count=8)
    watcher = look("--open", room.device(0), "--open", room.device("ctl"), "--open", room.device("-uvm"))
    holder = look("--open", room.device("ctl"), "--map", room.device(6), "4096")
    assert (False, [], {"open": ["nvidia-uvm", "nvidia0", "nvidiactl"], "mapped": []}) == (
        watcher["holds"],
        watcher["gpus"],
        watcher["devices"],
    )
    assert (True, [6], ["nvidia6"]) == (holder["holds"], holder["gpus"], holder["devices"]["mapped"])


def test_a_device_file_that_was_deleted_meanwhile_counts(room, look):
    """After a driver upgrade the old node is gone and its holder is not."""
    room.smi(count=8)
    device = room.device(7)
    pid = room.act("--map", device, "4096")[0]
    device.unlink()
    found = room.call("gpus.read", {"holders": True}, deadline=20, read_only=True)["holders"]
    assert [(pid, [7])] == [(each["pid"], each["gpus"]) for each in found]


def test_files_that_only_sound_like_a_gpu_do_not_count(room, look, tmp_path):
    room.smi(count=8)
    notes = tmp_path / "nvidia0"
    notes.write_text("no device\n")
    assert None is look("--open", notes)


def test_a_character_device_of_nvidias_major_counts_wherever_it_lies():
    """Containers mount single nodes under names of their own; the major number tells."""
    with Path(os.devnull).open() as null:
        link = f"/proc/self/fd/{null.fileno()}"
        majors = {os.major(Path(os.devnull).stat().st_rdev)}
        assert ("null", None) == (gpu_devices._device(link, majors), gpu_devices._device(link, {195}))


def test_the_devices_number_is_not_always_the_gpus_index(gpu_room):
    gpu_room.nvml("count 2", "gpu 0 minor 1", "gpu 1 minor 0")
    pid = gpu_room.act("--map", gpu_room.device(1), "4096")[0]
    found = gpu_room.call("gpus.read", {"holders": True}, deadline=20, read_only=True)["holders"]
    assert [(pid, [0])] == [(each["pid"], each["gpus"]) for each in found]


def test_of_the_gpus_that_a_process_maps_those_count_on_which_the_driver_says_it_has_memory(gpu_room):
    """CUDA maps every GPU that it could use: seen on a machine with two, where each worker had memory on one."""
    pid = gpu_room.act("--map", gpu_room.device(0), "4096", "--map", gpu_room.device(1), "4096")[0]
    gpu_room.nvml("count 2", f"gpu 1 pids {pid}:100")
    found = gpu_room.call("gpus.read", {"holders": True}, deadline=20, read_only=True)["holders"]
    assert [(pid, [1])] == [(each["pid"], each["gpus"]) for each in found]


def test_a_zombie_holds_nothing(room):
    room.smi(count=8)
    pids = room.act("--map", room.device(0), "4096", "--zombie", tells=2)
    time.sleep(0.01)
    found = room.call("gpus.read", {"holders": True}, deadline=20, read_only=True)["holders"]
    assert 1 == len([each for each in found if each["pid"] in pids])


def test_process_names_with_commas_are_the_workloads_own():
    listed = smi.parse_apps("GPU-1, 77, 1024, python, --weird, name\nGPU-1, 78, [N/A], x\n\n")
    assert [(77, 1024, "python, --weird, name"), (78, None, "x")] == [
        (each["pid"], each["used_mib"], each["name"]) for each in listed
    ]


@pytest.mark.parametrize("text", ["GPU-1, seven, 1024, python\n", "GPU-1, 77\n"])
def test_a_line_that_is_no_process_is_a_failed_query(text):
    with pytest.raises(smi.Failure):
        smi.parse_apps(text)


def coherent(used, **more):
    gpu = {"index": 0, "uuid": "GPU-1", "bus_id": None, "coherent": True, "failed": None, "unknown": None, **more}
    return {"failed": None, "gpus": [{**gpu, "used_mib": used, "total_mib": 97871}]}


@pytest.mark.parametrize(
    ("used", "held", "kinds"),
    [
        (500, {0: False}, []),
        (0, {0: True}, ["memory"]),
        (None, {0: False}, []),
        (0, {}, ["unknown"]),
    ],
)
def test_on_a_machine_with_one_memory_the_holders_decide(used, held, kinds):
    """On Grace-class parts pages stay after a process has ended, so a number says nothing."""
    found = gpu_reading.judge(coherent(used), gpu_reading.Wanted(used_mib=0), held)
    assert kinds == [problem["kind"] for problem in found]


def test_a_reading_without_gpus_finds_everybodys_devices_by_number(room):
    """The driver is silent; /dev/nvidia3 is still GPU 3."""
    pid = room.act("--map", room.device(3), "4096")[0]
    plan = room.call("holders.plan", {"scope": "host", "gpus": ["3"]}, deadline=20, read_only=True)
    assert [pid] == [each["pid"] for each in plan["release"]]


@pytest.mark.parametrize(
    ("bus_id", "plain"),
    [
        ("00000000:01:00.0", "0000:01:00.0"),
        ("0000:C1:00.0", "0000:c1:00.0"),
        ("00000001:0A:00.0", "0001:0a:00.0"),
        ("10000000:01:00.0", "10000000:01:00.0"),
    ],
)
def test_bus_ids_compare_whoever_wrote_them(bus_id, plain):
    assert plain == gpu_reading.plain_bus_id(bus_id)


def test_nobody_is_missing_only_when_all_were_seen_or_the_driver_lists_them():
    class Seen(Holders):
        def __init__(self, blind, lists, strangers):
            self.blind, self.driver_lists, self.strangers = blind, lists, strangers

    cases = [([], False, []), (["x"], False, []), (["x"], True, []), (["x"], True, [77])]
    assert [True, False, True, False] == [Seen(*case).all_seen for case in cases]
