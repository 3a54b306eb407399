"""Ends an earlier agent of the same run, whose connection was lost: what it has under way must not go on beside us."""

import os
import signal
import time

from cleanslate.remote import processes, server_state
from cleanslate.remote.registry import Failed, changes

_TICK = 0.02


@changes
def end(call, pid, start, boot_id, patience=8.0):
    """Have the agent with this pid and start time end all it has under way, and wait until it is gone.

    Gives {"ended": whether it was there}. Failed: stuck.
    """
    if boot_id != server_state.boot_id() or _gone((pid, start)):
        return {"ended": False}
    until = time.monotonic() + patience
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return {"ended": True}
    except PermissionError:
        raise Failed("stuck", "the earlier agent (pid %d) is another user's" % pid) from None
    while not _gone((pid, start)):
        if time.monotonic() > until or call.cancelled.is_set():
            raise Failed("stuck", "the earlier agent (pid %d) does not end" % pid)
        time.sleep(_TICK)
    return {"ended": True}


def _gone(key):
    found = processes.look_again(key)
    return found is None or found.gone
