"""The driver's daemons while processes around them are ended: who ran before still runs afterwards.

One is stopped only when somebody names it, and then through its service or with TERM: a killed dcgm-exporter froze the
GPUs of a whole machine (NVIDIA/dcgm-exporter#84).
"""

import os
import shutil
import signal
import subprocess
import time

from cleanslate.remote import containers, processes, protection
from cleanslate.remote.ladder import Ladder

_SERVICE_SECONDS = 60.0
_START_SECONDS = 10.0


def running(table):
    """The driver's daemons that run now, as [{name, pid, start, unit}]."""
    found = []
    for process in table.values():
        name = None if process.kernel or process.gone else protection.protector(process, protection.DAEMONS)
        if name:
            unit = containers.unit(process.pid)
            found.append({"name": name, "pid": process.pid, "start": process.start, "unit": unit})
    return found


def stop(call, wanted, seconds):
    """Stop daemons [{pid, start, title, unit}]: through their service, else TERM, never KILL. Gives each with `how`."""
    told = []
    by_hand = []
    for daemon in wanted:
        if daemon["unit"] and _systemctl(call, "stop", daemon["unit"]):
            told.append(dict(daemon, how="systemctl stop %s" % daemon["unit"]))
        else:
            by_hand.append(daemon)
    found = [processes.look_again((daemon["pid"], daemon["start"])) for daemon in by_hand]
    living = [(process, "allowed by name") for process in found if process is not None]
    ladder = Ladder(call, living, [process.key for process, _ in living], lambda known: [])
    ladder.run(True, seconds, 0, kill=False)
    told += [dict(daemon, how="TERM") for daemon in by_hand]
    for daemon in told:
        daemon["ended"] = processes.ended((daemon["pid"], daemon["start"])) is not None
    return told


def verify(call, before, stopped):
    """What became of the daemons that ran before; one that went without being asked to is started again.

    Gives [{name, pid, unit, now}]; now: alive, stopped (asked for), restarted (another process), started (by us), gone.
    """
    asked = {(daemon["pid"], daemon["start"]) for daemon in stopped}
    told = []
    for daemon in before:
        key = (daemon["pid"], daemon["start"])
        if processes.ended(key) is None:
            now = "alive"
        elif key in asked:
            now = "stopped"
        elif _again(daemon["name"]):
            now = "restarted"
        else:
            now = "started" if _start(call, daemon) else "gone"
        told.append(dict(daemon, now=now))
    return told


def _again(name):
    return any(each["name"] == name for each in running(processes.table()))


def _start(call, daemon):
    if not daemon["unit"] or not _systemctl(call, "start", daemon["unit"]):
        return False
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until and not call.cancelled.wait(0.1):
        if _again(daemon["name"]):
            return True
    return False


def _systemctl(call, verb, unit):
    """Whether systemd did it; False where there is no systemd or it refused."""
    tool = shutil.which("systemctl")
    if tool is None or not os.path.isdir("/run/systemd/system"):
        return False
    process = subprocess.Popen(
        [tool, "--no-ask-password", verb, unit],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    call.own(process)
    try:
        return process.wait(timeout=_SERVICE_SECONDS) == 0
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return False
