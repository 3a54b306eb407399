"""A lab's life: up, down, what it is like now, and what was broken in it."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import select
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cleanslate.lab import faults
from cleanslate.lab.alive import boot_id, process_ids, running_pid, start_of, stat_fields
from cleanslate.lab.hardware import Hardware, NoHardware
from cleanslate.lab.layout import MACHINES, Layout
from cleanslate.lab.room import smi_client

_SERVER_PORT = 30000
_PATIENCE = 20.0
_REAPED_WITHIN = 0.3


class LabError(Exception):
    """The lab cannot do what was asked; the text says why and what to do."""


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Hold the folder's lock, so that two commands do not build or tear down one lab at once."""
    while True:
        root.mkdir(parents=True, exist_ok=True)
        handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), root.stat()):  # else the other command has removed it
                    yield
                    return
        finally:
            os.close(handle)


def _layout(root: Path) -> Layout:
    root = root.absolute()
    if any(mark in str(root) for mark in ":\n\"'\\"):
        raise LabError(f'the lab cannot lie in "{root}": PATH and ssh cannot name a folder with : or quotes in it')
    return Layout(root)


def up(root: Path, find_hardware: Callable[[], Hardware] = Hardware) -> None:
    """Bring the lab up as the story begins, unless it is up. What is left of a dead one is cleared away."""
    layout = _layout(root)
    with _alone(layout.root):
        if running_pid(str(layout.root)) is None:
            _clear(layout)
            try:
                hardware = find_hardware()
            except NoHardware as error:
                raise LabError(str(error)) from None
            _start(_layout(root), hardware)


def _start(layout: Layout, hardware: Hardware) -> None:
    from cleanslate.lab import build, daemon
    from cleanslate.lab.namespaces import find_isolation
    from cleanslate.lab.plan import Plan

    identity = secrets.token_hex(8)
    isolation = find_isolation()
    build.build(layout, identity, hardware)
    doors = {name: _door(0) for name in MACHINES}
    ports = {name: door.getsockname()[1] for name, door in doors.items()}
    build.make_keys(layout, ports)
    server_port = _SERVER_PORT if isolation.network else _free_port(_SERVER_PORT)
    reading, writing = os.pipe()
    plan = Plan(layout, identity, isolation, doors, ports, _driver_socket(layout), server_port, writing)
    facts = build.inventory(layout, ports, server_port, identity, isolation)
    pid = daemon.launch(plan)
    os.close(writing)
    layout.pid.write_text(f"{pid} {start_of(pid)} {boot_id()}\n", encoding="ascii")
    facts["lab"]["protected"] = _wait_until_up(layout, reading)
    for door in [*doors.values(), plan.driver]:
        door.close()
    temporary = layout.inventory.with_suffix(".new")
    temporary.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    temporary.replace(layout.inventory)


def _wait_until_up(layout: Layout, reading: int) -> str:
    said = b""
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        if select.select([pipe], [], [], layout.hardware.patience + _PATIENCE)[0]:
            said = pipe.read(4096)
    if said:
        return said.decode().strip()
    told = layout.log.read_text(encoding="utf-8", errors="replace") if layout.log.exists() else ""
    _kill(layout)
    raise LabError(f"the lab did not come up; its log ends so:\n{told[-2000:]}")


def _door(port: int) -> socket.socket:
    door = socket.socket()
    door.bind(("127.0.0.1", port))
    door.listen(128)
    return door


def _free_port(wanted: int) -> int:
    """The port that was wanted, else any: without a network of its own the lab shares this computer's."""
    for port in (wanted, 0):
        with suppress(OSError), _door(port) as door:
            return int(door.getsockname()[1])
    raise LabError("no free port on 127.0.0.1")


def _driver_socket(layout: Layout) -> socket.socket:
    """The driver's socket, bound through a descriptor: a socket's address may have 107 bytes only."""
    made = socket.socket(socket.AF_UNIX)
    folder = os.open(layout.run, os.O_RDONLY | os.O_DIRECTORY)
    try:
        made.bind(f"/proc/self/fd/{folder}/driver.sock")
    finally:
        os.close(folder)
    return made


# ----------------------------------------------------------------------------- down


def down(root: Path, *, keep: bool = False) -> bool:
    """End every process of the lab and remove its folder (`keep` leaves the files); gives whether there was a lab."""
    layout = _layout(root)
    if not layout.root.exists():
        return False
    with _alone(layout.root):
        there = layout.identity.exists() or layout.pid.exists()
        _kill(layout)
        if keep:
            for path in (layout.pid, layout.inventory):
                path.unlink(missing_ok=True)
        else:
            _clear(layout)
            layout.root.rmdir()
        return there


def _clear(layout: Layout) -> None:
    """Remove what a lab left in its folder, after its processes; refuse a folder that is not a lab's."""
    entries = list(layout.root.iterdir())
    if entries and not (layout.identity.exists() or layout.pid.exists()):
        raise LabError(f'"{layout.root}" is not empty and not a lab: choose another --root, or empty it')
    _kill(layout)
    for entry in sorted(entries, key=lambda path: path == layout.identity):  # the mark goes last
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink(missing_ok=True)


def _kill(layout: Layout) -> None:
    """End every process of the lab. In its PID namespace, the death of the first is the death of all."""
    first = running_pid(str(layout.root))
    deadline = time.monotonic() + _PATIENCE
    while pids := _processes(layout, first):
        # The first process goes last: as long as it lives, orphans stay below it and can be found.
        for pid in pids[:-1] or pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise LabError(f"processes of the lab do not die: {', '.join(map(str, pids))}")
        time.sleep(0.005)
    # Its threads and its namespace end a moment after its main thread; where nobody reaps, a dead entry stays.
    reaped = time.monotonic() + _REAPED_WITHIN
    while first is not None and stat_fields(first) is not None and time.monotonic() < reaped:
        time.sleep(0.005)


def _processes(layout: Layout, first: int | None) -> list[int]:
    """The living processes of the lab that can be found from here, the first one last."""
    from cleanslate.lab.driver import scan

    try:
        identity = layout.identity.read_text(encoding="ascii").strip()
    except OSError:
        identity = ""
    mark = f"CLEANSLATE_LAB={identity}\0".encode() if identity else None
    parents: dict[int, int] = {}
    marked: set[int] = set()
    for pid in process_ids():
        fields = stat_fields(pid)
        if fields and fields[0] not in "ZX":
            parents[pid] = int(fields[1])
            if mark and _has_environment(pid, mark):
                marked.add(pid)
    marked |= {pid for pid, _ in scan(layout.devices, layout.hardware.gpus)}
    if first in parents:
        marked |= {pid for pid in parents if first in _ancestors(pid, parents)}
    marked -= {os.getpid(), os.getppid(), *(() if first is None else (first,))}
    found = sorted(pid for pid in marked if pid in parents)
    return [*found, first] if first is not None and first in parents else found


def _has_environment(pid: int, mark: bytes) -> bool:
    try:
        return mark in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def _ancestors(pid: int, parents: dict[int, int]) -> set[int]:
    found: set[int] = set()
    while pid in parents and pid not in found:
        found.add(pid)
        pid = parents[pid]
    return found


# ----------------------------------------------------------------------------- status and break


def _ask(layout: Layout, word: str) -> str:
    try:
        return smi_client.ask(str(layout.run), [word])[1].decode()
    except OSError as error:
        raise LabError(f"the lab's driver does not answer ({error}); start again: inv lab down, inv lab up") from None


def status(root: Path) -> dict[str, Any]:
    """{"up", "root", "faults", and when up "machines", "isolation", "protected", "gpus"}."""
    layout = _layout(root)
    pid = running_pid(str(layout.root))
    if pid is None:
        return {"up": False, "root": str(layout.root), "faults": faults.asked(layout)}
    facts = json.loads(layout.inventory.read_text(encoding="utf-8"))
    machines = {name: {"port": host["ansible_port"]} for name, host in facts["hosts"].items()}
    return {
        "up": True,
        "root": str(layout.root),
        "pid": pid,
        "faults": faults.asked(layout),
        "machines": machines,
        "isolation": facts["lab"]["isolation"],
        "protected": facts["lab"]["protected"],
        "gpus": json.loads(_ask(layout, "state")),
    }


def break_(root: Path, names: list[str]) -> list[str]:
    """Ask for faults (`none` takes all back); gives those that hold now."""
    layout = _layout(root)
    if running_pid(str(layout.root)) is None:
        raise LabError("the lab is not up; start it with: inv lab up")
    if layout.hardware.real and "slow-release" in names:
        raise LabError("these GPUs are real: their driver gives memory back when it does")
    now = faults.ask_for(layout, names)
    if "orphan-outside" in names:
        _ask(layout, "orphan")
    return now
