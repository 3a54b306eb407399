"""Locks, conditions and events for the agent, from the interpreter's own primitives.

`threading` has the same with the same meanings, but importing it takes half as long as starting Python does.
"""

import _thread
import time

Lock = _thread.allocate_lock
RLock = _thread.RLock


def start(function, *arguments):
    """Run a function in a thread that nobody waits for."""
    _thread.start_new_thread(function, arguments)


class Condition:
    """A lock that its holder can wait on; unlike the library's it may not be taken twice by one thread."""

    def __init__(self):
        self._lock = Lock()
        self._waiting = []

    def __enter__(self):
        return self._lock.__enter__()

    def __exit__(self, *error):
        return self._lock.__exit__(*error)

    def wait(self, seconds=None):
        """Let go of the lock until somebody notifies, and take it again; whether that was in time."""
        mine = Lock()
        mine.acquire()
        self._waiting.append(mine)
        self._lock.release()
        told = False
        try:
            told = mine.acquire(True, -1 if seconds is None else max(seconds, 0))
        finally:
            self._lock.acquire()
            if not told and mine in self._waiting:
                self._waiting.remove(mine)
        return told

    def wait_for(self, holds, seconds):
        """Wait until a condition holds, or so long; whether it does."""
        until = time.monotonic() + seconds
        while not holds():
            left = until - time.monotonic()
            if left <= 0:
                return False
            self.wait(left)
        return True

    def notify_all(self):
        """Wake whoever waits."""
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.release()


class Event:
    """Something that happens once."""

    def __init__(self):
        self._happened = False
        self._changed = Condition()

    def is_set(self):
        """Whether it has happened."""
        return self._happened

    def set(self):
        """It happens now."""
        with self._changed:
            self._happened = True
            self._changed.notify_all()

    def wait(self, seconds=None):
        """Wait until it has happened, or so long; whether it has."""
        with self._changed:
            if not self._happened:
                self._changed.wait(seconds)
            return self._happened
