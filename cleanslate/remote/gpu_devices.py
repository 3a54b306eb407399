"""Which processes use the GPUs' device files: who maps one holds memory, who merely has one open only watches.

Measured on an H200: a process that only called nvmlInit has nvidia0, nvidiactl and nvidia-uvm open exactly like
the one that holds 120 GiB; what differs is that the holder also maps the device. An open file counts when it is a
character device of one of NVIDIA's majors, or its path ends in /dev/nvidia*.
"""

import os
import re
import stat

from cleanslate.remote import processes

_PATH = re.compile(r"/dev/(nvidia[^/ ]*)(?: \(deleted\))?$")
_MAPPED = re.compile(rb"/dev/(nvidia[^/ \n]*)(?: \(deleted\))?$", re.MULTILINE)
_GPU = re.compile(r"nvidia(\d+)$")
_FIXED_MAJOR = 195


class Devices:
    """The GPU device files that a process has open and those that it maps, by name (`nvidia0`, `nvidia-uvm`)."""

    def __init__(self, opened, mapped):
        self.opened = opened
        self.mapped = mapped

    @property
    def any(self):
        """Whether it uses a GPU device at all."""
        return bool(self.opened or self.mapped)

    @property
    def holds(self):
        """Whether it maps a device of a GPU, or unified memory: it may hold memory there."""
        return any(_GPU.match(name) or name.startswith("nvidia-uvm") for name in self.mapped)

    @property
    def minors(self):
        """The numbers of the GPU devices that it maps; where it maps none by number, of those it has open."""
        return minors(self.mapped) or minors(self.opened)

    def tell(self):
        """Both lists as JSON types."""
        return {"open": sorted(self.opened), "mapped": sorted(self.mapped)}


def minors(names):
    """The N of each `nvidiaN`, sorted."""
    return sorted(int(met.group(1)) for met in map(_GPU.match, names) if met)


def used_by(process, majors=None):
    """The Devices of a process, or None when this user may not see them."""
    majors = device_majors() if majors is None else majors
    folder = "/proc/%d/fd" % process.pid
    try:
        entries = os.listdir(folder)
    except FileNotFoundError:
        return Devices(set(), set())
    except OSError:
        return Devices(set(), set()) if process.kernel or process.gone else None
    opened = {name for name in (_device(folder + "/" + entry, majors) for entry in entries) if name}
    raw = processes.read_memory_file(process.pid, "maps", process.state)
    if raw is None and process.state == "D":
        return Devices(opened, opened)  # it hangs with its memory locked: whatever it has open, it may hold
    if raw is None:
        return None if processes.look_again(process.key) else Devices(set(), set())
    return Devices(opened, {name.decode("utf-8", "replace") for name in _MAPPED.findall(raw)})


def device_majors():
    """The major numbers of NVIDIA's character devices here; all but 195 are given out at boot."""
    found = {_FIXED_MAJOR}
    for line in (processes.read_text("/proc/devices") or "").splitlines():
        words = line.split()
        if len(words) == 2 and words[0].isdigit() and words[1].startswith("nvidia"):
            found.add(int(words[0]))
    return found


def _device(link, majors):
    """The name of the GPU device that a descriptor means, or None."""
    try:
        path = os.readlink(link)
    except OSError:
        return None
    met = _PATH.search(path)
    if met:
        return met.group(1)
    if not path.startswith("/dev/") and "nvidia" not in path:
        return None
    try:
        info = os.stat(link)
    except OSError:
        return None
    if not stat.S_ISCHR(info.st_mode) or os.major(info.st_rdev) not in majors:
        return None
    return path.rsplit("/", 1)[-1]
