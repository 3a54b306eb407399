"""A signal reaches the process of that pid *and* start time, or nobody."""

import os
import signal
import subprocess

import pytest

from cleanslate.remote import processes, signals


@pytest.fixture
def sleeper():
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def test_the_process_that_was_meant_is_signalled(sleeper):
    key = processes.look(sleeper.pid).key
    assert ("sent", -signal.SIGTERM) == (signals.send(key, signal.SIGTERM), sleeper.wait(10))


def test_a_stranger_with_the_same_pid_is_not(sleeper):
    pid, start = processes.look(sleeper.pid).key
    assert ["gone", "gone"] == [signals.send((pid, start + moved), signal.SIGKILL) for moved in (-1, 1)]
    assert None is sleeper.poll()


def test_without_pidfds_the_start_time_decides_too(sleeper, monkeypatch):
    """Before Linux 5.3 there are none."""
    monkeypatch.setattr(signals, "_open", lambda pid: None)
    pid, start = processes.look(sleeper.pid).key
    assert ("gone", None) == (signals.send((pid, start + 1), signal.SIGKILL), sleeper.poll())
    assert ("sent", -signal.SIGKILL) == (signals.send((pid, start), signal.SIGKILL), sleeper.wait(10))


def test_what_is_gone_is_told_as_gone(sleeper):
    key = processes.look(sleeper.pid).key
    sleeper.kill()
    sleeper.wait()
    assert "gone" == signals.send(key, signal.SIGTERM)


@pytest.mark.parametrize("pid", [0, 1, -1])
def test_pid_1_and_whole_groups_are_never_signalled(pid):
    now = processes.look(1)
    assert "denied" == signals.send((pid, now.start), signal.SIGCONT)


def test_we_never_signal_ourselves():
    assert "denied" == signals.send(processes.look(os.getpid()).key, signal.SIGTERM)
