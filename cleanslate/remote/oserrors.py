"""Turns the operating system's errors into sentences with a kind, so that no step shows a person a traceback."""

import errno
from contextlib import contextmanager

from cleanslate.remote.registry import Failed

_KINDS = {
    errno.ENOENT: "missing",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.EROFS: "denied",
    errno.EEXIST: "exists",
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
}


def failed(error, doing=""):
    """The Failed for an OSError: `kind`, and "doing: path: reason"."""
    path = error.filename2 or error.filename
    if isinstance(path, bytes):
        path = path.decode("utf-8", "replace")
    reason = (error.strerror or str(error) or type(error).__name__).lower()
    text = ": ".join(part for part in (doing, str(path) if path is not None else "", reason) if part)
    return Failed(_KINDS.get(error.errno, "wrong"), text, errno=error.errno or 0)


@contextmanager
def told(doing=""):
    """Raise a Failed for every OSError within; also usable as a decorator."""
    try:
        yield
    except OSError as error:
        raise failed(error, doing) from error
