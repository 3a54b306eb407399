"""Everything about one path, under the names of Ansible's stat."""

import contextlib
import grp
import os
import pwd
import stat as st
import subprocess

from cleanslate.remote import atomic, fileflags
from cleanslate.remote.oserrors import told
from cleanslate.remote.paths import expand, info_of
from cleanslate.remote.registry import Failed, reads

_SNIFFED = 8192


@reads
@told()
def stat(call, path, follow=False, digest=None, mime=False, flags=False):
    """Ansible's `stat` fields of a path; only {exists: False} where nothing is there.

    digest: the algorithm for `checksum` (None: no checksum). mime: tell `mimetype` and `charset`. flags: tell
    what lsattr does.
    """
    path = expand(path)
    info = info_of(path, follow)
    if info is None:
        return {"exists": False}
    found = plain_facts(path, info)
    found.update(_access(path))
    if st.S_ISLNK(info.st_mode):
        found["lnk_source"] = os.path.realpath(path)
        found["lnk_target"] = os.readlink(path)
    if digest and found["isreg"] and found["readable"]:
        try:
            found["checksum"] = atomic.digest_of(path, digest)
        except ValueError:
            raise Failed("wrong", f'no digest is called "{digest}" here') from None
    if mime:
        found["mimetype"], found["charset"] = _mime(path, info)
    if flags:
        letters, version = fileflags.flags(path) or ("", None)
        found.update(attr_flags=letters, attributes=fileflags.flag_names(letters), version=version)
    return found


def plain_facts(path, info):
    """What a stat result tells, without another look at the path."""
    mode = info.st_mode
    found = {
        "exists": True,
        "path": path,
        "mode": f"{st.S_IMODE(mode):04o}",
        "isdir": st.S_ISDIR(mode),
        "ischr": st.S_ISCHR(mode),
        "isblk": st.S_ISBLK(mode),
        "isreg": st.S_ISREG(mode),
        "isfifo": st.S_ISFIFO(mode),
        "islnk": st.S_ISLNK(mode),
        "issock": st.S_ISSOCK(mode),
        "uid": info.st_uid,
        "gid": info.st_gid,
        "size": info.st_size,
        "inode": info.st_ino,
        "dev": info.st_dev,
        "nlink": info.st_nlink,
        "atime": info.st_atime,
        "mtime": info.st_mtime,
        "ctime": info.st_ctime,
        "isuid": bool(mode & st.S_ISUID),
        "isgid": bool(mode & st.S_ISGID),
        "blocks": info.st_blocks,
        "block_size": info.st_blksize,
        "device_type": info.st_rdev,
    }
    for letter, name in ((6, "usr"), (3, "grp"), (0, "oth")):
        for bit, permission in ((4, "r"), (2, "w"), (1, "x")):
            found[permission + name] = bool(mode & (bit << letter))
    with contextlib.suppress(KeyError):  # Ansible leaves the field out for an owner without a name
        found["pw_name"] = pwd.getpwuid(info.st_uid).pw_name
    with contextlib.suppress(KeyError):
        found["gr_name"] = grp.getgrgid(info.st_gid).gr_name
    return found


def _access(path):
    return {
        "readable": os.access(path, os.R_OK),
        "writeable": os.access(path, os.W_OK),
        "executable": os.access(path, os.X_OK),
    }


def _mime(path, info):
    """(type, charset) as `file` tells them; a modest guess of our own where there is no `file`."""
    try:
        done = subprocess.run(
            ["file", "--mime-type", "--mime-encoding", "-b", path],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
        )
        kind, _, charset = done.stdout.decode("utf-8", "replace").strip().partition("; charset=")
        if done.returncode == 0 and charset:
            return kind, charset
    except (OSError, subprocess.TimeoutExpired):
        pass
    return _guess(path, info)


def _guess(path, info):
    if not os.path.exists(path):
        return "unknown", "unknown"  # a link that leads to nothing
    for test, kind in ((st.S_ISDIR, "inode/directory"), (st.S_ISLNK, "inode/symlink"), (st.S_ISFIFO, "inode/fifo")):
        if test(info.st_mode):
            return kind, "binary"
    if not st.S_ISREG(info.st_mode):
        return "inode/special", "binary"
    if not info.st_size:
        return "inode/x-empty", "binary"
    try:
        with open(path, "rb") as file:
            start = file.read(_SNIFFED)
    except OSError:
        return "unknown", "unknown"
    import mimetypes

    named = mimetypes.guess_type(path)[0]
    for charset in ("us-ascii", "utf-8"):
        try:
            start.decode(charset)
        except UnicodeDecodeError as error:
            if charset == "us-ascii" or error.start < len(start) - 3 or len(start) < _SNIFFED:
                continue
        if b"\0" not in start:
            return named or "text/plain", charset
    return named or "application/octet-stream", "binary"
