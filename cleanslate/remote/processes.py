"""The process table of this machine as /proc tells it; a process is known by pid *and* start time.

A pid alone is no identity: it may belong to a stranger by the time somebody acts on it. `start` is field 22 of
/proc/PID/stat, in clock ticks since boot. Reading a command line takes the memory lock of that process, which one
that hangs in the driver may hold for ever: such reads go through `bounded`, so that nobody hangs with it.
"""

import os
import threading

GONE_STATES = ("Z", "X", "x")
_STATES = {
    "R": "running",
    "S": "sleeping",
    "D": "in the kernel, uninterruptible",
    "T": "stopped",
    "t": "stopped by a tracer",
    "Z": "zombie",
    "X": "dead",
    "I": "idle",
}


class Process:
    """One process at the moment it was looked at; what costs more than /proc/PID/stat is read when asked for."""

    def __init__(self, pid, comm, fields):
        self.pid = pid
        self.comm = comm
        self.state = fields[0]
        self.ppid = int(fields[1])
        self.pgid = int(fields[2])
        self.sid = int(fields[3])
        self.flags = int(fields[6])
        self.ticks = int(fields[11]) + int(fields[12])
        self.start = int(fields[19])
        self._argv = None
        self._status = None

    @property
    def key(self):
        """What makes it this process and no other: (pid, start)."""
        return (self.pid, self.start)

    @property
    def kernel(self):
        """Whether it is a thread of the kernel itself."""
        return bool(self.flags & 0x00200000)

    @property
    def gone(self):
        """Whether it has ended already: a zombie has, unless other threads of it live on and hold everything."""
        return self.state in GONE_STATES and not living_threads(self.pid)

    @property
    def argv(self):
        """Its command line as it shows now: a renamed process has its title as the only element."""
        if self._argv is None:
            self._argv = [] if self.kernel or self.gone else _command_line(self.pid, self.state)
        return self._argv

    @property
    def title(self):
        """What people read: the command line, or `[name]` where there is none."""
        text = " ".join(self.argv)
        if not text:
            return "[" + self.comm + "]"
        return text if len(text) <= 300 else text[:297] + "..."

    @property
    def status(self):
        """The lines of /proc/PID/status as {name: text}; empty when it is gone."""
        if self._status is None:
            text = read_text("/proc/%d/status" % self.pid) or ""
            self._status = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        return self._status

    @property
    def uid(self):
        """Its effective user id, or None when it is gone."""
        words = self.status.get("Uid", "").split()
        return int(words[1]) if len(words) > 1 else None

    @property
    def nspids(self):
        """Its pid in each PID namespace from ours to its own; one number: it lives in ours."""
        return [int(word) for word in self.status.get("NSpid", str(self.pid)).split()]

    @property
    def kill_pending(self):
        """Whether SIGKILL was sent and has not been obeyed yet."""
        return any(int(self.status.get(name, "0"), 16) & 0x100 for name in ("SigPnd", "ShdPnd"))

    def tell(self):
        """Its identity as JSON types."""
        return {
            "pid": self.pid,
            "start": self.start,
            "ppid": self.ppid,
            "pgid": self.pgid,
            "sid": self.sid,
            "state": self.state,
            "comm": self.comm,
            "title": self.title,
            "uid": self.uid,
        }


def state_words(state):
    """A process state's letter in words."""
    return _STATES.get(state, state)


def read_bytes(path):
    """The bytes of a small file of /proc, or None when it is gone or refused."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def read_text(path):
    """The text of a small file of /proc, or None when it is gone or refused."""
    found = read_bytes(path)
    return None if found is None else found.decode("utf-8", "replace")


def bounded(function, *arguments, **options):
    """The function's result, or None when it takes longer than `seconds` (0.5): then its thread is abandoned."""
    found = []
    worker = threading.Thread(target=lambda: found.append(function(*arguments)), daemon=True)
    worker.start()
    worker.join(options.get("seconds", 0.5))
    return found[0] if found else None


def read_memory_file(pid, name, state):
    """A file of /proc/PID that needs the process's memory lock (cmdline, maps, environ), without hanging with it."""
    path = "/proc/%d/%s" % (pid, name)
    return bounded(read_bytes, path) if state == "D" else read_bytes(path)


def _command_line(pid, state):
    raw = read_memory_file(pid, "cmdline", state) or b""
    # A rewritten title is followed by what is left of the old arguments' space: blanks or NULs.
    words = raw.decode("utf-8", "replace").rstrip("\0 ").split("\0")
    return words if words != [""] else []


def look(pid):
    """The process that has this pid now, or None."""
    raw = read_text("/proc/%d/stat" % pid)
    if not raw:
        return None
    opening, closing = raw.index("("), raw.rindex(")")
    return Process(pid, raw[opening + 1 : closing], raw[closing + 2 :].split())


def look_again(key):
    """The very process of (pid, start), or None when it is gone or the pid belongs to another by now."""
    now = look(key[0])
    return now if now is not None and now.start == key[1] else None


def table():
    """Every process that can be seen from here, as {pid: Process}."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            process = look(int(name))
            if process is not None:
                found[process.pid] = process
    return found


def others_hidden(found):
    """Whether this user is not shown other people's processes at all (hidepid): pid 1 is always there."""
    return 1 not in found


def ended(key):
    """How (pid, start) ended: "gone", "zombie" (dead, its parent has not reaped it), or None while it lives."""
    now = look_again(key)
    if now is None:
        return "gone"
    return "zombie" if now.gone else None


def living_threads(pid):
    """Whether any thread of a process still lives."""
    try:
        threads = os.listdir("/proc/%d/task" % pid)
    except OSError:
        return False
    for thread in threads:
        raw = read_text("/proc/%d/task/%s/stat" % (pid, thread))
        if raw and raw[raw.rindex(")") + 2] not in GONE_STATES:
            return True
    return False


def ourselves(processes):
    """The pids of this process and of all that it comes from, up to pid 1."""
    own = set()
    pid = os.getpid()
    while pid and pid not in own:
        own.add(pid)
        pid = processes[pid].ppid if pid in processes else 0
    return own


def descendants(pids, processes):
    """The pids of everything below these, without themselves, as {pid: parent}."""
    children = {}
    for process in processes.values():
        children.setdefault(process.ppid, []).append(process.pid)
    found = {}
    waiting = list(pids)
    while waiting:
        parent = waiting.pop()
        for child in children.get(parent, ()):
            if child not in found and child not in pids:
                found[child] = parent
                waiting.append(child)
    return found


def same_namespace(process):
    """Whether a process lives in our own PID namespace, not in one below it."""
    return len(process.nspids) == 1
