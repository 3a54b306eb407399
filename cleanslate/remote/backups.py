"""Backups of one file, beside it: NAME.<time>[.<label>].bak, in the order in which they were made.

The backup of a link that is about to be replaced is the same link again: what it leads to stays where it is, so
that putting the link back is the exact way home. Every other backup is a copy with mode, owner and times.
"""

import os
import re
import shutil
import time

from cleanslate.remote import atomic
from cleanslate.remote.oserrors import told
from cleanslate.remote.paths import expand
from cleanslate.remote.registry import Failed, changes, reads

_NAME = re.compile(r"(\d{8}T\d{6}\.\d{3}Z)(?:\.([A-Za-z0-9][A-Za-z0-9_-]{0,39}))?\.bak")
_MOST_SHOWN = 262144


def found(path):
    """The backups of a file, oldest first, as [{path, stamp, label, link}]."""
    folder, name = os.path.split(os.path.abspath(path))
    kept = []
    try:
        entries = sorted(os.listdir(folder))
    except OSError:
        return []
    for entry in entries:
        met = _NAME.fullmatch(entry[len(name) + 1 :]) if entry.startswith(name + ".") else None
        if met:
            place = os.path.join(folder, entry)
            kept.append({"path": place, "stamp": met[1], "label": met[2], "link": os.path.islink(place)})
    return kept


def keep(path, label=None, as_link=False):
    """Make one more backup; gives its path. With `as_link`, of the link itself where `path` is one."""
    moment = time.time()
    while True:
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(moment)) + ".%03dZ" % int(moment * 1000 % 1000)
        place = "%s.%s%s.bak" % (path, stamp, "." + label if label else "")
        if not any(each["stamp"] == stamp for each in found(path)):
            break
        moment += 0.001
    if as_link and os.path.islink(path):
        os.symlink(os.readlink(path), place)
        return place
    with open(path, "rb") as source:
        atomic.write(place, source, {})
    _dress_as(place, path)
    return place


def _dress_as(place, model):
    """Give a copy the mode, owner and times of what it was copied from; only root can keep another's owner."""
    shutil.copystat(model, place)
    info = os.stat(model)
    if os.geteuid() == 0:
        os.chown(place, info.st_uid, info.st_gid)


def prune(path, most):
    """Remove the oldest backups without a label until `most` of them are left; gives the paths removed."""
    plain = [each["path"] for each in found(path) if each["label"] is None]
    gone = plain[: max(0, len(plain) - most)]
    for place in gone:
        os.unlink(place)
    return gone


def chosen(path, name):
    """The backup that a name means: `last`, `first`, a label (its newest), or (the start of) a time."""
    kept = found(path)
    if name == "last":
        fitting = kept
    elif name == "first":
        fitting = kept[:1]
    else:
        fitting = [each for each in kept if each["label"] == name]
        fitting = fitting or [each for each in kept if each["stamp"].startswith(name)]
    if fitting:
        return fitting[-1]
    names = [each["label"] or each["stamp"] for each in kept]
    there = "there are " + ", ".join(names[-8:]) if names else "there is none at all"
    raise Failed("missing", '%s has no backup "%s"; %s' % (path, name, there), backups=names)


def digest(place):
    """The SHA-256 of what a path leads to, or None where that is nothing that can be read."""
    try:
        return atomic.digest_of(place, "sha256")
    except OSError:
        return None


@reads
@told("look at backups")
def look(call, path, name=None, label=None):
    """What backups a file has, and whether anything would be done.

    Gives {path, exists, digest, backups, newest}; with `name`, {chosen, same, before, after} too: the backup that the
    name means, whether the file is that already, and both texts where they are short enough to show. `newest` is
    the newest backup (with that label) and whether it holds what the file holds.
    """
    path = expand(path)
    now = digest(path)
    kept = found(path)
    told_now = {"path": path, "exists": os.path.lexists(path), "digest": now, "backups": kept}
    fitting = [each for each in kept if each["label"] == label]
    told_now["newest"] = dict(fitting[-1], same=digest(fitting[-1]["path"]) == now) if fitting else None
    if name is not None:
        pick = chosen(path, name)
        told_now.update(chosen=pick, same=_same(path, pick), before=_text(path), after=_text(pick["path"]))
        if digest(pick["path"]) is None:
            raise Failed("dangling", "the backup %s leads nowhere any more: %s" % (pick["path"], _leads(pick["path"])))
    return told_now


def _same(path, pick):
    if pick["link"]:
        return os.path.islink(path) and os.readlink(path) == os.readlink(pick["path"])
    return digest(path) is not None and digest(path) == digest(pick["path"])


def _leads(place):
    return "it is a link to " + os.readlink(place) if os.path.islink(place) else "it cannot be read"


def _text(place):
    """A file's text where it is text and short, else None."""
    try:
        if os.path.getsize(place) > _MOST_SHOWN:
            return None
        with open(place, "rb") as file:
            return file.read().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


@changes
@told("back up")
def make(call, path, label=None, most=None):
    """Copy a file beside itself; gives {backup, removed}. `most` is how many without a label are kept."""
    path = expand(path)
    made = keep(path, label)
    return {"backup": made, "removed": prune(path, most) if most is not None and label is None else []}


@changes
@told("restore")
def restore(call, path, name, follow=False):
    """Put a backup in the file's place, whole or not at all; gives {restored, link}.

    A backup that is a link comes back as that link. A file comes back with the backup's mode and owner; where `path` is
    a link by now, the link is replaced, or with `follow` what it leads to.
    """
    path = expand(path)
    pick = chosen(path, name)
    if pick["link"]:
        part = "%s.%s.part" % (path, os.urandom(4).hex())
        os.symlink(os.readlink(pick["path"]), part)
        os.rename(part, path)
        return {"restored": pick["path"], "link": os.readlink(path)}
    place = os.path.realpath(path) if follow else path
    info = os.stat(pick["path"])
    wanted = {"mode": "%04o" % (info.st_mode & 0o7777)}
    if os.geteuid() == 0:
        wanted.update(owner=str(info.st_uid), group=str(info.st_gid))
    with open(pick["path"], "rb") as source:
        atomic.write(place, source, wanted)
    return {"restored": pick["path"], "link": None}
