"""What NVML's codes, nvidia-smi's words and the kernel log's lines mean."""

import time

import pytest

from cleanslate.remote import gpu_faults, gpu_log


@pytest.mark.parametrize(
    ("code", "kind", "verdict"),
    [
        (3, "unsupported", None),
        (4, "permission", None),
        (9, "no_driver", "broken"),
        (12, "missing", None),
        (15, "lost", "wedged"),
        (16, "reset_required", "wedged"),
        (17, "blocked", "broken"),
        (18, "mismatch", "broken"),
        (999, "unknown_error", None),
        (77, "query", None),
    ],
)
def test_return_codes_have_their_verdict(code, kind, verdict):
    found = gpu_faults.of_nvml(code, "")
    assert (kind, verdict) == (found["kind"], found["verdict"])


@pytest.mark.parametrize(
    ("code", "text", "kind"),
    [
        (255, "Failed to initialize NVML: Unknown Error", "unknown_error"),
        (1, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.1", "mismatch"),
        (9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "no_driver"),
        (1, "Unable to determine the device handle for GPU0: 0000:41:00.0: GPU is lost.", "lost"),
        (4, "Failed to initialize NVML: Insufficient Permissions", "permission"),
        (15, "", "lost"),
        (3, "Invalid combination of input arguments.", "unsupported"),
        (2, "Something new", "query"),
    ],
)
def test_nvidia_smis_words_win_over_its_exit_code(code, text, kind):
    assert kind == gpu_faults.of_smi(code, text)["kind"]


@pytest.mark.parametrize(
    ("line", "bus_id", "xid", "kind"),
    [
        ("NVRM: Xid (PCI:0000:01:00): 79, pid=12, GPU has fallen off the bus.", "0000:01:00", 79, "lost"),
        (
            "NVRM: Xid (PCI:0000:c1:00): 119, pid=7, Timeout after 6s of waiting for RPC",
            "0000:c1:00",
            119,
            "reset_required",
        ),
        ("NVRM: Xid (0000:01:00): 48, An uncorrectable double bit error", "0000:01:00", 48, "reset_required"),
        (
            "NVRM: Xid (PCI:0000:01:00): 154, recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
            "0000:01:00",
            154,
            "reboot_required",
        ),
        (
            "NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
            "0000:01:00",
            154,
            "reset_required",
        ),
        (
            "NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
            "0000:01:00",
            154,
            None,
        ),
        ("NVRM: GPU at PCI:0000:01:00: GPU-1234 has fallen off the bus and is not responding", None, None, "lost"),
        ("NVRM: API mismatch: the client has the version 580.1, but this kernel module", None, None, "mismatch"),
        ("NVRM: GPU 0000:41:00.0: RmInitAdapter failed! (0x22:0x56:631)", None, None, None),
    ],
)
def test_lines_of_the_kernel_log_are_signs(line, bus_id, xid, kind):
    found = gpu_faults.sign(line)
    assert (bus_id, xid, kind) == (found["bus_id"], found["xid"], found["kind"])


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: Xid (PCI:0000:01:00): 45, pid=99, Ch 00000010",
        "NVRM: Xid (PCI:0000:01:00): 31, pid=99, MMU Fault",
        "usb 1-1: device has fallen off the bus",
        "eth0: link up",
        "",
    ],
)
def test_a_killed_program_and_other_devices_are_none(line):
    """Xid 45 follows every KILL of a CUDA program."""
    assert None is gpu_faults.sign(line)


def test_old_lines_of_the_kernel_ring_are_left_out(tmp_path):
    now = time.clock_gettime(time.CLOCK_MONOTONIC)
    text = "NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus."
    lines = [f"3,{number},{int((now - ago) * 1e6)},-;{text}\n SUBSYSTEM=pci\n" for number, ago in enumerate((900, 20))]
    log = tmp_path / "kmsg"
    log.write_text("".join(lines))
    assert [1, 2] == [len(gpu_log.signs(seconds, str(log))["signs"]) for seconds in (600, 1000)]
    assert ["0000:01:00.0"] == [sign["bus_id"] for sign in gpu_log.signs(600, str(log))["signs"]]


def test_a_log_longer_than_one_read_is_read_whole(tmp_path):
    log = tmp_path / "kern.log"
    log.write_text("nothing of interest here\n" * 5000 + "NVRM: Xid (PCI:0000:01:00): 79, gone\n")
    assert 1 == len(gpu_log.signs(3600, str(log))["signs"])


def test_a_log_that_may_not_be_read_is_no_good_news(tmp_path):
    found = gpu_log.signs(3600, str(tmp_path / "none"))
    assert (False, "No such file or directory") == (found["readable"], found["why"])
