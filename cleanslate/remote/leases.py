"""Who works on this machine: a lease is a file that a run's agent keeps locked for as long as it lives.

So a lease ends when its run ends, however it ends: the kernel lets go of the lock. Whoever wants one writes its own
file first and then looks at all others, of every user; a file that nobody holds locked is what a dead agent left.

    /run/cleanslate/RUN-PID.lease             of root's agents
    /tmp/cleanslate-leases-UID/RUN-PID.lease  of other users': a real folder of their own, that nobody else may write
    $CLEANSLATE_LEASES/RUN-PID.lease          instead of both, where that is set (practice rooms, tests)

    {"run", "who", "from", "playbook", "step", "since", "resources", "pid", "uid"}

`resources` are `host` (everything), or finer ones by declaration: `gpu:0-3`, `container:101`.
"""

import contextlib
import fcntl
import json
import os
import stat
import sys
import threading
import time

from cleanslate.remote import journal, succession
from cleanslate.remote.registry import Failed, changes, reads

WHOLE = "host"
_ROOT = "/run/cleanslate"
_OTHERS = "/tmp/cleanslate-leases-"
_BIG = 65536  # bytes; no lease is near
_LOOK = 0.25  # seconds between looks while waiting
_TELL = 15.0  # seconds between words about the waiting
_RACE = 1.0  # seconds; of two users' runs that see each other at the very same moment, chance lets one go first
_OLD = 86400.0  # seconds after which the word about a robbery is dropped
_lock = threading.RLock()
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
        text = json.dumps(self.content).encode()
        size = os.fstat(self.descriptor).st_size
        os.pwrite(self.descriptor, text.ljust(size - 1) + b"\n", 0)

    def check(self):
        """Failed("robbed") once somebody has taken the lease away."""
        if self.robber is None and os.fstat(self.descriptor).st_nlink == 0:
            self.robber = _word_of_robbery(self.folder, self.name)
        if self.robber is not None:
            raise Failed("robbed", "the lease was taken away", robber=self.robber)

    def drop(self):
        """Let go of it."""
        with contextlib.suppress(OSError):
            if os.fstat(self.descriptor).st_nlink:
                os.unlink(os.path.join(self.folder, self.name))
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
    global _held
    with _lock, _folder() as (folder, handle), _mutex(handle):
        if _held is not None and _covers(wanted):
            return None
        mine = _written(folder, handle, wanted)
        other = next((one for one in _living(wanted["run"]) if overlap(one["resources"], wanted["resources"])), None)
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
    name = "{}-{}-{}.lease".format(_plain(wanted["run"]), os.getpid(), threading.get_ident())
    part = "." + name + ".part"
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(part, flags, 0o644, dir_fd=handle)
    os.fchmod(descriptor, 0o644)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.write(descriptor, json.dumps(content).encode().ljust(1023) + b"\n")
    os.rename(part, name, src_dir_fd=handle, dst_dir_fd=handle)
    return _Lease(folder, name, descriptor, content)


def _plain(run):
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in run)[:100]


def _after_fork():
    """A forked child that goes on without exec must not keep the lease alive."""
    global _held
    if _held is not None:
        with contextlib.suppress(OSError):
            os.close(_held.descriptor)
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


# ------------------------------------------------------------------ places


def _places():
    """Every folder that may hold leases, with the user whose it must be (None: whoever may write here)."""
    given = os.environ.get("CLEANSLATE_LEASES")
    if given and os.path.isabs(given):
        return [(given, None)]
    found = [(_ROOT, 0)]
    above, _, prefix = _OTHERS.rpartition("/")
    names = sorted(os.listdir(above)) if os.path.isdir(above) else ()
    users = [name[len(prefix) :] for name in names if name.startswith(prefix)]
    return found + [(_OTHERS + user, int(user)) for user in users if user.isdigit()]


@contextlib.contextmanager
def _folder():
    """Give this user's own folder, made where it is missing; Failed where somebody else has put something there."""
    given = os.environ.get("CLEANSLATE_LEASES")
    if given and os.path.isabs(given):
        os.makedirs(given, mode=0o755, exist_ok=True)
        folder, owner = given, None
    elif os.geteuid() == 0:
        folder, owner = _ROOT, 0
    else:
        folder, owner = _OTHERS + str(os.geteuid()), os.geteuid()
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o755)
        os.chmod(folder, 0o755)  # whatever the umask: everybody may look, and only its owner may write
    handle = _opened(folder, owner)
    if handle is None:
        raise Failed("wrong", "{} is not a folder that only this user can write".format(folder), path=folder)
    try:
        yield folder, handle
    finally:
        os.close(handle)


def _opened(folder, owner):
    """A descriptor of a folder that can be believed: no link, of its owner, writable for nobody else; or None."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    facts = os.fstat(handle)
    if owner is not None and (facts.st_uid != owner or facts.st_mode & 0o022):
        os.close(handle)
        return None
    return handle


@contextlib.contextmanager
def _mutex(handle):
    """One at a time of this user's agents looks and takes."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(".mutex", flags, 0o600, dir_fd=handle)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


# ------------------------------------------------------------------ looking


def _living(without=None):
    """What is held on this machine now, by every user but the run `without`; what nobody holds is cleared away."""
    found = []
    for folder, owner in _places():
        handle = _opened(folder, owner)
        if handle is None:
            continue
        try:
            for name in sorted(os.listdir(handle)):
                if name.endswith((".lease", ".part")):
                    content = _read(handle, name, owner)
                    if content is not None and content.get("run") != without and name.endswith(".lease"):
                        found.append(dict(content, file=os.path.join(folder, name)))
                elif name.endswith(".robbed"):
                    _forget_old(handle, name)
        finally:
            os.close(handle)
    return found


def _read(handle, name, owner):
    """A lease that is held, or None. One that is not is removed where that is ours to do."""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=handle)
    except OSError:
        return None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or (owner is not None and facts.st_uid != owner):
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return _content(descriptor, facts)
        if name.endswith(".lease") or time.time() - facts.st_mtime > 60:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=handle)
        return None
    finally:
        os.close(descriptor)


def _content(descriptor, facts):
    """What a held file says; one that says nothing sensible is a lease all the same."""
    try:
        content = json.loads(os.pread(descriptor, _BIG, 0))
        content["resources"] = [str(one) for one in content["resources"]]
        content["uid"] = facts.st_uid
    except (ValueError, TypeError, KeyError):
        content = {"run": "", "who": "uid {}".format(facts.st_uid), "resources": [WHOLE], "uid": facts.st_uid}
    content["age"] = time.time() - facts.st_ctime
    return content


def overlap(ones, others):
    """Whether two lists of resources have something in common. `host` is everything."""
    return any(_same(one, other) for one in ones for other in others)


def _same(one, other):
    if WHOLE in (one, other):
        return True
    kind, _, mine = one.partition(":")
    other_kind, _, theirs = other.partition(":")
    return kind == other_kind and bool(_numbers(mine) & _numbers(theirs))


def _numbers(text):
    """`0-2,5` as {0, 1, 2, 5}; a word stands for itself."""
    found = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if first.isdigit() and (last.isdigit() if dash else True):
            found |= set(range(int(first), min(int(last or first), int(first) + 4096) + 1))
        else:
            found.add(part.strip())
    return found


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
    return {"leases": _living(), "journal": journal.last(entries)}


@changes
def steal(call, who, come_from, run=None):
    """Take leases away (all, or those of one run); gives {"robbed": [...]}. Failed: denied (another user's)."""
    robbed = []
    for lease in _living():
        if run not in (None, lease["run"]):
            continue
        folder, name = os.path.split(lease["file"])
        word = {"by": who, "from": come_from, "at": time.time(), "run": lease["run"]}
        try:
            _write_word(folder, name, word)
            os.unlink(lease["file"])
        except FileNotFoundError:
            continue  # it has just ended by itself
        except PermissionError:
            raise Failed("denied", "only {} or root can take this lease".format(_user(lease["uid"]))) from None
        journal.note("robbed", lease, by=who, by_from=come_from)
        robbed.append(lease)
    return {"robbed": robbed}


def _write_word(folder, name, word):
    """Leave word for the robbed, in the robbed user's folder."""
    path = os.path.join(folder, name + ".robbed")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with contextlib.suppress(FileExistsError), os.fdopen(os.open(path, flags, 0o644), "w") as file:
        json.dump(word, file)


def _word_of_robbery(folder, name):
    try:
        with open(os.path.join(folder, name + ".robbed"), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {"by": "somebody", "from": "this machine (the file was removed)", "at": time.time()}


def _forget_old(handle, name):
    with contextlib.suppress(OSError):
        if time.time() - os.stat(name, dir_fd=handle, follow_symlinks=False).st_mtime > _OLD:
            os.unlink(name, dir_fd=handle)


def _user(uid):
    if "pwd" not in sys.modules:
        import pwd
    pwd = sys.modules["pwd"]
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return "uid {}".format(uid)
