"""What the kernel log says of the GPUs' health: Xid errors, "fallen off the bus", a driver that does not fit."""

import os
import time

from cleanslate.remote import gpu_faults
from cleanslate.remote.gpu_reading import plain_bus_id

KERNEL_LOG = "/dev/kmsg"
_RECORD = 8192
_MOST = 20000


def signs(seconds=3600.0, path=KERNEL_LOG):
    """{readable, signs: [{bus_id, xid, text, kind, ago}]} of the last so many seconds, the newest last.

    Inside a container, and for a user who is not root, the log is mostly not readable: that is no good news.
    """
    try:
        lines = _kernel_messages(path)
    except OSError as error:
        return {"readable": False, "why": error.strerror, "signs": []}
    now = time.clock_gettime(time.CLOCK_MONOTONIC)
    found = []
    for at, text in lines:
        met = gpu_faults.sign(text)
        if met is None or (at is not None and now - at > seconds):
            continue
        met["ago"] = None if at is None else round(now - at, 1)
        met["bus_id"] = _bus_id(met["bus_id"])
        found.append(met)
    return {"readable": True, "why": None, "signs": found}


def _bus_id(text):
    """`0000:01:00` of an Xid line, as bus ids are compared; None stays None."""
    if not text:
        return None
    return plain_bus_id(text if "." in text else text + ".0")


def _kernel_messages(path):
    """(seconds since boot or None, text) of each message. /dev/kmsg gives one record a read, and never an end."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    found = []
    rest = b""
    try:
        while len(found) < _MOST:
            try:
                read = os.read(handle, _RECORD)
            except BlockingIOError:
                break
            except BrokenPipeError:
                continue  # overwritten while we read: the next read goes on behind it
            if not read:
                break
            # a record is whole lines; of an ordinary log file a read may end within a line
            *lines, rest = (rest + read).split(b"\n")
            found += [_message(line.decode("utf-8", "replace")) for line in lines if line and not line.startswith(b" ")]
    finally:
        os.close(handle)
    return found


def _message(line):
    """`6,339,5140900,-;text` of /dev/kmsg; any other line is text without a time."""
    head, separator, text = line.partition(";")
    words = head.split(",")
    if not separator or len(words) < 3 or not words[2].isdigit():
        return None, line
    return int(words[2]) / 1e6, text
