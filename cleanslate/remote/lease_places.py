"""Where leases lie on this machine, what they say, and which of them are held: one that nobody keeps locked is not.

Whoever looks believes only a real folder that nobody but its owner can write, and a regular file of that owner's.
"""

import fcntl
import os
import stat
import time

from cleanslate.remote.quick_json import loads
from cleanslate.remote.registry import Failed

WHOLE = "host"
_ROOT = "/run/cleanslate"
_OTHERS = "/tmp/cleanslate-leases-"
_BIG = 65536  # bytes; no lease is near
_OLD = 86400.0  # seconds after which the word about a robbery is dropped


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


def own_folder():
    """Give this user's own folder, made where it is missing, and a descriptor of it that the caller closes.

    Failed where somebody else has put something there.
    """
    given = os.environ.get("CLEANSLATE_LEASES")
    if given and os.path.isabs(given):
        os.makedirs(given, mode=0o755, exist_ok=True)
        folder, owner = given, None
    elif os.geteuid() == 0:
        folder, owner = _ROOT, 0
    else:
        folder, owner = _OTHERS + str(os.geteuid()), os.geteuid()
    try:
        os.mkdir(folder, 0o755)
        os.chmod(folder, 0o755)  # whatever the umask: everybody may look, and only its owner may write
    except FileExistsError:
        pass
    handle = _opened(folder, owner)
    if handle is None:
        raise Failed("wrong", "{} is not a folder that only this user can write".format(folder), path=folder)
    return folder, handle


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


def mutex(handle):
    """Wait until no other of this user's agents looks and takes; a descriptor, to be closed for the next one."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(".mutex", flags, 0o600, dir_fd=handle)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


# ------------------------------------------------------------------ looking


def living(without=None):
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
            _remove(name, handle)
        return None
    finally:
        os.close(descriptor)


def _remove(name, handle):
    try:
        os.unlink(name, dir_fd=handle)
    except OSError:
        pass


def _content(descriptor, facts):
    """What a held file says; one that says nothing sensible is a lease all the same."""
    try:
        content = loads(os.pread(descriptor, _BIG, 0))
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


def _forget_old(handle, name):
    try:
        if time.time() - os.stat(name, dir_fd=handle, follow_symlinks=False).st_mtime > _OLD:
            os.unlink(name, dir_fd=handle)
    except OSError:
        pass
