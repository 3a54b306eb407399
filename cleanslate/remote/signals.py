"""Signals that reach the process that was meant, or nobody: by pid and start time, through a pidfd if there is one."""

import ctypes
import os
import signal

from cleanslate.remote import processes

# The numbers are the same on every architecture: both calls are younger than the unified table.
_PIDFD_SEND_SIGNAL, _PIDFD_OPEN = 424, 434


def send(key, number):
    """Send a signal to (pid, start). Gives "sent", "gone" (nobody was signalled), or "denied".

    A pidfd is opened first and the start time read after it: if it is the recorded one, the descriptor can only
    mean that process, whatever becomes of its pid. Without pidfds (before Linux 5.3) a few microseconds remain
    between looking and signalling.
    """
    pid = key[0]
    if pid <= 1 or pid == os.getpid():
        return "denied"
    handle = _open(pid)
    try:
        if processes.look_again(key) is None:
            return "gone"
        if handle is None:
            os.kill(pid, number)
        else:
            _send(handle, number)
    except ProcessLookupError:
        return "gone"
    except PermissionError:
        return "denied"
    finally:
        if handle is not None:
            os.close(handle)
    return "sent"


def name(number):
    """A signal's name as people say it (`TERM`, `KILL`)."""
    return signal.Signals(number).name[3:]


def _open(pid):
    """A pidfd, or None where the kernel has none or the process is gone."""
    if hasattr(os, "pidfd_open"):
        try:
            return os.pidfd_open(pid)
        except OSError:
            return None
    handle = ctypes.CDLL(None, use_errno=True).syscall(_PIDFD_OPEN, pid, 0)
    return handle if handle >= 0 else None


def _send(handle, number):
    if hasattr(signal, "pidfd_send_signal"):
        signal.pidfd_send_signal(handle, number)
        return
    if ctypes.CDLL(None, use_errno=True).syscall(_PIDFD_SEND_SIGNAL, handle, number, None, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
