"""Tells whether a lab is up, in a few file reads: this is all that `up` pays when there is nothing to do."""

import os


def stat_fields(pid: int | str) -> list[str] | None:
    """The fields of /proc/PID/stat from the third on (state, ppid, ...), or None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - pathlib costs more than the whole answer
            return file.read().rpartition(b")")[2].decode().split()
    except OSError:
        return None


def start_of(pid: int | str) -> str | None:
    """When a process started, in clock ticks since boot; None when it is gone or only waits to be reaped."""
    fields = stat_fields(pid)
    return fields[19] if fields and fields[0] not in "ZX" else None


def process_ids() -> list[int]:
    """The pids of all processes that can be seen from here."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]  # noqa: PTH208 - as above


def boot_id() -> str:
    """The kernel's id of this boot."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:  # noqa: PTH123 - as above
        return file.read().strip()


def running_pid(root: str) -> int | None:
    """The pid of the process that carries the lab in a folder, or None when that lab is not up.

    A pid alone is not believed: the start time and the boot must be those that were written down.
    """
    try:
        with open(os.path.join(root, "lab.pid"), encoding="ascii") as file:  # noqa: PTH118, PTH123 - as above
            pid, start, boot = file.read().split()
        return int(pid) if start == start_of(pid) and boot == boot_id() else None
    except (OSError, ValueError):
        return None
