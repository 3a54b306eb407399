"""Signs of life of a server that says nothing: CPU time, bytes read, GPU memory; and who of it is there.

Loading from slow storage, compiling kernels and capturing graphs can be silent for minutes; a hang is silent too.
What tells them apart is whether anything is used or moved meanwhile.
"""

import os
import re
import threading
import time

from cleanslate.remote import gpu_devices, gpu_sources, processes

BUSY = 0.05  # of one core, by any single process of it: a sleeping server's timers stay below
_READ = 1 << 20  # bytes a look
_GPU_STEP = 8  # MiB
_LOOK = 1.0
_DEVICES = 10.0
_TICKS = os.sysconf("SC_CLK_TCK")


def members(state, table):
    """The processes of a launched server: its group, its session, and all below it or its keeper, zombies left out."""
    first, start = state["pid"], state.get("start")
    leader = table.get(first)
    roots = [first] if leader is not None and leader.start == start else []
    keeper = state.get("keeper") or {}
    kept = table.get(keeper.get("pid"))
    if kept is not None and kept.start == keeper.get("start"):
        roots.append(kept.pid)
    mine = set(processes.descendants(roots, table)) | ({first} if roots and first in table else set())
    if leader is None or leader.start == start:
        mine |= {each.pid for each in table.values() if first in (each.pgid, each.sid)}
    mine -= {keeper.get("pid")}
    return [table[pid] for pid in sorted(mine) if pid in table and not table[pid].gone]


class Vitals:
    """Looks at a launched server once a second. `active_at` is when it last used or moved anything."""

    def __init__(self, state, workers=None):
        self.state = state
        self.pattern = re.compile(workers) if workers else None
        self.active_at = time.monotonic()
        self.cores = 0.0
        self.why = None
        self.found = []
        self.workers = {}
        self.vanished = {}
        self._ticks = {}
        self._read = {}
        self._looked = None
        self.minors = None
        self._minors_at = None

    def look(self, now, always=False):
        """Look again, if a second has passed; gives whether it did."""
        if self._looked is not None and now - self._looked < _LOOK and not always:
            return False
        passed = now - self._looked if self._looked is not None else None
        table = processes.table()
        self.found = members(self.state, table)
        self._count_workers(now)
        rates = self._rates(passed)
        self.cores = round(sum(rates), 2)
        if passed and max(rates, default=0) >= BUSY:
            self._active(now, "CPU")
        if passed and self._has_read() >= _READ:
            self._active(now, "reading")
        self._look_at_devices(now)
        self._looked = now
        return True

    def _look_at_devices(self, now):
        """Which GPUs are its own, by the device files that it maps: others' work on the rest is no sign of life."""
        if self._minors_at is not None and now - self._minors_at < _DEVICES:
            return
        self._minors_at = now
        majors = gpu_devices.device_majors()
        used = [gpu_devices.used_by(each, majors) for each in self.found]
        self.minors = None if None in used else {number for each in used for number in each.minors}

    def _active(self, now, why):
        self.active_at, self.why = now, why

    def moved(self, now):
        """Note a sign of life that somebody else saw."""
        self._active(now, "GPU memory")

    def _rates(self, passed):
        """Cores used by each process since the last look; one that is new counts with all it has used."""
        now = {each.key: each.ticks for each in self.found}
        used = [ticks - self._ticks.get(key, 0) for key, ticks in now.items()]
        self._ticks = now
        return [ticks / _TICKS / passed for ticks in used] if passed else []

    def _has_read(self):
        now = {}
        for each in self.found:
            text = processes.read_text("/proc/%d/io" % each.pid) or ""
            met = re.search(r"^read_bytes: (\d+)", text, re.MULTILINE)
            now[each.key] = int(met.group(1)) if met else 0
        grown = sum(value - self._read.get(key, 0) for key, value in now.items())
        known, self._read = bool(self._read), now
        return grown if known else 0

    def _count_workers(self, now):
        if self.pattern is None:
            return
        there = {each.key: each.title for each in self.found if self.pattern.match(each.title.lstrip("["))}
        for key, title in self.workers.items():
            if key not in there:
                self.vanished.setdefault(key, (title, now))
        self.workers.update(there)

    @property
    def living_workers(self):
        """How many workers there are now."""
        return len(self.workers) - len(self.vanished)

    def dead_worker(self, now, patience=2.0):
        """(pid, title) of a worker that has been gone for a while, or None."""
        for key, (title, since) in self.vanished.items():
            if now - since >= patience:
                return key[0], title
        return None

    def tell(self):
        """What it is made of, as [{pid, start, title, state, state_words, cpu_seconds}]."""
        return [
            {
                "pid": each.pid,
                "start": each.start,
                "title": each.title[:120],
                "state": each.state,
                "state_words": processes.state_words(each.state),
                "cpu_seconds": round(each.ticks / _TICKS, 2),
            }
            for each in self.found
        ]


class GpuWatch(threading.Thread):
    """Reads the GPUs' memory in the background, since a driver may take its time; `used` is MiB in all, or None.

    vitals: knows which GPUs are the server's; where it does not, or it has none yet, all of them count.
    """

    def __init__(self, call, vitals):
        super().__init__(daemon=True)
        self.call = call
        self.vitals = vitals
        self.used = None
        self.changed_at = None
        self.trouble = None
        self._which = None
        self.ended = threading.Event()

    def run(self):
        """Read until stopped. Whatever goes wrong here is one sign of life less, and the wait goes on."""
        try:
            with gpu_sources.Source(self.call) as source:
                self._read(source)
        except Exception as error:  # noqa: BLE001 - drivers fail in many ways, and none may end the wait
            self.trouble = "%s: %s" % (type(error).__name__, error)

    def _read(self, source):
        """Read every two seconds, until there is no sign of a driver."""
        while not self.ended.is_set() and not self.call.cancelled.is_set():
            reading = source.read()
            if reading["failed"] or not reading["gpus"]:
                return
            own = self.vitals.minors
            counted = [gpu for gpu in reading["gpus"] if not own or gpu.get("minor") in own or gpu.get("minor") is None]
            self._take(tuple(gpu["index"] for gpu in counted), sum(gpu["used_mib"] or 0 for gpu in counted))
            self.ended.wait(2.0)

    def _take(self, which, used):
        if which == self._which and abs(used - self.used) >= _GPU_STEP:
            self.changed_at = time.monotonic()
        self._which, self.used = which, used

    def stop(self):
        """End it; a driver that hangs is not waited for."""
        self.ended.set()
        self.join(0.5)
