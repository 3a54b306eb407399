"""Starts the lab's processes away from the terminal, and shields this computer from them."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from cleanslate.lab import namespaces
from cleanslate.lab.hypervisor import run_hypervisor
from cleanslate.lab.plan import Plan

_WRITABLE = ("/tmp", "/var/tmp", "/dev")
_HIDDEN = ("/run/systemd", "/run/dbus", "/run/user", "/run/docker", "/run/podman", "/run/containerd")


def launch(plan: Plan) -> int:
    """Start the lab's processes, detached from this one; gives the hypervisor's pid as this process sees it."""
    reading, writing = os.pipe()

    def daemon() -> None:
        os.setsid()
        os.close(reading)
        _detach(plan, keep={plan.ready, writing})
        if plan.isolation.pid:
            namespaces.unshare_machine(plan.isolation, network=plan.isolation.network)
            protect(plan)
            namespaces.unshare(namespaces.CLONE_NEWPID)
        pid = namespaces.fork(lambda: run_hypervisor(plan))
        os.write(writing, b"%d" % pid)

    child = namespaces.fork(daemon)
    os.close(writing)
    text = os.read(reading, 32)
    os.close(reading)
    os.waitpid(child, 0)
    if not text:
        raise RuntimeError("the first process ended early")
    return int(text)


def protect(plan: Plan) -> None:
    """Shield this computer from what runs in the lab, as far as the kernel lets us."""
    if not plan.isolation.pid:
        return
    root = str(plan.layout.root)
    try:
        hidden = [path for path in _HIDDEN if not root.startswith(path)]
        namespaces.protect([*_WRITABLE, root], hidden)
        plan.protected = "yes"
    except OSError as error:
        plan.protected = f"no: {error}"


def _detach(plan: Plan, keep: set[int]) -> None:
    """Let go of the terminal, the folder and every descriptor that `lab up` was started with."""
    log = os.open(plan.layout.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    keep = keep | {0, 1, 2, plan.driver.fileno(), *(door.fileno() for door in plan.doors.values())}
    for entry in list(Path("/proc/self/fd").iterdir()):
        if int(entry.name) not in keep:
            with contextlib.suppress(OSError):
                os.close(int(entry.name))
    os.chdir("/")
    os.umask(0o022)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - the descriptors are new, the names are not
    sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115 - as above
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115 - as above
