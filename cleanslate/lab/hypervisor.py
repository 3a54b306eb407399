"""The hypervisor: the first process of the lab, who carries the driver and ends with the container."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import time
from collections.abc import Callable

from cleanslate.lab import namespaces
from cleanslate.lab.container import make_container
from cleanslate.lab.driver import Driver
from cleanslate.lab.layout import CONTAINER, HYPERVISOR, VMID
from cleanslate.lab.pipes import Children
from cleanslate.lab.plan import Plan, listen, settle
from cleanslate.lab.real_driver import RealDriver
from cleanslate.lab.room.sglang import title
from cleanslate.lab.room.sglang.memory import open_devices


def run_hypervisor(plan: Plan) -> None:
    """Be the hypervisor (the first process of its PID namespace), until the lab ends."""
    title.set_title(f"cleanslate lab: {HYPERVISOR}")
    _fresh_signals()
    settle(plan, HYPERVISOR)
    if plan.isolation.network:
        namespaces.raise_loopback()
    _start_watcher(plan)
    commands, orders = socket.socketpair()
    tells, told = os.pipe()
    namespaces.fork(lambda: make_container(plan, commands, told))
    commands.close()
    os.close(told)
    plan.doors[CONTAINER].close()
    with os.fdopen(tells, encoding="ascii") as lines:
        words = dict(line.split() for line in lines)
    if "listening" not in words:
        raise RuntimeError("the container did not come up; the log says why")
    if plan.isolation.pid and not plan.layout.hardware.real:
        namespaces.hide_real_driver()
    asyncio.run(_hypervise(plan, int(words["pid"]), orders))


def _fresh_signals() -> None:
    """Forget what the shell that ran `lab up` had ignored or blocked."""
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as Python has it; its children get the default


def _start_watcher(plan: Plan) -> None:
    """Have a daemon that keeps all GPUs open and holds none, as a real hypervisor has."""

    def watch() -> None:
        plan.let_go()
        os.setsid()
        title.set_title("nvidia-persistenced")
        hardware = plan.layout.hardware
        for gpu in range(hardware.gpus):
            open_devices(str(hardware.devices(plan.layout.devices)), gpu)
        while True:
            signal.pause()

    namespaces.fork(watch)


async def _hypervise(plan: Plan, container: int, orders: socket.socket) -> None:
    layout, children, ending = plan.layout, Children(), asyncio.Event()
    children.watch(container, lambda _: ending.set())
    children.start()
    inside = namespaces.pid_namespace(container) if plan.isolation.pid else None
    driver = (RealDriver if layout.hardware.real else Driver)(layout, plan.identity, inside)
    driver.make_orphan = lambda: _order_orphan(orders)
    server = await asyncio.start_unix_server(driver.serve, sock=plan.driver)
    await listen(plan, HYPERVISOR, children)
    facts = {
        "vmid": VMID,
        "name": CONTAINER,
        "pid": container,
        "namespaces": plan.isolation.pid,
        "environment": layout.environment(CONTAINER),
    }
    layout.container_facts.write_text(json.dumps(facts), encoding="utf-8")
    driver.make_orphan()
    await _until(driver.everything_held, layout.hardware.patience, "the GPUs are not held")
    os.write(plan.ready, f"{plan.protected}\n".encode())
    os.close(plan.ready)
    tasks = [asyncio.create_task(work) for work in (driver.watch(), _end_without_folder(plan, ending))]
    await ending.wait()
    for task in tasks:
        task.cancel()
    server.close()


def _order_orphan(orders: socket.socket) -> None:
    orders.sendall(b"o")
    orders.recv(1)


async def _until(holds: Callable[[], bool], seconds: float, otherwise: str) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError(otherwise)
        await asyncio.sleep(0.02)


async def _end_without_folder(plan: Plan, ending: asyncio.Event) -> None:
    """End the lab when somebody removes its folder, or builds another lab there."""
    while True:
        await asyncio.sleep(1.0)
        try:
            found = plan.layout.identity.read_text(encoding="ascii").strip()
        except OSError:
            found = ""
        if found != plan.identity:
            ending.set()
