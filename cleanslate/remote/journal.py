"""The machine's own memory of runs: who ran what, when, with which outcome. Bounded: two files of half a megabyte."""

import fcntl
import os
import time

from cleanslate.remote.quick_json import dumps, loads

_SIZE = 524288  # bytes; then the file becomes `.1`, and the one before is dropped
_ROOT = "/var/log/cleanslate.jsonl"
_KEPT = ("run", "playbook", "who", "from", "resources")


def place():
    """Where it is: $CLEANSLATE_LEASES/journal.jsonl, /var/log/cleanslate.jsonl of root, or the user's state folder."""
    given = os.environ.get("CLEANSLATE_LEASES")
    if given and os.path.isabs(given):
        return os.path.join(given, "journal.jsonl")
    if os.geteuid() == 0:
        return _ROOT
    state = os.environ.get("XDG_STATE_HOME")
    base = state if state and os.path.isabs(state) else os.path.expanduser("~/.local/state")
    return os.path.join(base, "cleanslate", "journal.jsonl")


def note(event, lease, **facts):
    """Add an entry (`began`, `ended`, `robbed`); a machine that cannot keep one is worked on all the same."""
    entry = {"at": round(time.time(), 3), "event": event, "uid": os.geteuid()}
    entry.update({key: lease.get(key) for key in _KEPT}, **facts)
    path = place()
    try:
        _add(path, dumps(entry).encode() + b"\n")
    except OSError:
        pass


def _add(path, line):
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        os.makedirs(folder, mode=0o755, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o640)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, line)
        if os.fstat(descriptor).st_size > _SIZE:
            os.replace(path, path + ".1")
    finally:
        os.close(descriptor)


def last(count):
    """The last entries, oldest first; a line that is no entry is passed over."""
    lines = []
    for path in (place() + ".1", place()):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                lines += file.readlines()
        except OSError:
            continue
    found = []
    for line in lines[-count:] if count > 0 else ():
        try:
            found.append(loads(line))
        except ValueError:
            continue
    return found
