"""A launched server outlives everything that launched it: the agent, the connection, the login (real sshd)."""

import os
import signal
import threading

import pytest

from cleanslate.connect.connections import RunConnections
from cleanslate.connect.target import Address
from cleanslate.model import Status
from cleanslate.remote import processes, server_state
from cleanslate.runner.apply import apply_step, validate
from cleanslate.steps.registry import step_type
from tests.sshd import SYSTEM_PATH, Sshd
from tests.steps.harness import Context

pytestmark = pytest.mark.slow


@pytest.fixture
def connections():
    made = RunConnections()
    yield made
    made.close()


@pytest.fixture
def sshd(serving):
    """A server whose sessions keep state files where the test's own calls look for them."""
    with Sshd(serving.folder, path=f"{SYSTEM_PATH} XDG_STATE_HOME={serving.folder}") as made:
        yield made


def step(target, kind, /, **arguments):
    found = step_type(kind)
    return apply_step(found, validate(found, arguments), Context(target), target, check=False).result


def launch(serving, target, *more):
    given = {"name": "eagle3", "argv": serving.argv(*more), "engine": "sglang", "log": str(serving.log), "settle": 0}
    result = step(target, "launch_server", **given)
    assert Status.CHANGED == result.status, result
    return result


def test_it_outlives_the_agent_of_a_local_connection(serving):
    connections = RunConnections()
    agent = connections.target(Address("here", kind="local"))
    launch(serving, agent)
    connections.close()
    assert Status.OK == serving.wait().status


def test_it_outlives_a_session_that_is_killed_and_a_new_one_finds_it(serving, sshd, connections):
    launch(serving, connections.target(sshd.address()), "--pace", 0.1)
    for pid in sshd.sessions():
        os.kill(pid, signal.SIGKILL)
    again = RunConnections()
    result = step(again.target(sshd.address()), "wait_healthy", name="eagle3", within=20)
    again.close()
    assert (Status.OK, 200) == (result.status, result.data["http"])


def test_it_carries_nothing_of_the_session(serving, sshd, connections):
    result = launch(serving, connections.target(sshd.address()))
    environ = processes.read_bytes(f"/proc/{result.data['pid']}/environ")
    assert b"SSH_CONNECTION=" not in environ
    table = processes.table()
    above = table[table[result.data["pid"]].ppid]
    assert ("cleanslate-keep", result.data["pid"]) == (above.comm, table[result.data["pid"]].sid)
    assert not {pid for pid in sshd.sessions() if pid in (above.ppid, above.sid)}


def test_a_wait_that_loses_its_connection_goes_on_over_another(serving, sshd, connections):
    """The session is killed while the step waits: the server goes on starting, and so does the wait."""
    target = connections.target(sshd.address())
    launched = launch(serving, target, "--pace", 0.3)
    cut = threading.Timer(0.5, lambda: [os.kill(pid, signal.SIGKILL) for pid in sshd.sessions()])
    cut.start()
    waited = step(target, "wait_healthy", name="eagle3", within=30)
    cut.join()
    argv = serving.argv("--pace", 0.3)
    relaunched = step(target, "launch_server", name="eagle3", argv=argv, engine="sglang", log=str(serving.log))
    assert (Status.OK, Status.OK) == (waited.status, relaunched.status)
    assert launched.data["pid"] == relaunched.data["pid"]


def test_in_a_container_of_its_own_it_is_known_by_the_pid_in_there(serving, connections):
    with Sshd(serving.folder, path=f"{SYSTEM_PATH} XDG_STATE_HOME={serving.folder}", namespaces=True) as inside:
        target = connections.target(inside.address())
        result = launch(serving, target)
        waited = step(target, "wait_healthy", name="eagle3", within=20)
        state = server_state.read("eagle3")
        seen = (result.data["pid"], server_state.alive(state))
        connections.close()
    assert Status.OK == waited.status
    assert (state["pid"], False) == seen, "the same number out here is somebody else"
