"""What answers inside a test's room: makes the agent's calls, starts actors. Runs on every Python that targets have."""

import importlib
import io
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

from cleanslate.remote import processes, server_state
from cleanslate.remote.registry import Call, Failed


def say(what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class RoomCall(Call):
    def __init__(self, seconds):
        super().__init__(left=seconds, blob=io.BytesIO())
        self._until = time.monotonic() + seconds

    def left(self):
        return self._until - time.monotonic()

    def progress(self, **facts):
        say({"progress": facts})


def make_call(request):
    module, _, function = request["name"].partition(".")
    found = getattr(importlib.import_module("cleanslate.remote." + module), function)
    assert found.is_call
    if request["read_only"] and not found.read_only:
        return {"failed": {"kind": "refused", "message": request["name"], "details": {}}}
    try:
        return {"answer": found(RoomCall(request["deadline"]), **request["arguments"])}
    except Failed as error:
        return {"failed": {"kind": error.kind, "message": error.message, "details": error.details}}


def spawn(request):
    """Start it through a shell that ends at once, so that it belongs to the room's first process."""
    line = '"$@" </dev/null >/dev/null 2>&1 &'
    subprocess.check_call(["/bin/sh", "-c", line, "sh"] + request["argv"])
    return {"answer": None}


def kill(request):
    os.kill(request["pid"], signal.SIGKILL)
    return {"answer": None}


def look(request):
    found = processes.look(request["pid"])
    return {"answer": found.tell() if found else None}


def marked(request):
    """The pids of the actors that carry a mark in their environment, whatever namespace they are in."""
    found = []
    for pid in processes.table():
        try:
            actor = Path(f"/proc/{pid}/exe").resolve().name == "actor"
        except OSError:
            continue
        environment = processes.read_bytes(f"/proc/{pid}/environ") or b""
        if actor and request["mark"].encode() in environment.split(b"\0"):
            found.append(pid)
    return {"answer": sorted(found)}


def launched(request):
    now = processes.look(request["pid"])
    state = {
        "name": request["name"],
        "launch_id": "l1",
        "pid": now.pid,
        "start": now.start,
        "pgid": now.pgid,
        "sid": now.sid,
        "argv": now.argv,
        "env_digest": "",
        "chdir": "/",
        "log": None,
        "port": None,
        "engine": None,
        "launched_at": time.time(),
        "boot_id": server_state.boot_id(),
        "pid_namespace": server_state.pid_namespace(),
    }
    state.update(request["more"])
    server_state.write(state)
    return {"answer": state}


def sweep(request):
    """End everything but the room's first process and this one, and wait until it is reaped."""
    while True:
        others = [pid for pid in processes.table() if pid not in (1, os.getpid())]
        if not others:
            return {"answer": None}
        for pid in others:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)
            except (ProcessLookupError, ChildProcessError):
                continue
        time.sleep(0.002)


def main():
    acts = {
        "sweep": sweep,
        "kill": kill,
        "marked": marked,
        "call": make_call,
        "spawn": spawn,
        "look": look,
        "launched": launched,
    }
    for line in sys.stdin:
        request = json.loads(line)
        try:
            say(acts[request["do"]](request))
        except Exception:  # noqa: BLE001 - whatever it is, the test shows it
            say({"bug": traceback.format_exc()})


os.environ.pop("PYTHONPATH", None)
main()
