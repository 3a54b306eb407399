"""What the kernel's driver says of itself: its version, and whether its device files can be opened from here."""

import errno
import glob
import os
import re
import stat

from cleanslate.remote import probe, processes

_VERSION = re.compile(r"Kernel Module\s+(?:for \S+\s+)?(\d+\.\d+(?:\.\d+)?)")
_PROC = "/proc/driver/nvidia/version"


def kernel_version():
    """The version of the loaded kernel module, or None."""
    met = _VERSION.search(processes.read_text(_PROC) or "")
    return met.group(1) if met else None


def versions_words(reading):
    """`: kernel 580.95.05, library 580.159.04`, as far as both are known."""
    kernel = kernel_version()
    library = (reading.get("library") or {}).get("version")
    words = [name for name in (kernel and "kernel " + kernel, library and "library " + library) if name]
    return " (%s)" % ", ".join(words) if words else ""


def nodes(call, seconds=10.0, pattern="/dev/nvidia*"):
    """Each device file: {path, mode, owner, opens, why}. They are opened in a child: even that may never return."""
    paths = sorted(path for path in glob.glob(pattern) if not os.path.isdir(path))
    found = []
    with probe.Probe(call, lambda say: [say(_node(path)) for path in paths]) as child:
        try:
            for _ in paths:
                found.append(child.next(seconds))  # noqa: PERF401 - a failure keeps what came before it
        except (probe.Hung, probe.Ended):
            found.append({"path": paths[len(found)], "mode": None, "owner": None, "opens": None, "why": "no answer"})
    return found


def _node(path):
    info = os.stat(path)
    told = {"path": path, "mode": "%04o" % stat.S_IMODE(info.st_mode), "owner": "%d:%d" % (info.st_uid, info.st_gid)}
    try:
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        told.update({"opens": True, "why": None})
    except OSError as error:
        # EPERM in spite of the mode is the container's device rule, ENXIO a node without a driver behind it
        hint = {errno.EPERM: "refused by the container's device rules", errno.ENXIO: "no driver behind it"}
        told.update({"opens": False, "why": hint.get(error.errno, error.strerror)})
    return told
