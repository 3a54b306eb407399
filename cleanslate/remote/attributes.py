"""Mode, owner, group, flags and label of a file: what they are, what they would become, and how they are set.

`wanted` is a dict with any of mode, owner, group, attributes, seuser, serole, setype, selevel, as a playbook
spells them (None: leave as it is). The same functions foretell and set, so check mode cannot disagree with apply.
"""

import errno
import grp
import os
import pwd
import stat

from cleanslate.remote import fileflags
from cleanslate.remote.modes import mode_number, mode_text, umask
from cleanslate.remote.registry import Failed


def user_name(uid):
    """A user's name, or its number as text."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def group_name(gid):
    """A group's name, or its number as text."""
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def user_id(owner):
    """The number of a user given by name or number."""
    try:
        return int(owner) if str(owner).isdigit() else pwd.getpwnam(owner).pw_uid
    except KeyError:
        raise Failed("missing", f'there is no user "{owner}" here') from None


def group_id(group):
    """The number of a group given by name or number."""
    try:
        return int(group) if str(group).isdigit() else grp.getgrnam(group).gr_gid
    except KeyError:
        raise Failed("missing", f'there is no group "{group}" here') from None


def new_bits(directory, parent, mask):
    """The bits and group that a new file or folder gets in the folder whose stat is `parent`."""
    bits = (0o777 if directory else 0o666) & ~mask
    inherits = parent is not None and bool(parent.st_mode & stat.S_ISGID)
    return (bits | stat.S_ISGID if inherits and directory else bits), (parent.st_gid if inherits else os.getegid())


def future(wanted, info, directory=False, parent=None):
    """What mode, uid and gid will be: of the thing with stat `info`, or of a new one in `parent` (info None)."""
    mask = umask()
    if info is None:
        bits, gid = new_bits(directory, parent, mask)
        uid = os.geteuid()
    else:
        bits, uid, gid = stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid
        directory = stat.S_ISDIR(info.st_mode)
    if wanted.get("owner") is not None:
        uid = user_id(wanted["owner"])
    if wanted.get("group") is not None:
        gid = group_id(wanted["group"])
    if wanted.get("mode") is not None and not (info is not None and stat.S_ISLNK(info.st_mode)):
        bits = mode_number(wanted["mode"], bits, directory, mask)
    return {"mode": bits, "uid": uid, "gid": gid}


def differences(path, wanted, info):
    """{name: [before, after]} of what would have to be set on an existing path with stat `info`."""
    after = future(wanted, info)
    found = {}
    if after["mode"] != stat.S_IMODE(info.st_mode):
        found["mode"] = [mode_text(info.st_mode), mode_text(after["mode"])]
    if after["uid"] != info.st_uid:
        found["owner"] = [user_name(info.st_uid), user_name(after["uid"])]
    if after["gid"] != info.st_gid:
        found["group"] = [group_name(info.st_gid), group_name(after["gid"])]
    if wanted.get("attributes") is not None and not stat.S_ISLNK(info.st_mode):
        now = (fileflags.flags(path) or ("", ""))[0]
        then = fileflags.wanted_flags(wanted["attributes"], now)
        if set(then) != set(now):
            found["attributes"] = [now, then]
    now = fileflags.label(path) if any(wanted.get(name) for name in fileflags.LABEL) else None
    if now is not None:
        then = fileflags.wanted_label(wanted, now)
        if then != now:
            found["secontext"] = [now, then]
    return found


def set_on(path, wanted, follow=True):
    """Set what differs on `path`; gives the differences. A link's own mode is never set: Linux has none."""
    info = os.stat(path, follow_symlinks=follow)
    found = differences(path, wanted, info)
    try:
        if "owner" in found or "group" in found:
            after = future(wanted, info)
            os.chown(path, after["uid"], after["gid"], follow_symlinks=follow)
        cleared = info.st_mode & 0o6000 and ("owner" in found or "group" in found)  # the kernel drops setuid on chown
        if ("mode" in found or cleared) and not stat.S_ISLNK(info.st_mode):
            os.chmod(path, future(wanted, info)["mode"])
        if "secontext" in found:
            fileflags.set_label(path, found["secontext"][1], follow)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EACCES, errno.EINVAL, errno.ENOTSUP):
            raise
        what = ", ".join(f"{name} {before} -> {after}" for name, (before, after) in found.items())
        raise Failed("denied", f"{path}: {user_name(os.geteuid())} may not change its {what}") from None
    if "attributes" in found:
        fileflags.set_flags(path, found["attributes"][1])
    return found


def describe(path, info=None):
    """Ansible's file fields of an existing path, of a link itself: mode, owner, group, uid, gid, size, state."""
    info = os.lstat(path) if info is None else info
    if stat.S_ISLNK(info.st_mode):
        state = "link"
    elif stat.S_ISDIR(info.st_mode):
        state = "directory"
    else:
        state = "hard" if info.st_nlink > 1 else "file"
    found = {
        "uid": info.st_uid,
        "gid": info.st_gid,
        "owner": user_name(info.st_uid),
        "group": group_name(info.st_gid),
        "mode": mode_text(info.st_mode),
        "size": info.st_size,
        "state": state,
    }
    context = fileflags.label(path)
    return found if context is None else dict(found, secontext=context)
