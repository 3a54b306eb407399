"""A connection that was lost comes back: what only looks goes on, what changes is not done twice at once."""

from __future__ import annotations

import os
import signal
import time

import pytest

from cleanslate.errors import Unreachable
from tests.connect.conftest import alive, read_pid
from tests.connect.test_lost import call_in_thread, notice, owning
from tests.sshd import Sshd

SHORT = (("ServerAliveInterval", "1"), ("ServerAliveCountMax", "2"))


@pytest.fixture
def server(tmp_path):
    """A server that a test may harm."""
    with Sshd(tmp_path) as server:
        yield server


@pytest.fixture
def target(server, connections):
    """A target whose loss is noticed, and borne, for two seconds."""
    return connections.target(server.address(ssh_options=(*server.address().ssh_options, *SHORT)))


def until_begun(target, count=1, seconds=10.0):
    """Wait until calls are under way."""
    end = time.monotonic() + seconds
    while target._client is None or len(target._client._calls) < count:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.slow
def test_a_look_that_was_under_way_is_taken_again(server, target):
    """It changes nothing, so nobody need hear of it."""
    thread, got = call_in_thread(target, "trial_calls.wait", {"seconds": 1.0}, read_only=True)
    until_begun(target)
    time.sleep(0.2)
    for session in server.sessions():
        os.kill(session, signal.SIGKILL)
    thread.join(15)
    assert [True] == [answer["count"] > 10 for answer in got]


@pytest.mark.slow
def test_a_server_that_comes_back_is_waited_for(server, target):
    """A restart of sshd takes a moment."""
    target.call("trial_calls.echo", {}, deadline=10)
    server.stop()
    notice(target)
    thread, got = call_in_thread(target, "trial_calls.echo", {"a": 1}, read_only=True)
    time.sleep(0.7)
    server.start()
    thread.join(15)
    assert [{"a": 1}] == [answer.values for answer in got]


@pytest.mark.slow
def test_a_server_that_does_not_come_back_is_unreachable_in_time(server, target):
    target.call("trial_calls.echo", {}, deadline=10)
    server.stop()
    notice(target)
    began = time.monotonic()
    with pytest.raises(Unreachable):
        target.call("trial_calls.echo", {}, deadline=30)
    assert time.monotonic() - began < 15
    with pytest.raises(Unreachable):  # and the next call is not kept waiting
        target.call("trial_calls.echo", {}, deadline=30)


@pytest.mark.slow
def test_what_a_lost_agent_is_about_ends_before_anything_else_is_begun(server, target, tmp_path):
    """The connection is dead and the other side does not know: its change must not go on beside the next one."""
    thread, _, pid = owning(target, tmp_path, ["sleep", "60"])
    old = read_pid(next(tmp_path.glob("pid-*")))
    stopped = server.sessions()
    for session in stopped:
        os.kill(session, signal.SIGSTOP)
    try:
        thread.join(15)
        assert (old, True) == (pid, alive(pid))
        target.call("trial_calls.echo", {}, deadline=20)
        assert not alive(pid)
    finally:
        for session in stopped:
            os.kill(session, signal.SIGCONT)


@pytest.mark.slow
def test_an_agent_that_is_left_alone_ends(server, connections, tmp_path):
    """Nobody comes back, and nothing closes: after some silence it ends what it is about, and itself."""
    options = (("ServerAliveInterval", "1"), ("ServerAliveCountMax", "1"))
    target = connections.target(server.address(ssh_options=(*server.address().ssh_options, *options)))
    thread, _, pid = owning(target, tmp_path, ["sleep", "60"])
    time.sleep(0.5)  # it has been told how long to wait
    stopped = server.sessions()
    for session in stopped:
        os.kill(session, signal.SIGSTOP)
    try:
        thread.join(15)
        end = time.monotonic() + 15
        while alive(pid):
            assert time.monotonic() < end, "it goes on for ever"
            time.sleep(0.1)
    finally:
        for session in stopped:
            os.kill(session, signal.SIGCONT)
