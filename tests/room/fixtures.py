"""Fixtures of the machine room; a test module imports those that it uses."""

import pytest

from tests.room import HERE, Room, compile_c


@pytest.fixture(scope="session")
def actor(tmp_path_factory):
    """The program that plays every process of a stage."""
    return compile_c(HERE / "actor.c", tmp_path_factory.mktemp("room") / "actor")


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
