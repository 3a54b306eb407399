"""What is known about launched servers: one small JSON file a server, on the target, that outlives the agent.

A process group cannot be looked up once its leader is gone, and a pid alone may belong to a stranger by now. So
the launch writes down pid, start time, group and session while they are certain, and whoever stops or waits for
the server reads them here.

    {"name", "launch_id", "pid", "start", "pgid", "sid", "argv", "env_digest", "chdir", "log", "port", "engine",
     "launched_at", "boot_id", "pid_namespace", ...}

`start` is field 22 of /proc/PID/stat (clock ticks since boot). Readers must not expect more than the first line
of names, and must keep what they do not know.
"""

import json
import os
import re
import tempfile
from pathlib import Path

from cleanslate.remote import processes
from cleanslate.remote.registry import Failed, reads

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")
_SHARED = Path("/var/lib")


def folder():
    """The folder of this user's state files: $XDG_STATE_HOME, /var/lib for root, ~/.local/state otherwise."""
    given = os.environ.get("XDG_STATE_HOME")
    if given and os.path.isabs(given):
        base = Path(given)
    else:
        base = _SHARED if os.geteuid() == 0 else Path(os.path.expanduser("~/.local/state"))
    return base / "cleanslate" / "servers"


def path(name):
    """Where a server's state is written; Failed("wrong") for a name that is not a plain word."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Failed("wrong", f'"{name}" is not a server name: use letters, digits, dots, dashes (100 at most)')
    return folder() / f"{name}.json"


def read(name):
    """The state of a server, or None where there is none: this user's own, else the one that root wrote."""
    own = path(name)
    for place in dict.fromkeys([own, _SHARED / "cleanslate" / "servers" / own.name]):
        state = load(place)
        if state is not None and not isinstance(state.get("pid"), int):
            raise Failed("wrong", f"the state file {place} does not describe a server", path=str(place))
        if state is not None:
            return state
    return None


def load(place):
    """What a file of this folder says, or None where there is none; Failed names one that cannot be believed."""
    try:
        state = json.loads(place.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:
        raise Failed("denied", f"the state of the server in {place} is not readable for this user") from None
    except (OSError, ValueError) as error:
        raise Failed("wrong", f"the state file {place} cannot be read: {error}", path=str(place)) from None
    if not isinstance(state, dict):
        raise Failed("wrong", f"the state file {place} does not describe a server", path=str(place))
    return state


def write(state):
    """Write a server's state, whole or not at all; gives its path. Only this user can read it (it holds an argv)."""
    place = path(state["name"])
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{place.name}.", dir=str(place.parent))
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(state, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, str(place))
    except BaseException:
        os.unlink(temporary)
        raise
    return place


def remove(name):
    """Forget a server; gives whether there was anything to forget."""
    try:
        path(name).unlink()
    except FileNotFoundError:
        return False
    return True


def names():
    """The names of all servers that this user's state folder knows, sorted."""
    try:
        found = [entry.name[:-5] for entry in folder().iterdir() if entry.name.endswith(".json")]
    except OSError:
        return []
    return sorted(name for name in found if _NAME.fullmatch(name))


def boot_id():
    """The kernel's id of this boot, or None where it does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None


def pid_namespace(pid="self"):
    """The PID namespace of a process (`pid:[4026531836]`), or None where it is gone or not ours to see."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def alive(state):
    """Whether the launched process itself still lives: this boot, this PID namespace, same start, no zombie."""
    if state.get("boot_id") not in (None, boot_id()):
        return False
    if state.get("pid_namespace") not in (None, pid_namespace()):
        return False
    now = processes.look_again((state["pid"], state.get("start")))
    return now is not None and not now.gone


@reads
def show(call, name):
    """Give {"exists", "alive", "state", "path"} for a server's name."""
    state = read(name)
    return {"exists": state is not None, "alive": bool(state and alive(state)), "state": state, "path": str(path(name))}
