"""Ends an agent of a run that is over without having said so, when another run goes on with it.

The controller is gone, and a dead connection may keep its agent, its lease and whatever it is about for hours.
"""

import contextlib
import os
import signal

PATIENCE = 10.0  # seconds in which such an agent ends all that it has under way


def end(lease):
    """Ask the agent that holds this lease (as `leases` lists it) to end; nobody else is ever signalled."""
    pid = lease.get("pid")
    if isinstance(pid, int) and pid > 1 and pid != os.getpid() and _holds(pid, lease["file"]):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGTERM)


def _holds(pid, path):
    """Whether a process has this very file open; False where one may not look."""
    folder = "/proc/%d/fd" % pid
    try:
        wanted = os.stat(path)
        names = os.listdir(folder)
    except OSError:
        return False
    for name in names:
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(os.path.join(folder, name)), wanted):
                return True
    return False
