"""Flags that chattr sets, and SELinux labels, straight from the kernel: no lsattr, chattr or chcon is needed."""

import fcntl
import os
import stat
import struct

from cleanslate.remote.registry import Failed

_GET_FLAGS, _SET_FLAGS, _GET_VERSION = 0x80086601, 0x40086602, 0x80087601
_FLAGS = {  # lsattr's letters for the kernel's FS_*_FL, in lsattr's order
    "s": 0x1, "u": 0x2, "S": 0x8, "D": 0x10000, "i": 0x10, "a": 0x20, "d": 0x40, "A": 0x80, "c": 0x4,
    "E": 0x800, "j": 0x4000, "I": 0x1000, "t": 0x8000, "T": 0x20000, "e": 0x80000, "C": 0x800000,
    "x": 0x2000000, "F": 0x40000000, "N": 0x10000000, "P": 0x20000000, "V": 0x100000,
}  # fmt: skip
_FLAG_NAMES = {
    "A": "noatime", "a": "append", "c": "compressed", "C": "nocow", "D": "dirsync", "d": "nodump", "e": "extents",
    "E": "encrypted", "F": "casefold", "I": "indexed", "i": "immutable", "j": "journalled", "N": "inline",
    "P": "project", "s": "zero", "S": "synchronous", "t": "notail", "T": "topdir", "u": "undelete",
    "V": "verity", "x": "dax",
}  # fmt: skip
LABEL = ("seuser", "serole", "setype", "selevel")


def flags(path):
    """(`lsattr`'s letters, the file's generation as text), or None where the file system has none."""
    try:
        # Only files and folders: opening a device may do something to it.
        if not _plain(os.lstat(path)):
            return None
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        number = _number(handle, _GET_FLAGS)
        version = _number(handle, _GET_VERSION) & 0xFFFFFFFF
    except OSError:
        return None
    finally:
        os.close(handle)
    return "".join(letter for letter, bit in _FLAGS.items() if number & bit), str(version)


def _plain(info):
    return stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)


def _number(handle, request):
    return struct.unpack("l", fcntl.ioctl(handle, request, struct.pack("l", 0)))[0]


def flag_names(letters):
    """The words for lsattr's letters."""
    return [_FLAG_NAMES[letter] for letter in letters if letter in _FLAG_NAMES]


def wanted_flags(text, letters):
    """The letters after `+i`, `-a` or `=ai` is applied to `letters`, in lsattr's order."""
    operator, names = (text[0], text[1:]) if text[:1] in "+-=" else ("=", text)
    unknown = set(names) - set(_FLAGS)
    if unknown:
        raise Failed("wrong", f'"{"".join(sorted(unknown))}" is no file attribute of chattr')
    now = set(letters)
    after = now | set(names) if operator == "+" else now - set(names) if operator == "-" else set(names)
    return "".join(letter for letter in _FLAGS if letter in after)


def set_flags(path, letters):
    """Give `path` exactly these flags."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        number = sum(_FLAGS[letter] for letter in letters)
        fcntl.ioctl(handle, _SET_FLAGS, struct.pack("l", number))
    except OSError as error:
        raise Failed("unsupported", f"{path}: its attributes cannot be set: {(error.strerror or '').lower()}") from None
    finally:
        os.close(handle)


def label(path, follow=False):
    """The SELinux label as text, or None where there is none (or SELinux is off)."""
    if not os.path.exists("/sys/fs/selinux/enforce"):
        return None
    try:
        return os.getxattr(path, "security.selinux", follow_symlinks=follow).decode("utf-8", "replace").rstrip("\0")
    except OSError:
        return None


def wanted_label(wanted, now):
    """The label after `wanted` (seuser, serole, setype, selevel) is applied to the label `now`."""
    parts = now.split(":", 3)
    for place, name in enumerate(LABEL):
        if wanted.get(name) and wanted[name] != "_default" and place < len(parts):
            parts[place] = wanted[name]
    return ":".join(parts)


def set_label(path, text, follow=True):
    """Give `path` an SELinux label."""
    os.setxattr(path, "security.selinux", text.encode() + b"\0", follow_symlinks=follow)
