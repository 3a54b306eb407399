"""A call under way in the agent: its deadline, what is sent along with it, and the processes that it owns."""

import io
import os
import time

from cleanslate.remote.locks import Condition
from cleanslate.remote.registry import Call, Failed

CHUNK = 262144  # bytes of bulk data in one frame
WINDOW = 2097152  # bytes of one call's blob that may be on their way or waiting
GRACE = 2.0  # seconds from TERM to KILL


def signal_group(process, number):
    """Signal the process group that a Popen leads; whether there was one."""
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def group_lives(process):
    """Whether anything in a Popen's process group still runs; what has ended and only waits for its parent does not."""
    if process.poll() is None:
        return True
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdigit():
            try:
                with open("/proc/" + name + "/stat") as file:
                    state, _, group = file.read().rpartition(")")[2].split()[:3]
            except (OSError, ValueError):
                continue
            if group == str(process.pid) and state not in "ZX":
                return True
    return False


class Blob:
    """What is sent along with a call, as a file to read from; asks for more as it is read."""

    def __init__(self, call, size):
        self.size = size
        self._call = call
        self._ready = Condition()
        self._pieces = []
        self._ended = False
        self._owed = 0  # bytes read for which no credit was given yet

    def feed(self, data):
        """Add what came in (the reader's side)."""
        with self._ready:
            self._pieces.append(data)
            self._ready.notify_all()

    def finish(self):
        """No more will come; wakes a reader, also one that was cancelled."""
        with self._ready:
            self._ended = True
            self._ready.notify_all()

    def read(self, size=-1):
        """Give up to `size` bytes, waiting for at least one; everything when negative; nothing at the end."""
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(CHUNK), b""))
        with self._ready:
            while not self._pieces and not self._ended:
                self._ready.wait()
            if self._call.reason:
                raise Failed(self._call.reason, "the call was ended while it was being sent its data")
            data = self._pieces.pop(0) if self._pieces else b""
            if len(data) > size:
                self._pieces.insert(0, data[size:])
                data = data[:size]
            self._owed += len(data)
            credit, self._owed = (self._owed, 0) if self._owed >= WINDOW // 4 else (0, self._owed)
        if credit:
            self._call.agent.send({"id": self._call.id, "credit": credit})
        return data


class CallUnderWay(Call):
    """A call that runs in its own thread. `reason` says why it was ended early: `deadline`, `cancelled` or `lost`."""

    def __init__(self, agent, header, data):
        super().__init__(left=header["left"])
        self.agent = agent
        self.id = header["id"]
        self.deadline = time.monotonic() + header["left"]
        self.reason = None
        self.owned = []
        self.signalled = False  # something it owned was ended by us, so what it returns is not what was asked for
        self.next_look = self.deadline  # when the watcher has something to do
        self.looks = 0
        if header["blob"] == "whole":
            self.blob = io.BytesIO(data)
        elif header["blob"] is not None:
            self.blob = Blob(self, header["blob"])

    def left(self):
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()

    def progress(self, **facts):
        """Send what is seen now to the controller."""
        self.agent.send({"id": self.id, "progress": facts})

    def part(self, name):
        """What was sent before."""
        return self.agent.sources[name]

    def own(self, process):
        """Keep a Popen in mind; one that comes after the end is ended at once."""
        self.owned.append(process)
        if self.reason:
            self._terminate(process)

    def stop(self, reason):
        """Ask the call to end: it is told, and what it owns gets TERM."""
        self.reason = reason
        self.cancelled.set()
        if isinstance(self.blob, Blob):
            self.blob.finish()
        for process in self.owned:
            self._terminate(process)

    def _terminate(self, process):
        if process.poll() is None:
            self.signalled = signal_group(process, 15) or self.signalled

    def end_groups(self):
        """Wait until no process group is left of what a stopped call owned; KILL after the grace."""
        give_up = time.monotonic() + GRACE
        for process in self.owned:
            while group_lives(process):
                if time.monotonic() > give_up:
                    signal_group(process, 9)
                    break
                time.sleep(0.02)
