"""Takes leases away from whoever holds them, and leaves word of it for the robbed."""

import json
import os
import pwd
import time

from cleanslate.remote import journal
from cleanslate.remote.lease_places import living
from cleanslate.remote.registry import Failed


def rob(who, come_from, run):
    """Take all leases away, or those of one run; gives them. Failed: denied (another user's)."""
    robbed = []
    for lease in living():
        if run not in (None, lease["run"]):
            continue
        folder, name = os.path.split(lease["file"])
        try:
            _leave_word(folder, name, {"by": who, "from": come_from, "at": time.time(), "run": lease["run"]})
            os.unlink(lease["file"])
        except FileNotFoundError:
            continue  # it has just ended by itself
        except PermissionError:
            raise Failed("denied", "only {} or root can take this lease".format(_user(lease["uid"]))) from None
        journal.note("robbed", lease, by=who, by_from=come_from)
        robbed.append(lease)
    return robbed


def word(folder, name):
    """Who robbed the lease that lay in this file."""
    try:
        with open(os.path.join(folder, name + ".robbed"), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {"by": "somebody", "from": "this machine (the file was removed)", "at": time.time()}


def _leave_word(folder, name, said):
    """In the robbed user's folder."""
    path = os.path.join(folder, name + ".robbed")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o644)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w") as file:
        json.dump(said, file)


def _user(uid):
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return "uid {}".format(uid)
