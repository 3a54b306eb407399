"""The container: its first process, the server that hangs in it, and the orphans that it cannot see."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from cleanslate.lab import namespaces
from cleanslate.lab.alive import boot_id, start_of
from cleanslate.lab.build import CONTEXT
from cleanslate.lab.layout import CONTAINER, SERVER
from cleanslate.lab.pipes import Children
from cleanslate.lab.plan import Plan, listen, settle
from cleanslate.lab.room.sglang import title
from cleanslate.lab.room.sglang.memory import GIB, hold, open_devices


def make_container(plan: Plan, commands: socket.socket, told: int) -> None:
    """Make the container's namespaces, and stay outside its PID namespace to make orphans that it cannot see."""
    if plan.isolation.pid:
        namespaces.unshare_machine(plan.isolation, network=False)
    outside = None
    if plan.isolation.pid and plan.layout.hardware.real:
        outside = namespaces.Outside(plan.layout.outside)

    def enter() -> None:
        commands.close()
        if plan.isolation.pid:
            namespaces.unshare(namespaces.CLONE_NEWPID)
        pid = namespaces.fork(lambda: _run_container(plan, told))
        os.write(told, f"pid {pid}\n".encode())

    title.set_title("cleanslate lab: orphan maker")
    os.waitpid(namespaces.fork(enter), 0)
    os.close(told)
    plan.let_go()
    while commands.recv(1):
        os.waitpid(namespaces.fork(lambda: _fork_orphan(plan, commands, outside)), 0)
        commands.sendall(b"o")


def _fork_orphan(plan: Plan, commands: socket.socket, outside: namespaces.Outside | None) -> None:
    """Leave a worker behind that nobody is the parent of: it holds a GPU and ignores TERM."""
    reading, writing = os.pipe()
    hardware = plan.layout.hardware
    gpu, devices = hardware.gpus - 1, str(hardware.devices(plan.layout.devices))

    def orphan() -> None:
        os.close(reading)
        os.setsid()
        commands.close()
        title.set_title(f"sglang::scheduler_TP{gpu}")
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open_devices(devices, gpu)
        if outside:
            outside.enter()
        hold(devices, gpu, int(hardware.orphan * GIB), real=hardware.real)
        if outside:
            outside.leave()
        os.close(writing)
        while True:
            signal.pause()

    namespaces.fork(orphan)
    os.close(writing)
    os.read(reading, 1)  # ends when the orphan holds the GPU


def _run_container(plan: Plan, told: int) -> None:
    """Be the container (the first process of its PID namespace), until the lab ends."""
    title.set_title(f"cleanslate lab: {CONTAINER}")
    settle(plan, CONTAINER)
    if plan.isolation.pid and not plan.layout.hardware.real:
        namespaces.hide_real_driver()
    asyncio.run(_contain(plan, told))


async def _contain(plan: Plan, told: int) -> None:
    children = Children()
    children.start()
    plan.let_go(keep=CONTAINER)
    await listen(plan, CONTAINER, children)
    launch_stuck_server(plan)
    os.write(told, b"listening yes\n")
    os.close(told)
    await asyncio.Event().wait()


def stuck_argv(plan: Plan) -> list[str]:
    """The command line of the server that hangs when the story begins."""
    layout = plan.layout
    return [
        *(str(layout.server_python), "-m", "sglang.launch_server", "--model-path", str(layout.models / "target")),
        *("--tp", str(layout.hardware.gpus), "--host", "127.0.0.1", "--port", str(plan.server_port)),
        *("--context-length", str(CONTEXT // 2), "--speculative-algorithm", "EAGLE3"),
        *("--speculative-draft-model-path", str(layout.draft_snapshot)),
    ]


def launch_stuck_server(plan: Plan) -> None:
    """Start the server that hangs, and write down what `launch_server` would have written down."""
    layout, argv = plan.layout, stuck_argv(plan)
    environment = {
        **layout.environment(CONTAINER),
        "CLEANSLATE_LAB": plan.identity,
        "CLEANSLATE_LAB_STUCK": str(layout.hardware.stuck),
    }
    with layout.server_log.open("ab") as log:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            cwd=layout.home(CONTAINER),
            start_new_session=True,
        )
    process.returncode = 0  # reaped with everybody else's children
    state = {
        "name": SERVER,
        "launch_id": "before-the-story",
        "pid": process.pid,
        "start": int(start_of(process.pid) or 0),
        "pgid": process.pid,
        "sid": process.pid,
        "argv": argv,
        "env_digest": None,
        "chdir": str(layout.home(CONTAINER)),
        "log": str(layout.server_log),
        "port": plan.server_port,
        "engine": "sglang",
        "launched_at": time.time(),
        "boot_id": boot_id(),
        "pid_namespace": namespaces.pid_namespace(),
    }
    folder = Path(environment["XDG_STATE_HOME"]) / "cleanslate" / "servers"
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{SERVER}.json"
    place.touch(mode=0o600)
    place.write_text(json.dumps(state, indent=1) + "\n", encoding="utf-8")
