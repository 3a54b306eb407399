"""Calls for the tests of connections, sent to targets like those of the package."""

import hashlib
import os
import subprocess
import time
from pathlib import Path

from cleanslate.remote.registry import Failed, changes, reads


@reads
def echo(call, **values):
    return values


@reads
def refuse(call, kind, message, **details):
    raise Failed(kind, message, **details)


@reads
def stumble(call):
    return 1 / 0


@changes
def change(call, path):
    with Path(path).open("a") as file:
        file.write("changed\n")
    return {}


@reads
def where(call):
    return {"pid": os.getpid(), "uid": os.getuid(), "argv": " ".join(os.sys.argv), "environ": dict(os.environ)}


@reads
def wait(call, seconds, every=0.02):
    """Tell progress until the time is over; ends early when it is cancelled."""
    until = time.monotonic() + seconds
    count = 0
    while time.monotonic() < until:
        if call.cancelled.wait(every):
            raise Failed("wrong", f"noticed after {count} reports")
        count += 1
        call.progress(count=count)
    return {"count": count}


@reads
def doze(call, seconds):
    """Never looks whether it was cancelled."""
    time.sleep(seconds)
    return {}


@changes
def own(call, argv, pid_file):
    """Start a process of this call's, in its own group, and wait for it."""
    process = subprocess.Popen(argv, start_new_session=True)
    call.own(process)
    Path(pid_file).write_text(str(process.pid))
    return {"rc": process.wait()}


@reads
def swallow(call, pause=0.0):
    """Read all that was sent along, piece by piece."""
    size, digest = 0, hashlib.sha256()
    while True:
        data = call.blob.read(100000)
        if not data:
            return {"size": size, "sha256": digest.hexdigest(), "peak": _peak()}
        size += len(data)
        digest.update(data)
        time.sleep(pause)


@reads
def ignore(call):
    """Answer without reading what was sent along."""
    return {"ignored": True}


@reads
def pour(call, size):
    return {"size": size}, _Zeros(size)


@reads
def give(call, text):
    return {}, text.encode()


@reads
def peak(call):
    return {"peak": _peak()}


def _peak():
    """The most memory that this process has used, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


class _Zeros:
    """A file of zeros."""

    def __init__(self, size):
        self.left = size
        self.closed = False

    def read(self, size):
        size = min(size, self.left)
        self.left -= size
        return bytes(size)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed = True


@changes
def run_here(call, code):
    """Run Python code in the agent."""
    exec(code)
    return {}
