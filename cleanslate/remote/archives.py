"""Compares archives (tar in any compression, zip) with what is on the target, and unpacks what differs."""

import fnmatch
import hashlib
import io
import os
import stat as st
import tempfile

from cleanslate.remote import atomic, attributes, files
from cleanslate.remote.archive_readers import members, undamaged
from cleanslate.remote.oserrors import told
from cleanslate.remote.paths import expand, info_of, kind_of
from cleanslate.remote.registry import Failed, changes, reads
from cleanslate.remote.web import open_url, reason_of

_PIECE = 1 << 20
_URLS = ("http://", "https://", "ftp://")


@reads
@told()
def survey(call, path, source=None, **options):
    """What of an archive differs from what is below `path`: {path, handler, names, differing (at most 1000), count}.

    The archive is the target's own `source` (a path or address), else what was sent along. options: include, exclude
    (names or patterns), strip (leading folders to drop), keep_newer, same_owner (for root: as the archive says),
    validate_certs (of an address), and wanted (attributes, see remote/attributes.py).
    """
    path = expand(path)
    differing, names, count = [], [], 0
    with _opened(call, source, options) as archive, undamaged():
        handler, found = members(archive)
        for member in _chosen(found, options):
            names.append(member.name)
            if _difference(member, os.path.join(path, member.name), options) is not None:
                count += 1
                differing += [member.name] if len(differing) < 1000 else []
    found = {"path": path, "handler": handler, "names": names, "differing": differing, "count": count}
    return dict(found, folder=os.path.isdir(path))


@changes
@told()
def unpack(call, path, source=None, **options):
    """Unpack below `path` what differs; gives Ansible's file fields of the folder, path, handler, names, changed."""
    path = expand(path)
    if not os.path.isdir(path):
        raise Failed("missing", f"the folder {path} does not exist, so nothing can be unpacked there")
    base, names, changed = os.path.realpath(path), [], 0
    folders = []
    with _opened(call, source, options) as archive, undamaged():
        handler, found = members(archive)
        for member in _chosen(found, options):
            if call.left() <= 0 or call.cancelled.is_set():
                raise Failed("deadline", f"unpacking did not end in time; {changed} members were written")
            names.append(member.name)
            place = os.path.join(path, member.name)
            _inside(base, place, member.name)
            if _difference(member, place, options) is not None:
                _make(member, place, options, path)
                changed += 1
            if member.kind == "directory":
                folders.append((place, member))
    for place, member in reversed(folders):  # when nothing more is written in them
        _finish(place, member)
    return dict(
        attributes.describe(path), path=path, handler=handler, names=names, changed=bool(changed), count=changed
    )


# --------------------------------------------------------------------------- where it comes from


def _opened(call, source, options):
    """The archive as a file that can be read from any place."""
    if source is None:
        return _seekable(call.blob)
    if not source.startswith(_URLS):
        return open(expand(source), "rb")
    import http.client

    try:
        how = {"redirects": "all", "validate_certs": options.get("validate_certs", True)}
        _, response = open_url(source, None, "GET", how, min(30.0, max(call.left(), 0.1)))
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Failed("refused", f"{source} cannot be read: {reason_of(error)}") from None
    with response:
        if response.code != 200:
            raise Failed("refused", f"{source} answers {response.code} {response.reason}")
        return _seekable(response)


def _seekable(stream):
    start = stream.read(_PIECE)
    if len(start) < _PIECE:
        rest = b"".join(iter(lambda: stream.read(_PIECE), b""))
        return io.BytesIO(start + rest)
    spool = tempfile.TemporaryFile()  # noqa: SIM115 - whoever reads it closes it
    spool.write(start)
    for piece in iter(lambda: stream.read(_PIECE), b""):
        spool.write(piece)
    spool.seek(0)
    return spool


def _chosen(found, options):
    """The members that are wanted, with the leading folders dropped that shall be."""
    include, exclude = options.get("include") or [], options.get("exclude") or []
    strip = options.get("strip") or 0
    for member in found:
        name = member.name
        if include and not any(_fits(name, pattern) for pattern in include):
            continue
        if any(_fits(name, pattern) for pattern in exclude):
            continue
        parts = [part for part in name.split("/") if part not in ("", ".")][strip:]
        if parts:
            yield member.renamed("/".join(parts))


def _fits(name, pattern):
    name, pattern = name.rstrip("/"), pattern.rstrip("/")
    return fnmatch.fnmatch(name, pattern) or name.startswith(pattern + "/")


def _inside(base, place, name):
    """Refuse a member that would be written outside the folder, by its name or through a link."""
    real = os.path.realpath(os.path.dirname(place))
    if (
        name.startswith("/")
        or ".." in name.split("/")
        or (real != base and not real.startswith(base.rstrip("/") + "/"))
    ):
        raise Failed("wrong", f'the archive\'s member "{name}" would be written outside the folder; nothing more was')


# --------------------------------------------------------------------------- comparing and writing


def _difference(member, place, options):
    """What differs, in a word; None where nothing does."""
    info = info_of(place, follow=member.kind == "directory")
    if info is None:
        return "missing"
    if kind_of(info) != ("file" if member.kind == "hard" else member.kind):
        return "kind"
    if options.get("keep_newer") and member.kind == "file" and info.st_mtime > member.mtime + 1:
        return None
    if member.kind == "link":
        return None if os.readlink(place) == member.target else "target"
    if member.kind == "file":
        if info.st_size != member.size:
            return "size"
        if atomic.digest_of(place) != _digest(member):
            return "content"
    if member.kind != "hard" and attributes.differences(place, _wish(member, options), info):
        return "attributes"
    return None


def _wish(member, options):
    """The attributes that a member shall have: what is wanted, else what the archive says."""
    wish = {} if member.mode is None else {"mode": f"{member.mode:04o}"}
    if member.owner is not None and options.get("same_owner", True) and os.geteuid() == 0:
        wish["owner"], wish["group"] = _known_owner(*member.owner)
    wanted = options.get("wanted") or {}
    return dict(wish, **{name: value for name, value in wanted.items() if value is not None})


def _known_owner(user, uid, group, gid):
    """The archive's names where they are known here, else its numbers, as tar does it."""
    try:
        owner = str(attributes.user_id(user)) if user else str(uid)
    except Failed:
        owner = str(uid)
    try:
        return owner, (str(attributes.group_id(group)) if group else str(gid))
    except Failed:
        return owner, str(gid)


def _digest(member):
    digest = hashlib.sha1()
    with member.open() as stream:
        for piece in iter(lambda: stream.read(_PIECE), b""):
            digest.update(piece)
    return digest.hexdigest()


def _make(member, place, options, base):
    wanted = _wish(member, options)
    files.make_folders(os.path.dirname(place), {})
    info = info_of(place)
    if member.kind == "directory":
        if info is not None and not os.path.isdir(place):
            os.unlink(place)
        files.make_folders(place, {})
        attributes.set_on(place, wanted)
        return
    if info is not None and st.S_ISDIR(info.st_mode):
        raise Failed("wrong", f"{place} is a folder, and in the archive it is a {member.kind}")
    if member.kind in ("link", "hard"):
        if info is not None:
            os.unlink(place)
        if member.kind == "link":
            os.symlink(member.target, place)
        else:
            target = os.path.join(base, member.target)
            _inside(os.path.realpath(base), target, member.target)
            os.link(target, place)
        return
    if info is not None and st.S_ISLNK(info.st_mode):
        os.unlink(place)
    with member.open() as stream:
        atomic.write(place, stream, wanted)
    _finish(place, member)


def _finish(place, member):
    """Give it the time that the archive says."""
    os.utime(place, (member.mtime, member.mtime))
