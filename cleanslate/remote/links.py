"""Calls on symbolic and hard links: what is there, and making one in place of what was there."""

import os
import stat as st

from cleanslate.remote import attributes
from cleanslate.remote.oserrors import told
from cleanslate.remote.paths import expand, info_of, kind_of, parent_state, place_of
from cleanslate.remote.registry import Failed, changes, reads


@reads
@told()
def survey(call, path, target, hard=False, follow=True, wanted=None):
    """What is at `path`, and whether it is the wanted link already (`same`).

    Gives {path, target (with `~` and variables expanded), exists, kind, leads_to, same, empty (a folder), source
    (whether the target exists), source_path, parent, changes (of what it leads to), after} and Ansible's file fields.
    """
    path, target = place_of(path), expand(target)
    info = info_of(path)
    folder = path if info is not None and kind_of(info) == "directory" else os.path.dirname(path)
    source_path = os.path.join(folder, target)
    source = info_of(source_path, follow=True)
    found = {
        "path": path,
        "target": target,
        "exists": info is not None,
        "kind": kind_of(info) if info is not None else None,
        "leads_to": None,
        "same": False,
        "empty": False,
        "source": source is not None,
        "source_path": source_path,
        "source_kind": kind_of(source) if source is not None else None,
        "parent": parent_state(path),
    }
    if info is not None:
        found.update(attributes.describe(path, info))
        found["empty"] = found["kind"] == "directory" and not os.listdir(path)
        found["leads_to"] = os.readlink(path) if found["kind"] == "link" else None
        same_inode = source is not None and (info.st_dev, info.st_ino) == (source.st_dev, source.st_ino)
        found["same"] = same_inode if hard else found["leads_to"] == target
    found["changes"] = _changes(source, source_path, wanted or {}, hard or follow)
    return found


def _changes(source, source_path, wanted, through):
    if source is None or not through:
        return {}
    return attributes.differences(source_path, wanted, source)


@changes
@told()
def make(call, path, target, hard=False, follow=True, **wanted):
    """Put a link at `path` in one move, in place of a file, a link or an empty folder; set what is wanted.

    Gives Ansible's file fields and path.
    """
    path, target = place_of(path), expand(target)
    info = info_of(path)
    if info is not None and kind_of(info) == "directory":
        os.rmdir(path)
    part = os.path.join(os.path.dirname(path), f".cleanslate-{os.urandom(6).hex()}")
    if hard:
        os.link(os.path.join(os.path.dirname(path), target), part)
    else:
        os.symlink(target, part)
    try:
        os.rename(part, path)
    finally:
        if os.path.lexists(part):  # renaming onto another name of the same file does nothing
            os.unlink(part)
    settle(path, wanted, follow)
    return dict(attributes.describe(path), path=path)


@changes
@told()
def settle_attributes(call, path, follow=True, **wanted):
    """Set what is wanted on a link, or with `follow` on what it leads to; gives Ansible's file fields and path."""
    path = place_of(path)
    settle(path, wanted, follow)
    return dict(attributes.describe(path), path=path)


def settle(path, wanted, follow):
    """Set attributes on what a link leads to, where it leads to something."""
    if not any(value is not None for value in wanted.values()):
        return
    if follow and not os.path.exists(path):
        raise Failed("missing", f"{path} leads to nothing, so nothing can be set on it")
    if follow or not st.S_ISLNK(os.lstat(path).st_mode):
        attributes.set_on(path, wanted)
    else:
        attributes.set_on(path, wanted, follow=False)
