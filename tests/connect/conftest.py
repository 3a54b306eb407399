"""A server for the tests that only use one, connections that are always closed, and a watch for what is left over."""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path

import pytest

from cleanslate.connect import bundle
from cleanslate.connect.connections import RunConnections
from cleanslate.connect.target import Address
from tests.sshd import Sshd, descendants, keys


@pytest.fixture(scope="session")
def sshd(tmp_path_factory):
    with Sshd(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture(autouse=True)
def probes(monkeypatch):
    """The calls of trial_calls.py can be made."""
    monkeypatch.setattr(bundle, "_FOLDERS", [*bundle._FOLDERS, Path(__file__).parent])


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """No test reads the ssh configuration or known hosts of whoever runs it, nor uses their ssh agent."""
    home = tmp_path / "controller"
    (home / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return home


@pytest.fixture
def open_connections():
    """Makes RunConnections; all are closed at the end."""
    made = []

    def make(**options):
        connections = RunConnections(**options)
        made.append(connections)
        return connections

    yield make
    for connections in made:
        connections.close()


@pytest.fixture
def connections(open_connections):
    return open_connections()


@pytest.fixture(scope="session")
def shared():
    """Connections for tests that do no harm to them."""
    connections = RunConnections()
    yield connections
    connections.close()


@pytest.fixture
def web(shared, sshd):
    """A target behind ssh."""
    return shared.target(sshd.address())


@pytest.fixture
def local(shared):
    """The machine that the tests run on, as a target."""
    return shared.target(Address("here", kind="local"))


class Leftovers:
    """Threads, descriptors and processes of this process that were not there before."""

    def __init__(self, apart_from):
        self.apart_from = apart_from
        self.before = self.now()

    def now(self):
        servers = {self.apart_from, *descendants(self.apart_from)}
        return {
            "threads": {thread for thread in threading.enumerate() if thread.is_alive()},
            "descriptors": {entry.name for entry in Path("/proc/self/fd").iterdir()},
            "processes": set(descendants(os.getpid())) - servers,  # the server's sessions come and go
        }

    def found(self, seconds=3.0):
        """What is left after a moment in which the rest may still end."""
        until = time.monotonic() + seconds
        while True:
            gc.collect()
            now = self.now()
            left = {kind: now[kind] - self.before[kind] for kind in now}
            # The list of descriptors holds the one that reads it.
            left["descriptors"] = {fd for fd in left["descriptors"] if Path("/proc/self/fd", fd).exists()}
            if not any(left.values()) or time.monotonic() > until:
                return left
            time.sleep(0.02)


NOTHING = {"threads": set(), "descriptors": set(), "processes": set()}


@pytest.fixture
def leftovers(sshd):
    """Found nothing left over? Ask after everything was closed."""
    keys()
    return Leftovers(sshd.pid)


def read_pid(path, seconds=10.0):
    """The pid in a file that is about to be written."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if path.exists() and path.read_text():
            return int(path.read_text())
        time.sleep(0.01)
    raise AssertionError(f"{path} was not written")


def alive(pid):
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
