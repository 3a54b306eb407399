"""Who works on this machine: a lease is a file that a run's agent keeps locked for as long as it lives.

So a lease ends when its run ends, however it ends: the kernel lets go of the lock. Whoever wants one writes its own
file first and then looks at all others, of every user; a file that nobody holds locked is what a dead agent left.

    /run/cleanslate/RUN-PID.lease             of root's agents
    /tmp/cleanslate-leases-UID/RUN-PID.lease  of other users': a real folder of their own, that nobody else may write
    $CLEANSLATE_LEASES/RUN-PID.lease          instead of both, where that is set (practice rooms, tests)

    {"run", "who", "from", "playbook", "step", "since", "resources", "pid", "uid"}

`resources` are `host` (everything), or finer ones by declaration: `gpu:0-3`, `container:101`.
"""

import _thread
import fcntl
import os
import time

from cleanslate.remote import journal
from cleanslate.remote.lease_places import living, mutex, overlap, own_folder
from cleanslate.remote.locks import RLock
from cleanslate.remote.quick_json import dumps
from cleanslate.remote.registry import Failed, changes, reads

_LOOK = 0.25  # seconds between looks while waiting
_TELL = 15.0  # seconds between words about the waiting
_RACE = 1.0  # seconds; of two users' runs that see each other at the very same moment, chance lets one go first
_lock = RLock()
_held = None


class _Lease:
    """The lease that this agent holds; `descriptor` is what keeps it locked."""

    def __init__(self, folder, name, descriptor, content):
        self.folder = folder
        self.name = name
        self.descriptor = descriptor
        self.content = content
        self.began = time.time()
        self.robber = None

    def write(self):
        """Write the content anew, in one write, so that a reader never sees half of it."""
        text = dumps(self.content).encode()
        size = os.fstat(self.descriptor).st_size
        os.pwrite(self.descriptor, text.ljust(size - 1) + b"\n", 0)

    def check(self):
        """Failed("robbed") once somebody has taken the lease away."""
        if self.robber is None and os.fstat(self.descriptor).st_nlink == 0:
            from cleanslate.remote import lease_robbery

            self.robber = lease_robbery.word(self.folder, self.name)
        if self.robber is not None:
            raise Failed("robbed", "the lease was taken away", robber=self.robber)

    def drop(self):
        """Let go of it."""
        try:
            if os.fstat(self.descriptor).st_nlink:
                os.unlink(os.path.join(self.folder, self.name))
        except OSError:
            pass
        os.close(self.descriptor)


# ------------------------------------------------------------------ taking


def hold(call, wanted):
    """Hold what a run wants before its call is made: see `Ticket` in connect/lease.py for the form of `wanted`.

    With only `step` in it, the lease is there already. Waits for others as long as `wait` says.
    Failed: held (details: holder), robbed (details: robber).
    """
    with _lock:
        if _held is not None:
            _held.check()
            if _covers(wanted):
                if _held.content["step"] != wanted["step"]:
                    _held.content["step"] = wanted["step"]
                    _held.write()
                return
    until = time.monotonic() + min(wanted.get("wait") or 0.0, call.left())
    told, asked = 0.0, set()
    races = time.monotonic() + _RACE
    while True:
        holder = _try(wanted)
        if holder is None:
            return
        now = time.monotonic()
        if holder["run"] in wanted.get("succeeds", ()) and holder["file"] not in asked:
            from cleanslate.remote import succession

            asked.add(holder["file"])
            succession.end(holder)
            told, until = now, max(until, now + min(succession.PATIENCE, call.left()))
        if now >= until and (holder["uid"] == os.geteuid() or now >= races or holder["age"] > 2 * _RACE):
            raise Failed("held", "somebody else holds the lease", holder=holder)
        if call.cancelled.is_set():
            raise Failed("held", "stopped while waiting for the lease", holder=holder)
        if now - told >= _TELL and now < until:
            told = now
            call.progress(
                text="waits for the lease of {} ({})".format(holder.get("who"), holder.get("run")), holder=holder
            )
        time.sleep(_LOOK if now < until else 0.01 + os.urandom(1)[0] / 2800)


def _covers(wanted):
    return "run" not in wanted or set(wanted["resources"]) <= set(_held.content["resources"])


def _try(wanted):
    """Take the lease; gives None, or who holds something of it."""
    with _lock:
        folder, handle = own_folder()
        try:
            alone = mutex(handle)
            try:
                return None if _held is not None and _covers(wanted) else _take(wanted, folder, handle)
            finally:
                os.close(alone)
        finally:
            os.close(handle)


def _take(wanted, folder, handle):
    """Write our own lease first, and then look at all others; it goes again where one of them is in its way."""
    global _held
    mine = _written(folder, handle, wanted)
    other = next((one for one in living(wanted["run"]) if overlap(one["resources"], wanted["resources"])), None)
    if other is not None:
        mine.drop()
        return other
    before, _held = _held, mine
    if before is not None:
        before.drop()
    else:
        journal.note("began", wanted)
    return None


def _written(folder, handle, wanted):
    """Write and lock a lease's file; it has its name only when it is locked."""
    known = ("run", "who", "from", "playbook", "step", "since", "resources")
    content = {key: wanted.get(key) for key in known}
    if _held is not None:
        content["resources"] = sorted({*_held.content["resources"], *wanted["resources"]})
    content.update(pid=os.getpid(), uid=os.geteuid())
    name = "{}-{}-{}.lease".format(_plain(wanted["run"]), os.getpid(), _thread.get_ident())
    part = "." + name + ".part"
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(part, flags, 0o644, dir_fd=handle)
    os.fchmod(descriptor, 0o644)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.write(descriptor, dumps(content).encode().ljust(1023) + b"\n")
    os.rename(part, name, src_dir_fd=handle, dst_dir_fd=handle)
    return _Lease(folder, name, descriptor, content)


def _plain(run):
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in run)[:100]


def _after_fork():
    """A forked child that goes on without exec must not keep the lease alive."""
    global _held
    if _held is not None:
        try:
            os.close(_held.descriptor)
        except OSError:
            pass
        _held = None


os.register_at_fork(after_in_child=_after_fork)


def let_go(outcome):
    """End the lease, if there is one, and note the outcome; called by the agent when its run ends or is lost."""
    global _held
    with _lock:
        if _held is None:
            return
        ended, _held = _held, None
        seconds = round(time.time() - ended.began, 3)
        journal.note("ended", ended.content, outcome=outcome, seconds=seconds)
        ended.drop()


# ------------------------------------------------------------------ calls


@reads
def held(call):
    """Do nothing: the call that a lease is taken with before a run's first step."""
    return {}


@changes
def end(call, outcome):
    """Give the lease back: the run is over."""
    let_go(outcome)
    return {}


@reads
def show(call, entries=10):
    """Give {"leases": what is held on this machine, "journal": the last entries}."""
    return {"leases": living(), "journal": journal.last(entries)}


@changes
def steal(call, who, come_from, run=None):
    """Take leases away (all, or those of one run); gives {"robbed": [...]}. Failed: denied (another user's)."""
    from cleanslate.remote import lease_robbery

    return {"robbed": lease_robbery.rob(who, come_from, run)}
