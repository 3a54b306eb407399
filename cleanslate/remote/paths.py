"""Where a path leads and what kind of thing is there, without any call's decisions."""

import os
import stat as st


def expand(path):
    """A path with `~` and environment variables replaced."""
    return os.path.expanduser(os.path.expandvars(path))


def kind_of(info):
    """One word for what a stat result describes: file, directory, link or other."""
    mode = info.st_mode
    if st.S_ISREG(mode):
        return "file"
    if st.S_ISDIR(mode):
        return "directory"
    return "link" if st.S_ISLNK(mode) else "other"


def info_of(path, follow=False):
    """A path's stat result, or None where nothing is there (a dangling link is nothing when followed)."""
    try:
        return os.stat(path, follow_symlinks=follow)
    except (FileNotFoundError, NotADirectoryError):
        return None


def place_of(path, name=None, follow=False):
    """Where a copy goes: `path`, or `name` in it where it is a folder or ends with a slash; links followed if asked."""
    path = expand(path)
    if name and (path.endswith("/") or os.path.isdir(path)):
        path = os.path.join(path, name)
    elif len(path) > 1:
        path = path.rstrip("/") or "/"
    return os.path.realpath(path) if follow and os.path.islink(path) else path


def parent_state(path):
    """Whether something can be made at `path`: its folder is missing, denied, a directory, or other."""
    folder = os.path.dirname(path) or "."
    if not os.path.lexists(folder):
        return "missing"
    if not os.path.isdir(folder):
        return "other"
    return "directory" if os.access(folder, os.W_OK | os.X_OK) else "denied"
