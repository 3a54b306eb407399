"""A child that talks to the GPU driver, so that whoever waits for it never hangs with it.

A driver in trouble does not answer, and the process that asked cannot be killed any more (leptonai/gpud PR#117,
NVIDIA/open-gpu-kernel-modules#1333). So no call of ours touches the driver itself: a forked child does, tells what it
sees as lines of JSON, and is given up when it is silent for too long. While one that was given up still hangs, no
other is started on this machine, by this run or by any other.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import time
import warnings

from cleanslate.remote import processes
from cleanslate.remote.protection import PROBE
from cleanslate.remote.registry import Failed

_SLICE = 0.05
_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
_NAMES = (PROBE, "nvidia-smi")


class Hung(Exception):
    """The child did not answer in time; it was given up."""


class Ended(Exception):
    """The child ended without a further answer."""


class Probe:
    """One such child: `work(say)` runs in it, `say(dict)` tells something. Also a context manager."""

    def __init__(self, call, work):
        self.call = call
        self._buffer = b""
        self._from, to = os.pipe()
        self.parent = os.getpid()
        with warnings.catch_warnings():
            # Python 3.12 warns of threads and fork; the child runs our few lines only and never returns.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            self._be_child(work, to)
        os.close(to)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.end()

    def next(self, seconds):
        """The child's next words. Raises Hung, Ended, or Failed when the call was cancelled."""
        until = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            left = until - time.monotonic()
            check_cancelled(self.call)
            if left <= 0:
                raise Hung("no answer within %g s" % seconds)
            if not select.select([self._from], [], [], min(left, _SLICE))[0]:
                continue
            read = os.read(self._from, 1 << 16)
            if not read:
                raise Ended()
            self._buffer += read
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line.decode("utf-8"))

    def latest(self, seconds):
        """The newest words that are there, waiting for some if there are none."""
        found = self.next(seconds)
        while b"\n" in self._buffer:
            found = self.next(seconds)
        return found

    def end(self):
        """End the child; gives False when it cannot be ended (then it is left to itself)."""
        if self.pid is None:
            return True
        os.close(self._from)
        pid, self.pid = self.pid, None
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)  # our own child, not reaped yet: the pid is certainly its
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG)[0] == 0:
                    time.sleep(0.002)
                    continue
            return True
        return False

    def _be_child(self, work, to):
        """Everything that happens in the child, up to its end."""
        code = 1
        try:
            _detach(to)
            library = ctypes.CDLL(None)
            library.prctl(_PR_SET_NAME, PROBE.encode("ascii"))
            library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == self.parent:
                work(lambda what: _say(0, what))
                code = 0
        finally:
            os._exit(code)


def _detach(to):
    """Keep nothing of the parent's but the pipe: a child that hangs for ever must not hold a connection open."""
    os.dup2(to, 0)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.closerange(3, max(int(name) for name in os.listdir("/proc/self/fd")) + 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


def _say(to, what):
    data = json.dumps(what).encode("utf-8") + b"\n"
    while data:
        data = data[os.write(to, data) :]


def check_cancelled(call):
    """Raise Failed when the call was cancelled."""
    if call.cancelled.is_set():
        raise Failed("cancelled", "the call was cancelled while the GPUs were being asked")


def stuck():
    """A GPU probe or nvidia-smi, anybody's, that was killed and cannot die: {pid, title, ...}, or None."""
    if not _killed_and_there():
        return None
    time.sleep(0.3)  # what is merely dying is gone by now
    found = _killed_and_there()
    return dict(found[0].tell(), wchan=processes.read_text("/proc/%d/wchan" % found[0].pid)) if found else None


def _killed_and_there():
    return [
        process
        for process in processes.table().values()
        if process.comm in _NAMES and process.state == "D" and process.kill_pending
    ]
