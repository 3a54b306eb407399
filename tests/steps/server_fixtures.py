"""What the tests of launching and waiting share: a place for state files, a free port, and no process left behind."""

import contextlib
import os
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from cleanslate.remote import processes, server_state
from tests.steps.harness import run_step

FAKE = str(Path(__file__).with_name("fake_server.py"))


def free_port():
    """A port that nobody listens on now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Serving:
    """One test's servers. Everything they started is ended with it."""

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        self.log = folder / "logs" / "eagle3.log"

    def argv(self, *more):
        return [sys.executable, FAKE, "--port", str(self.port), *map(str, more)]

    def launch(self, *more, name="eagle3", check=False, target=None, **arguments):
        """Run launch_server for the fake server; its result."""
        given = {"name": name, "engine": "sglang", "log": str(self.log), "settle": 0.05, **arguments}
        if not {"argv", "command"} & given.keys():
            given["argv"] = self.argv(*more)
        return run_step("launch_server", given, check=check, target=target).result

    def wait(self, check=False, target=None, **arguments):
        """Run wait_healthy; its result."""
        given = {"name": "eagle3", "within": 20, "probe": {"requests": 2, "seconds": 5}, **arguments}
        return run_step("wait_healthy", given, check=check, target=target).result

    def state(self, name="eagle3"):
        return server_state.read(name)

    def end(self):
        """End every server of this test now."""
        end_servers(self.folder)


def end_servers(state_home):
    """Kill everything below the keepers whose state files lie here, and wait for the keepers to go."""
    until = time.monotonic() + 10
    keepers = []
    while time.monotonic() < until:
        table = processes.table()
        keepers = [each.pid for each in table.values() if _keeps_for(each, state_home)]
        if not keepers:
            return
        for pid in processes.descendants(keepers, table):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    raise AssertionError(f"keepers do not end: {keepers}")


def _keeps_for(process, state_home):
    if "cleanslate-keeper" not in process.argv or process.gone:
        return False
    name, launch_id = process.argv[-2:]
    states = [state_home / "cleanslate" / "servers" / f"{name}{ending}" for ending in (".json", ".end")]
    return any(launch_id in path.read_text() for path in states if path.exists())


@pytest.fixture(autouse=True)
def state_home(tmp_path, monkeypatch):
    """No step's test writes state files for the machine, nor leaves a server running."""
    home = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(home))
    yield home
    if home.exists():
        end_servers(home)


@pytest.fixture
def serving(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    made = Serving(tmp_path)
    yield made
    made.end()


def wait_until(fact, seconds=10.0):
    """Wait for something to become true; whether it did."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if fact():
            return True
        time.sleep(0.01)
    return False
