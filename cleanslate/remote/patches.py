"""Patches several files as one, and takes that back as one; what they were is kept with the state of the patch.

    STATE/cleanslate/patches/NAME/state.json     {"name", "applied_at", "files": [{path, original, before, after}]}
    STATE/cleanslate/patches/NAME/0.orig ...     the files as they were, with mode and times

The state is written before the first file and removed after the last, so that after a crash each file is either what
it was or what it should be, and both are known by their digests.
"""

import hashlib
import io
import json
import os
import re
import shutil
import time

from cleanslate.remote import atomic, server_state
from cleanslate.remote.attributes import user_name
from cleanslate.remote.oserrors import told
from cleanslate.remote.paths import expand
from cleanslate.remote.registry import Failed, changes, reads

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_MOST = 8 << 20


def folder(name):
    """Where the patch of this name is kept; Failed("wrong") for a name that is no plain word."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Failed("wrong", '"%s" cannot name a patch: use letters, digits, dots and dashes' % name)
    return str(server_state.folder().parent / "patches" / name)


def _state(name):
    """The state of a patch, or None where it is not applied."""
    place = os.path.join(folder(name), "state.json")
    try:
        with open(place, encoding="utf-8") as file:
            state = json.load(file)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise Failed("wrong", "%s cannot be read: %s" % (place, error)) from None
    if not isinstance(state, dict) or not isinstance(state.get("files"), list):
        raise Failed("wrong", "%s does not describe a patch" % place)
    return state


@reads
@told("look at the files")
def look(call, name, paths, base=None):
    """The files of a patch and what is known of it: ({known, folder, applied_at, files}, bytes).

    A file: {given, path, digest, obstacle, owner (another patch), before, after, size, original_size}. `given` is the
    path as asked for, None for one that only the state names. before and after are the digests that the state knows.
    The bytes are for each file its content (`size`), and where it is patched its original (`original_size`).
    """
    state = _state(name)
    known = {each["path"]: each for each in (state or {}).get("files") or ()}
    others = _others(name)
    found, blob = [], b""
    wanted = [(given, _place(given, base)) for given in paths]
    wanted += [(None, path) for path in known if path not in {place for _, place in wanted}]
    for given, path in wanted:
        content, obstacle = _content(path, given is not None)
        entry = {"given": given, "path": path, "obstacle": obstacle, "owner": others.get(path)}
        entry["digest"] = None if content is None else _digest(content)
        original = b""
        if path in known:
            entry.update(before=known[path]["before"], after=known[path]["after"])
            with open(os.path.join(folder(name), known[path]["original"]), "rb") as file:
                original = file.read()
        entry.update(size=len(content or b""), original_size=len(original))
        blob += (content or b"") + original
        found.append(entry)
    about = {"known": state is not None, "folder": folder(name), "applied_at": (state or {}).get("applied_at")}
    return dict(about, files=found), blob


def _place(given, base):
    path = expand(given)
    if not os.path.isabs(path):
        if base is None:
            raise Failed("wrong", "%s is relative, and no base says to what" % given)
        path = os.path.join(expand(base), path)
    path = os.path.normpath(path)
    if not os.path.isabs(path):
        raise Failed("wrong", "%s is not an absolute path" % path)
    return path


def _others(name):
    """{path: name of the other patch that has changed it}."""
    top = os.path.dirname(folder(name))
    found = {}
    for entry in sorted(os.listdir(top)) if os.path.isdir(top) else []:
        if entry != name and _NAME.fullmatch(entry):
            for each in (_state(entry) or {}).get("files") or ():
                found[each["path"]] = entry
    return found


def _content(path, must):
    """(bytes or None, why it cannot be patched or None)."""
    if os.path.islink(path):
        return None, "%s is a link to %s: name that file" % (path, os.path.realpath(path))
    try:
        info = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        if must:
            raise Failed("missing", "there is no file %s; nothing was changed" % path) from None
        return None, "%s is not there any more" % path
    if not os.path.isfile(path):
        raise Failed("wrong", "%s is no file" % path)
    if info.st_size > _MOST:
        raise Failed("wrong", "%s has %d bytes, which is no source file" % (path, info.st_size))
    with open(path, "rb") as file:
        content = file.read()
    if not os.access(os.path.dirname(path), os.W_OK | os.X_OK):
        return content, "the folder of %s cannot be written by %s" % (path, user_name(os.geteuid()))
    if os.geteuid() not in (0, info.st_uid):
        return content, "%s belongs to %s, who could not stay its owner" % (path, user_name(info.st_uid))
    return content, None


def _digest(content):
    return hashlib.sha256(content).hexdigest()


@changes
@told("patch")
def apply(call, name, files):
    """Give files new contents (sent along), all or none; gives {patched: [path]}.

    files: all files that the patch is to have, [{path, expect, size}]; `expect` is the digest that the file must have
    now, `size` that of its new content. A file that the state names and this does not goes back to what it was.
    """
    state = _state(name) or {"name": name, "files": []}
    kept = {each["path"]: each for each in state["files"]}
    plan = []  # (path, new content, times or None)
    entries = []
    place = folder(name)
    os.makedirs(place, mode=0o700, exist_ok=True)
    for each in files:
        new = call.blob.read(each["size"])
        now = _as_expected(each["path"], each["expect"])
        entry = kept.pop(each["path"], None) or _keep(place, each["path"], now, state, entries)
        entries.append(dict(entry, after=_digest(new)))
        if new != now:
            plan.append((each["path"], new, None))
    plan += [_back(place, each) for each in kept.values()]
    _write_state(place, dict(state, files=entries + list(kept.values()), applied_at=time.time()))
    try:
        _exchange([each for each in plan if each])
    except BaseException:
        if state["files"]:
            _write_state(place, state)
        else:
            shutil.rmtree(place)
        raise
    _write_state(place, dict(state, files=entries, applied_at=time.time()))
    return {"patched": [each["path"] for each in entries]}


def _as_expected(path, expect):
    with open(path, "rb") as file:
        now = file.read()
    if _digest(now) != expect:
        raise Failed("changed", "%s was changed by somebody else since it was read; nothing was written" % path)
    return now


def _keep(place, path, now, state, entries):
    """Keep what a file was; gives its entry for the state."""
    taken = {each["original"] for each in [*state["files"], *entries]}
    name = next("%d.orig" % number for number in range(len(taken) + 1) if "%d.orig" % number not in taken)
    shutil.copy2(path, os.path.join(place, name))
    return {"path": path, "original": name, "before": _digest(now)}


def _back(place, entry):
    """The plan for taking one file back, or None where it is what it was; Failed where it is something else."""
    try:
        with open(entry["path"], "rb") as file:
            now = _digest(file.read())
    except FileNotFoundError:
        now = None
    if now == entry["before"]:
        return None
    original = os.path.join(place, entry["original"])
    if now != entry["after"]:
        what = "is not there any more" if now is None else "was changed since it was patched"
        raise Failed("foreign", "%s %s; nothing was changed, and its original is %s" % (entry["path"], what, original))
    info = os.stat(original)
    with open(original, "rb") as file:
        return entry["path"], file.read(), (info.st_atime_ns, info.st_mtime_ns)


def _exchange(plan):
    """Write every file of a plan; when one fails, those before it get their old content again."""
    done = []
    try:
        for path, new, times in plan:
            info = os.stat(path)
            with open(path, "rb") as file:
                old = file.read()
            atomic.write(path, io.BytesIO(new), {})
            done.append((path, old, (info.st_atime_ns, info.st_mtime_ns)))
            if times:
                os.utime(path, ns=times)
    except BaseException:
        for path, old, times in reversed(done):
            atomic.write(path, io.BytesIO(old), {})
            os.utime(path, ns=times)
        raise


def _write_state(place, state):
    data = (json.dumps(state, indent=1) + "\n").encode()
    atomic.write(os.path.join(place, "state.json"), io.BytesIO(data), {"mode": "0600"})


@changes
@told("take the patch back")
def revert(call, name):
    """Give every file of a patch its old content and times, all or none; gives {reverted: [path]}."""
    state = _state(name)
    if state is None:
        return {"reverted": []}
    place = folder(name)
    plan = [_back(place, each) for each in state["files"]]
    _exchange([each for each in plan if each])
    shutil.rmtree(place)
    return {"reverted": [each["path"] for each in state["files"]]}
