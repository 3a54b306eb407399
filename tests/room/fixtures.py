"""Fixtures of the machine room; a test module imports those that it uses."""

import contextlib
import os
import signal
import time
import uuid
from pathlib import Path

import pytest

from tests.room import HERE, Room, compile_c


@pytest.fixture(scope="session")
def actor(tmp_path_factory):
    """The program that plays every process of a stage; the pretend nvidia-smi lies beside it."""
    folder = tmp_path_factory.mktemp("room")
    compile_c(HERE / "smi.c", folder / "nvidia-smi")
    return compile_c(HERE / "actor.c", folder / "actor")


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    """A folder with the pretend NVML and CUDA, as a driver installs them."""
    folder = tmp_path_factory.mktemp("libraries")
    compile_c(HERE / "nvml.c", folder / "libnvidia-ml.so.1", "-shared", "-fPIC")
    compile_c(HERE / "cuda.c", folder / "libcuda.so.1", "-shared", "-fPIC")
    return folder


@pytest.fixture(scope="session")
def standing_rooms(tmp_path_factory, actor):
    """The rooms that tests share one after the other: a new one costs a Python's start."""
    made = {}

    def stand(name, **options):
        if name not in made:
            made[name] = Room(tmp_path_factory.mktemp(name), actor, **options)
        return made[name]

    yield stand
    for room in made.values():
        room.close()


@pytest.fixture
def room(standing_rooms):
    """A room without NVML, empty."""
    room = standing_rooms("room")
    yield room
    room.sweep()


@pytest.fixture
def gpu_room(standing_rooms, libraries):
    """A room in which NVML can be loaded; it shows eight empty GPUs until it is told otherwise."""
    room = standing_rooms("gpu-room", libraries=libraries)
    room.nvml("count 8")
    yield room
    room.sweep()


@pytest.fixture
def rooms(tmp_path, actor):
    """Make rooms of one's own, with another Python or other libraries."""
    made = []

    def make(**options):
        room = Room(tmp_path / f"room{len(made)}", actor, **options)
        made.append(room)
        return room

    yield make
    for room in made:
        room.close()


class Freezer:
    """A cgroup whose processes sleep uninterruptibly and obey no KILL until it is thawed, as in a hung driver."""

    def __init__(self):
        self.folder = Path("/sys/fs/cgroup/freezer") / f"cleanslate-{uuid.uuid4().hex[:8]}"
        self.folder.mkdir()

    def freeze(self, room, pid):
        """Freeze a process of a room."""
        into = f"echo {pid} > {self.folder}/cgroup.procs && echo FROZEN > {self.folder}/freezer.state"
        room.spawn("/bin/sh", "-c", into)
        while room.look(pid)["state"] != "D":
            time.sleep(0.005)

    def thaw(self):
        """Let go of everything, and vanish."""
        (self.folder / "freezer.state").write_text("THAWED")
        until = time.monotonic() + 5
        for process in (self.folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        while (self.folder / "cgroup.procs").read_text() and time.monotonic() < until:
            time.sleep(0.01)
        self.folder.rmdir()


@pytest.fixture
def freezer(room):
    """Made after the room, and thawed before it is swept."""
    made = Freezer()
    yield made
    made.thaw()
