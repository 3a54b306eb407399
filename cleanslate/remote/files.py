"""Calls on single files and folders: look, read, write whole, make, remove, touch, set attributes.

Paths may start with `~` and hold environment variables. `wanted` is what remote/attributes.py says. The survey
is what a writing step reads first: what is there, and what it would become.
"""

import os
import stat as st
import time

from cleanslate.remote import atomic, attributes
from cleanslate.remote.modes import mode_text
from cleanslate.remote.oserrors import told
from cleanslate.remote.paths import expand, info_of, kind_of, parent_state, place_of
from cleanslate.remote.registry import Failed, changes, reads
from cleanslate.remote.stats import stat  # noqa: F401 - the call `files.stat`

_WANTED = ("mode", "owner", "group", "attributes", "seuser", "serole", "setype", "selevel")


@reads
@told()
def survey(
    call,
    path,
    name=None,
    follow=False,
    through=False,
    digest=False,
    size=None,
    content=0,
    unless=None,
    wanted=None,
    directory=False,
):
    """What is at `path` (see place_of), and what `wanted` would change there (`through` a link, if asked).

    Gives {path, inside (whether `name` was added), exists, kind, target (of a link), digest (SHA-1 of a file, through
    a link; not when `size` is given and differs), changes {attribute: [before, after]}, after {mode, uid, gid, owner,
    group}, parent (missing, denied, directory, other), cut, mtime, atime} and Ansible's file fields. The blob is the
    content of a file of at most `content` bytes whose digest is not `unless`; `cut` is its size when it is larger.
    `directory` says that what would be made is a folder.
    """
    given, wanted = path, wanted or {}
    path = place_of(path, name, follow)
    info = info_of(path)
    found = {"path": path, "exists": info is not None, "kind": None, "digest": None, "changes": {}, "cut": None}
    found["inside"] = path != place_of(given, follow=follow)
    found["parent"] = parent_state(path)
    parent = info_of(os.path.dirname(path) or ".", follow=True)
    blob = b""
    if info is not None:
        found.update(attributes.describe(path, info), kind=kind_of(info), mtime=info.st_mtime, atime=info.st_atime)
        led_to = info if kind_of(info) != "link" else (info_of(path, follow=True) or info)
        found["changes"] = attributes.differences(path, wanted, led_to if through else info)
        found["after"] = _after(attributes.future(wanted, led_to))
        if found["kind"] == "link":
            found["target"] = os.readlink(path)
        if st.S_ISREG(led_to.st_mode):
            blob = _look_inside(found, path, led_to, digest=digest, size=size, content=content, unless=unless)
    else:
        found["after"] = _after(attributes.future(wanted, None, directory, parent))
    return found, blob


def _after(numbers):
    names = {"owner": attributes.user_name(numbers["uid"]), "group": attributes.group_name(numbers["gid"])}
    return dict(numbers, mode=mode_text(numbers["mode"]), **names)


def _look_inside(found, path, info, *, digest, size, content, unless):
    """Add the digest and `cut` of a file; give its content where that is asked for."""
    if digest and (size is None or size == info.st_size):
        found["digest"] = atomic.digest_of(path)
    if not content or (unless is not None and found["digest"] == unless):
        return b""
    if info.st_size > content:
        found["cut"] = info.st_size
        return b""
    with open(path, "rb") as file:
        return file.read()


@reads
@told()
def read(call, path, offset=0, limit=None, digest=True, follow=True):
    """A file's bytes, or `limit` of them from `offset`; gives Ansible's file fields, path and sha1 (of the whole file).

    Failed("missing") where there is no file, ("wrong") where it is not a regular file.
    """
    path = expand(path)
    info = os.stat(path, follow_symlinks=follow)
    if not st.S_ISREG(info.st_mode):
        raise Failed("wrong", f"{path} is a {kind_of(info)}, not a file")
    found = dict(attributes.describe(path, info), path=path)
    if digest:
        found["sha1"] = atomic.digest_of(path)
    file = open(path, "rb")  # noqa: SIM115 - whoever sends the answer closes it
    if limit is None and not offset:
        return found, file
    with file:
        file.seek(offset)
        return found, file.read() if limit is None else file.read(limit)


@changes
@told()
def write(
    call,
    path,
    name=None,
    follow=False,
    source=None,
    make_parents=False,
    directory_mode=None,
    backup=False,
    expect_digest=None,
    validate=None,
    unsafe=False,
    **wanted,
):
    """Write what was sent along (or the target's own file `source`) to `path`, whole or not at all.

    An existing file keeps its mode and owner unless `mode`, `owner` ... say otherwise; mode `preserve` takes the
    mode of `source`. expect_digest: SHA-1 or SHA-256 of what must still be there, or "absent"; else
    Failed("changed"). make_parents: the missing folders above are made, with `directory_mode`.
    Gives Ansible's file fields, path, sha1 and backup_file.
    """
    wanted = check_wanted(wanted)
    path = place_of(path, name, follow)
    if make_parents:
        make_folders(os.path.dirname(path), {"mode": directory_mode})
    if source is not None and wanted.get("mode") == "preserve":
        wanted["mode"] = mode_text(os.stat(expand(source)).st_mode)
    stream = open(expand(source), "rb") if source is not None else call.blob  # noqa: SIM115 - closed just below
    try:
        done = atomic.write(
            path,
            stream,
            wanted,
            keep_backup=backup,
            expect_digest=expect_digest,
            validate=validate,
            unsafe=unsafe,
            left=call.left(),
        )
    finally:
        if source is not None:
            stream.close()
    return dict(attributes.describe(path), path=path, **done)


def check_wanted(wanted):
    """The same dict; a name that is no attribute is our own mistake."""
    unknown = set(wanted) - set(_WANTED)
    if unknown:
        raise TypeError(f"no such argument: {', '.join(sorted(unknown))}")
    return wanted


def make_folders(path, wanted):
    """Make a folder and those missing above it, each with what is wanted; gives the folders made, outermost first."""
    missing, made = [], []
    while path and not os.path.isdir(path):
        missing.insert(0, path)
        path = os.path.dirname(path.rstrip("/"))
    for folder in missing:
        try:
            os.mkdir(folder)
        except FileExistsError:
            if not os.path.isdir(folder):
                raise
            continue  # somebody else made it meanwhile, as hosts that share a machine do
        attributes.set_on(folder, wanted)
        made.append(folder)
    return made


@changes
@told()
def make_directory(call, path, follow=True, recurse=False, **wanted):
    """Make a folder and its parents where missing, and set what is wanted; gives Ansible's file fields, path, made."""
    wanted = check_wanted(wanted)
    path = place_of(path)
    made = make_folders(path, wanted)
    attributes.set_on(path, wanted, follow=follow)
    if recurse:
        set_below(path, wanted, follow)
    return dict(attributes.describe(path), path=path, made=made)


def below(path, follow=False):
    """Every path below a folder; folders that are links are not entered."""
    for folder, folders, names in os.walk(path, followlinks=False):
        for name in sorted(folders) + sorted(names):
            yield os.path.join(folder, name)


def set_below(path, wanted, follow):
    """Set what is wanted on everything below a folder; gives how many things differed."""
    return sum(bool(attributes.set_on(found, wanted, follow=_reachable(found, follow))) for found in below(path))


def _reachable(path, follow):
    return follow and os.path.exists(path)


@reads
@told()
def differing_below(call, path, follow=True, some=20, **wanted):
    """How many things below a folder lack what is wanted: {count, some: the first paths}."""
    wanted = check_wanted(wanted)
    count, first = 0, []
    for found in below(expand(path)):
        info = os.stat(found, follow_symlinks=_reachable(found, follow))
        if attributes.differences(found, wanted, info):
            count += 1
            if len(first) < some:
                first.append(found)
    return {"count": count, "some": first}


@changes
@told()
def set_attributes(call, path, follow=True, recurse=False, **wanted):
    """Set mode, owner ... on what is there; gives Ansible's file fields, path and changes."""
    wanted = check_wanted(wanted)
    path = expand(path)
    found = attributes.set_on(path, wanted, follow=follow)
    if recurse:
        set_below(path, wanted, follow)
    return dict(attributes.describe(path), path=path, changes=found)


@changes
@told()
def remove(call, path):
    """Remove a file, a link or a whole folder; gives whether there was something."""
    path = place_of(path)
    if os.path.realpath(path) == "/":
        raise Failed("wrong", "the root of all files is not removed")
    info = info_of(path)
    if info is None:
        return {"path": path, "removed": False}
    if st.S_ISDIR(info.st_mode):
        import shutil  # brings every compression along, and most runs remove no folder

        shutil.rmtree(path)
    else:
        os.unlink(path)
    return {"path": path, "removed": True}


@changes
@told()
def touch(call, path, follow=True, atime=None, mtime=None, **wanted):
    """Make an empty file where there is nothing, set its times (seconds; None: leave, "now") and what is wanted."""
    wanted = check_wanted(wanted)
    path = place_of(path)
    if info_of(path) is None:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666))
    attributes.set_on(path, wanted, follow=follow)
    info = os.stat(path, follow_symlinks=follow)
    if atime is not None or mtime is not None:
        times = (_time(atime, info.st_atime_ns), _time(mtime, info.st_mtime_ns))
        os.utime(path, ns=times, follow_symlinks=follow)
    return dict(attributes.describe(path), path=path)


def _time(wish, now):
    if wish is None:
        return now
    return time.time_ns() if wish == "now" else int(wish * 1_000_000_000)
