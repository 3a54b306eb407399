"""What becomes of calls, and of what they had started, when the connection goes: cleanly, brutally, or silently."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from cleanslate.connect.connections import RunConnections
from cleanslate.errors import DeadlinePassed, OutcomeUnknown, Unreachable
from tests.connect.conftest import NOTHING, alive, read_pid
from tests.sshd import Sshd


@pytest.fixture
def server(tmp_path):
    """A server that a test may harm."""
    with Sshd(tmp_path) as server:
        yield server


@pytest.fixture
def target(server, connections):
    """A target whose connection may be gone for a second before it is unreachable."""
    options = (("ServerAliveInterval", "1"), ("ServerAliveCountMax", "1"))
    return connections.target(server.address(ssh_options=(*server.address().ssh_options, *options)))


def gone(pid, seconds=10.0):
    """Whether a process is gone within some seconds."""
    until = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    return not alive(pid)


def call_in_thread(target, name, arguments, deadline=60.0, read_only=False):
    """Make a call in a thread; gives the thread and the list that gets its error or answer."""
    got = []

    def run():
        try:
            got.append(target.call(name, arguments, deadline=deadline, read_only=read_only))
        except Exception as error:  # noqa: BLE001 - handed to the test
            got.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, got


def notice(target, seconds=10.0):
    """Wait until the loss of the target's agent was noticed, as it is within moments when the connection is closed."""
    until = time.monotonic() + seconds
    while target._client.failure is None and time.monotonic() < until:
        time.sleep(0.01)


def owning(target, tmp_path, argv, deadline=60.0):
    """A call under way that owns a process; gives its thread, result list, and the process's pid."""
    pid_file = tmp_path / f"pid-{time.monotonic_ns()}"
    arguments = {"argv": argv, "pid_file": str(pid_file)}
    thread, got = call_in_thread(target, "trial_calls.own", arguments, deadline)
    return thread, got, read_pid(pid_file)


def test_a_call_under_way_has_an_unknown_outcome(server, target, tmp_path):
    """The server's process dies: the caller learns that it cannot know, and what the call had started is ended."""
    thread, got, pid = owning(target, tmp_path, ["sleep", "60"])
    for session in server.sessions():
        os.kill(session, signal.SIGKILL)
    thread.join(10)
    assert [OutcomeUnknown] == [type(each) for each in got]
    assert gone(pid)


def test_the_next_call_opens_a_new_connection(server, target):
    """A connection lost while nothing was under way is nobody's business."""
    first = target.call("trial_calls.where", {}, deadline=10)["pid"]
    for session in server.sessions():
        os.kill(session, signal.SIGKILL)
    notice(target)
    assert first != target.call("trial_calls.where", {}, deadline=10)["pid"]


def test_a_lost_call_is_not_repeated(server, target, tmp_path):
    """Killing the agent while it runs a change: the change is made once, not twice."""
    path = tmp_path / "marks"
    script = f"echo mark >> {path}; kill -KILL $PPID; sleep 1"
    with pytest.raises(OutcomeUnknown):
        target.call("command.run", {"command": script}, deadline=10)
    target.call("trial_calls.echo", {}, deadline=10)
    assert "mark\n" == path.read_text()


@pytest.mark.slow
def test_an_agent_that_was_killed_is_started_anew(server, target):
    """The connection is kept, a new agent is started on it."""
    pid = target.call("trial_calls.where", {}, deadline=10)["pid"]
    os.kill(pid, signal.SIGKILL)
    notice(target)
    assert pid != target.call("trial_calls.where", {}, deadline=10)["pid"]


def test_a_server_that_is_gone_is_unreachable(server, target):
    """Nothing listens any more: the next call was certainly not made."""
    target.call("trial_calls.echo", {}, deadline=10)
    server.stop()
    notice(target)
    with pytest.raises(Unreachable, match=r"web|127\.0\.0\.1"):
        target.call("trial_calls.echo", {}, deadline=10)


@pytest.mark.slow
def test_a_dead_peer_is_noticed(server, connections, tmp_path):
    """The server's process is stopped, so nothing answers and nothing closes: after ServerAlive* it is over."""
    options = (("ServerAliveInterval", "1"), ("ServerAliveCountMax", "2"))
    address = server.address(ssh_options=(*server.address().ssh_options, *options))
    target = connections.target(address)
    thread, got, _ = owning(target, tmp_path, ["sleep", "60"])
    stopped = server.sessions()
    for session in stopped:
        os.kill(session, signal.SIGSTOP)
    try:
        thread.join(10)
        assert [OutcomeUnknown] == [type(each) for each in got]
        assert "silent" in str(got[0])
        assert {} == target.call("trial_calls.echo", {}, deadline=10).values
    finally:
        for session in stopped:
            os.kill(session, signal.SIGCONT)


@pytest.mark.slow
def test_a_dead_peer_does_not_hold_up_deadlines(server, connections):
    """Long before the silence is noticed, a call's own deadline ends the waiting; even with a full pipe ahead of it."""
    target = connections.target(server.address())
    target.call("trial_calls.echo", {}, deadline=10)
    stopped = server.sessions()
    for session in stopped:
        os.kill(session, signal.SIGSTOP)
    try:
        upload, got = call_in_thread(target, "trial_calls.swallow", {}, deadline=1.0)
        began = time.monotonic()
        with pytest.raises(DeadlinePassed):
            target.call("trial_calls.swallow", {}, deadline=1.0, blob=bytes(30_000_000))
        with pytest.raises((Unreachable, OutcomeUnknown, DeadlinePassed)):
            target.plain("true", deadline=1.0)
        upload.join(20)
        assert [DeadlinePassed] == [type(each) for each in got]
        assert time.monotonic() - began < 15
    finally:
        for session in stopped:
            os.kill(session, signal.SIGCONT)


@pytest.mark.slow
@pytest.mark.parametrize("trap", ["", "trap '' TERM; "])
def test_a_controller_that_is_killed_leaves_nothing_behind(server, tmp_path, trap):
    """Its children on the target are ended, with KILL if they ignore TERM; what was detached on purpose lives on."""
    pid_file, kept_file = tmp_path / "pid", tmp_path / "kept"
    script = f"{trap}setsid sleep 61 >/dev/null 2>&1 & echo $! > {kept_file}; sleep 62 & echo $! > {pid_file}; wait"
    controller_process = subprocess.Popen([sys.executable, "-c", controller(server, script)])
    pid, kept = read_pid(pid_file), read_pid(kept_file)
    controller_process.kill()
    controller_process.wait()
    try:
        assert (True, True) == (gone(pid), alive(kept))
    finally:
        os.kill(kept, signal.SIGKILL)


def controller(server, script):
    """A program that runs a command line on the server."""
    address = server.address()
    return textwrap.dedent(
        f"""
        from cleanslate.connect.connections import RunConnections
        from cleanslate.connect.target import Address
        address = Address("web", host={address.host!r}, port={address.port!r}, user={address.user!r},
                          identity_files={address.identity_files!r}, ssh_options={address.ssh_options!r})
        RunConnections().target(address).call("command.run", {{"command": {script!r}}}, deadline=60)
        """
    )


@pytest.mark.slow
def test_nothing_is_left_after_losses(server, tmp_path, sshd, leftovers):
    """Killed sessions, killed agents and a vanished server leave no thread, descriptor or process here."""
    connections = RunConnections()
    target = connections.target(server.address())
    thread, _, _ = owning(target, tmp_path, ["sleep", "60"])
    for session in server.sessions():
        os.kill(session, signal.SIGKILL)
    thread.join()
    target.call("trial_calls.echo", {}, deadline=10)
    server.stop()
    notice(target)
    with pytest.raises(Unreachable):
        target.call("trial_calls.echo", {}, deadline=2)
    connections.close()
    assert NOTHING == {**leftovers.found(), "processes": set()}


def test_reset_closes_the_connection(target, connections):
    """The next call starts another agent."""
    first = target.call("trial_calls.where", {}, deadline=10)["pid"]
    connections.reset(target.address)
    assert first != target.call("trial_calls.where", {}, deadline=10)["pid"]
