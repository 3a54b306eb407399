"""Plain commands: no Python, no agent; output kept at both ends, deadlines, and what is left running."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from cleanslate.connect.plain import KEEP
from cleanslate.errors import DeadlinePassed, Interrupted
from tests.connect.conftest import alive, read_pid


@pytest.fixture(params=["ssh", "local"])
def target(request):
    return request.getfixturevalue({"ssh": "web", "local": "local"}[request.param])


def test_it_gives_both_outputs_and_the_exit_code(target):
    answer = target.plain("echo out; echo err >&2; exit 3", deadline=10)
    expected = {"rc": 3, "stdout": "out\n", "stderr": "err\n", "stdout_cut": False, "stderr_cut": False}
    assert expected == answer.values


def test_bytes_that_are_no_text_are_replaced(target):
    assert "a\ufffdb" == target.plain("printf 'a\\377b'", deadline=10)["stdout"]


@pytest.mark.parametrize("size", [0, 10, 1_000_000])
def test_standard_input_is_sent(target, tmp_path, size):
    """Bytes and files."""
    file = tmp_path / "input"
    file.write_bytes(bytes(size))
    for stdin in (bytes(size), file):
        assert f"{size}\n" == target.plain("wc -c", stdin=stdin, deadline=20)["stdout"].lstrip()


def test_input_that_nobody_reads_does_not_block(target):
    assert 0 == target.plain("true", stdin=bytes(5_000_000), deadline=20)["rc"]


def test_long_output_is_cut_in_the_middle(target):
    """Both ends are kept, and what is missing is said."""
    answer = target.plain("echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last", deadline=20)
    text = answer["stdout"]
    missing = 3_000_000 + len("first\n\nlast\n") - 2 * KEEP
    assert (True, True, True) == (answer["stdout_cut"], text.startswith("first\nxxx"), text.endswith("xxx\nlast\n"))
    assert f"\n... {missing} bytes cut ...\n" in text


@pytest.mark.slow
def test_the_deadline_ends_the_whole_group(target, tmp_path):
    """TERM to all of it; the child of the shell is gone as well."""
    pid_file = tmp_path / "pid"
    with pytest.raises(DeadlinePassed, match="did not end in time, and was ended"):
        target.plain(f"sleep 60 & echo $! > {pid_file}; wait", deadline=0.5)
    pid = read_pid(pid_file)
    until = time.monotonic() + 5
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not alive(pid)


@pytest.mark.slow
def test_kill_follows_term(target, tmp_path):
    """For a command that ignores TERM: it is gone, well before the test's own limit."""
    target.plain("true", deadline=20)
    with pytest.raises(DeadlinePassed):
        target.plain(f"trap '' TERM; echo $$ > {tmp_path}/pid; while :; do sleep 0.1; done", deadline=2)
    pid = read_pid(tmp_path / "pid")
    until = time.monotonic() + 5
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not alive(pid)


def test_cancelling_ends_it(target, tmp_path):
    """Interrupted, not failed."""
    raised = []

    def run():
        try:
            target.plain(f"echo $$ > {tmp_path}/pid; sleep 60", deadline=60)
        except Interrupted as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    read_pid(tmp_path / "pid")
    target.cancel()
    thread.join(20)
    assert 1 == len(raised)


def test_what_is_left_running_holds_nothing_up(target, tmp_path):
    """Though it keeps the streams of the command open."""
    pid_file = tmp_path / "pid"
    began = time.monotonic()
    answer = target.plain(f"sleep 61 & echo $! > {pid_file}; echo done", deadline=20)
    pid = read_pid(pid_file)
    try:
        assert ("done\n", True, True) == (answer["stdout"], alive(pid), time.monotonic() - began < 10)
    finally:
        os.kill(pid, signal.SIGKILL)


def test_many_at_once_wait_for_a_free_session(target):
    """More than a server takes on one connection."""
    codes = []

    def run():
        codes.append(target.plain("sleep 0.1", deadline=30)["rc"])

    threads = [threading.Thread(target=run) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [0] * 20 == codes
