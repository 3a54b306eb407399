"""Ends processes the careful way: TERM to the main ones, TERM to the rest, KILL, until nothing of them is left.

What counts is gone, not signalled: /proc no longer has that pid with that start time, or it is a zombie (which holds
no memory). While they die they are looked for again and again, because dying servers fork.
"""

import signal
import time

from cleanslate.remote import gpu_devices, processes, protection, signals
from cleanslate.remote.registry import Failed

_TICK = 0.01
_RESCAN = 0.05
_TELL = 0.5
_REST_GRACE = 5.0
_ROUNDS_OF_RESPAWN = 10


class Ladder:
    """One taking-down. `find(known)` gives [(process, why)] of what belongs to it now; `known` are all keys so far."""

    def __init__(self, call, found, mains, find):
        self.call = call
        self.find = find
        self.mains = set(mains)
        self.records = {}
        self.waiting = set()
        self.denied = set()
        self.respawner = None
        self.began = time.monotonic()
        self._scan_again = self._told = 0.0
        self._phase = ""
        for process, why in found:
            self._take(process, why)

    def run(self, graceful, grace, kill_within, kill=True):
        """Climb it. Gives the records, in the order in which the processes were found."""
        if graceful and grace > 0:
            self._phase = "TERM to the main process"
            self._signal(self.mains & self.waiting, signal.SIGTERM)
            self._wait(grace, lambda: self.mains & self.waiting)
            self._rescan(always=True)
            # Whoever lets the whole grace pass is stuck, and so is mostly the rest of it.
            self._rest(min(_REST_GRACE, grace / 4 if self.mains & self.waiting else grace))
        if kill:
            self._phase = "KILL"
            self._kill(kill_within)
        return [self.records[key] for key in self.records]

    def _rest(self, grace):
        """TERM to all but the main processes: their drain is over, or their time for it is."""
        rest = self.waiting - self.mains
        if rest:
            self._phase = "TERM to the rest of it"
            self._signal(rest, signal.SIGTERM)
            self._wait(grace, lambda: self.waiting)

    def _take(self, process, why):
        entry = process.tell()
        entry.update({"why": why, "how": None, "ended": None, "seconds": None, "main": process.key in self.mains})
        self.records[process.key] = entry
        self.waiting.add(process.key)

    def _signal(self, keys, number):
        for key in sorted(keys):
            answer = signals.send(key, number)
            if answer == "denied":
                self.denied.add(key)
            elif answer == "sent":
                self.records[key]["how"] = signals.name(number)
                if number == signal.SIGTERM and self.records[key]["state"] in ("T", "t"):
                    signals.send(key, signal.SIGCONT)  # a stopped process cannot obey

    def _wait(self, seconds, left):
        """Wait until `left()` is empty or the seconds are over."""
        until = time.monotonic() + seconds
        while self._reap() and left() and time.monotonic() < until:
            self._rescan()
            self._tell(until)
            self._pause()

    def _kill(self, seconds):
        """KILL whatever is left and whatever still appears, until a look around finds nothing new."""
        until = time.monotonic() + seconds
        self._signal(self.waiting, signal.SIGKILL)
        rounds = quiet = 0
        while time.monotonic() < until and rounds <= _ROUNDS_OF_RESPAWN:
            left = self._reap()
            if left and not self.waiting - self.denied:
                return
            fresh = self._rescan()
            self._signal(fresh or (), signal.SIGKILL)
            rounds += bool(fresh)
            # Twice, for a supervisor takes a moment to start the next one.
            if fresh is not None:
                quiet = 0 if left or fresh else quiet + 1
            if quiet == 2:
                return
            self._tell(until)
            self._pause()

    def _pause(self):
        if self.call.cancelled.wait(_TICK):
            raise Failed("cancelled", "the call was cancelled while processes were being ended", **self.report())
        if self.call.left() <= 0:
            raise Failed("deadline", "the step's deadline passed while processes were being ended", **self.report())

    def _reap(self):
        """Note what has ended; gives whether anything is left."""
        for key in list(self.waiting):
            how = processes.ended(key)
            if how is None:
                continue
            self.waiting.discard(key)
            entry = self.records[key]
            entry["ended"], entry["seconds"] = how, round(time.monotonic() - self.began, 3)
            if how == "zombie":
                entry["parent"] = parent_of(key)
        return bool(self.waiting)

    def _rescan(self, always=False):
        """Look for what has been forked meanwhile; gives the new keys, None when it is too early to look again."""
        now = time.monotonic()
        if not always and now < self._scan_again:
            return None
        fresh = set()
        for process, why in self.find(set(self.records)):
            if process.key not in self.records:
                self._take(process, why)
                self.records[process.key]["late"] = True
                fresh.add(process.key)
                self._note_respawn(process)
        done = time.monotonic()
        self._scan_again = done + max(_RESCAN, 3 * (done - now))  # on a busy machine a look costs more
        return fresh

    def _note_respawn(self, process):
        family = {key[0] for key in self.records}
        parent = processes.look(process.ppid)
        if parent is not None and parent.pid > 1 and parent.pid not in family and parent.comm != protection.KEEPER:
            self.respawner = {"pid": parent.pid, "title": parent.title}

    def _tell(self, until):
        now = time.monotonic()
        if now - self._told < _TELL or not self.waiting:
            return
        self._told = now
        left = [self.records[key] for key in sorted(self.waiting)]
        shown = ", ".join("%d %s" % (each["pid"], each["title"][:40]) for each in left[:3])
        more = ", and %d more" % (len(left) - 3) if len(left) > 3 else ""
        text = "%s: %d left after %.0f s (%s%s)" % (self._phase, len(left), now - self.began, shown, more)
        self.call.progress(text=text, left=len(left), phase=self._phase, seconds_left=round(max(0.0, until - now), 1))

    def report(self):
        """What became of each: stopped, those that are still there, zombies, and who started new ones."""
        left = [still_there(self.records[key]) for key in sorted(self.waiting)]
        done = [entry for key, entry in self.records.items() if key not in self.waiting]
        return {
            "stopped": [entry for entry in done if entry["how"]],
            "ended": [entry for entry in done if not entry["how"]],
            "zombies": [entry for entry in done if entry["ended"] == "zombie"],
            "remaining": left,
            "denied": [self.records[key] for key in sorted(self.denied & self.waiting)],
            "respawned_by": self.respawner if self.waiting else None,
            "seconds": round(time.monotonic() - self.began, 3),
        }


def parent_of(key):
    """Who must reap a zombie: {pid, title}, or None."""
    now = processes.look_again(key)
    parent = processes.look(now.ppid) if now else None
    return {"pid": parent.pid, "title": parent.title} if parent else None


def still_there(entry):
    """A record of a process that did not end, with where it hangs: state, wait channel, kernel stack, GPU devices."""
    now = processes.look_again((entry["pid"], entry["start"]))
    found = dict(entry)
    if now is None:
        return found
    found["state"] = now.state
    found["state_words"] = processes.state_words(now.state)
    found["kill_pending"] = now.kill_pending
    found["wchan"] = (processes.read_text("/proc/%d/wchan" % now.pid) or "").strip() or None
    stack = processes.read_text("/proc/%d/stack" % now.pid) or ""
    found["stack"] = stack.strip().splitlines()[:12]
    used = gpu_devices.used_by(now)
    found["devices"] = used.tell() if used else None
    return found
