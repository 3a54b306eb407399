"""Reads a configuration file with everything that decides how it may be changed, and puts a new text in its place.

A link is replaced by a real file (copy-on-write), so that nobody else who shares the target sees the change, unless
the caller asks for the target itself (`follow`).
"""

import os
import stat

from cleanslate.remote import atomic, backups, hub
from cleanslate.remote.attributes import user_name
from cleanslate.remote.oserrors import told
from cleanslate.remote.paths import expand
from cleanslate.remote.registry import Failed, changes, reads

_MOST = 16 << 20
_OVERFLOW = 65534


@reads
@told("read")
def read(call, path, follow=False):
    """A configuration file's bytes, and {path, place, link, digest, mode, owner, obstacle, hub, names, backups}.

    place: the path that a write would exchange. link: where the path leads, None for a real file. obstacle: why it
    cannot be written as asked, or None. hub: what it is in a Hugging Face cache. names: its number of hard links.
    """
    path = expand(path)
    info = _existing(path)
    link = os.readlink(path) if os.path.islink(path) else None
    place = os.path.realpath(path) if follow else os.path.abspath(path)
    if info.st_size > _MOST:
        raise Failed("wrong", "%s has %d bytes, which is no configuration file" % (path, info.st_size))
    with open(path, "rb") as file:
        blob = file.read()
    values = {
        "path": path,
        "place": place,
        "link": link,
        "real": os.path.realpath(path),
        "digest": backups.digest(path),
        "mode": "%04o" % stat.S_IMODE(info.st_mode),
        "owner": user_name(info.st_uid),
        "obstacle": _obstacle(path, place, info, follow and link is not None),
        "hub": hub.describe(path),
        "names": info.st_nlink,
        "backups": backups.found(path),
    }
    return values, blob


def _existing(path):
    """The stat result of what the path leads to; Failed says what exactly is missing."""
    try:
        info = os.stat(path)
    except FileNotFoundError:
        if os.path.islink(path):
            text = "%s is a link to %s, which does not exist" % (path, os.readlink(path))
            raise Failed("dangling", text, link=os.readlink(path)) from None
        missing = path
        while os.path.dirname(missing) and not os.path.lexists(os.path.dirname(missing)):
            missing = os.path.dirname(missing)
        what = "there is no file %s" % path if missing == path else "there is no %s, so no %s" % (missing, path)
        raise Failed("missing", what) from None
    if not stat.S_ISREG(info.st_mode):
        kind = "folder" if stat.S_ISDIR(info.st_mode) else "special file"
        raise Failed("wrong", "%s is a %s" % (path, kind))
    return info


def _obstacle(path, place, info, followed):
    """Why this user cannot exchange the file and keep its owner and mode; None: nothing is in the way."""
    folder = os.path.dirname(place)
    me = user_name(os.geteuid())
    if not os.access(folder, os.W_OK | os.X_OK):
        return "the folder %s cannot be written by %s" % (folder, me)
    if followed and not info.st_mode & 0o222:
        return "%s is read-only (%04o): a store that others share; leave out follow to replace the link alone" % (
            place,
            stat.S_IMODE(info.st_mode),
        )
    if info.st_uid == _OVERFLOW and _maps_users():
        return "%s belongs to a user of the hypervisor that does not exist in this container" % path
    if os.geteuid() not in (0, info.st_uid):
        return "%s belongs to %s, and %s cannot keep it so; use become" % (path, user_name(info.st_uid), me)
    return None


def _maps_users():
    """Whether this is a user namespace (an unprivileged container), where strangers' files show as `nobody`."""
    try:
        with open("/proc/self/uid_map", encoding="ascii") as file:
            return file.read().split() != ["0", "0", "4294967295"]
    except OSError:
        return False


@changes
@told("write")
def write(call, path, expect_digest, follow=False, backup=True, most=5):
    """Exchange a configuration file's bytes for what was sent along; gives {digest, backup, removed, copied}.

    Whole or not at all, and not if its SHA-256 is no longer `expect_digest`. The backup stands beside `path`, even
    where the link's target is changed; `most` backups without a label are kept. copied: a link became a real file.
    """
    path = expand(path)
    info = _existing(path)
    link = os.path.islink(path)
    place = os.path.realpath(path) if follow else os.path.abspath(path)
    obstacle = _obstacle(path, place, info, follow and link)
    if obstacle:
        raise Failed("denied", obstacle)
    if backups.digest(path) != expect_digest:
        raise Failed("changed", "%s was changed by somebody else since it was read; nothing was written" % path)
    made = backups.keep(path, as_link=link and not follow) if backup else None
    try:
        atomic.write(place, call.blob, {}, expect_digest=expect_digest)
    except BaseException:
        if made:
            os.unlink(made)
        raise
    removed = backups.prune(path, most) if backup else []
    return {"digest": backups.digest(path), "backup": made, "removed": removed, "copied": link and not follow}
