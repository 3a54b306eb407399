"""`inv gpus`: one reading in a pipe, a table that is drawn anew on a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time

import pytest

from tests.cli.test_inv import REPOSITORY, inv

INVENTORY = "here ansible_connection=local\nthere ansible_connection=local\n"


@pytest.fixture
def hosts(tmp_path):
    (tmp_path / "hosts").write_text(INVENTORY)
    return str(tmp_path / "hosts")


@pytest.mark.slow
def test_in_a_pipe_it_reads_once(hosts):
    done = inv("gpus", "-i", hosts)
    assert (0, ["here: no GPU", "there: no GPU"]) == (done.returncode, done.stdout.splitlines())


def test_json_has_every_host(hosts):
    told = json.loads(inv("gpus", "there", "--json", "-i", hosts).stdout)
    assert {"there": 0} == {host: result["count"] for host, result in told.items()}


def test_a_pattern_that_matches_nothing_is_refused(hosts):
    done = inv("gpus", "nobody", "-i", hosts)
    assert (64, True) == (done.returncode, 'the pattern "nobody" matches no host' in done.stderr)


def _hear_control_c():
    """Whoever runs the tests in the background of a script has them, and all that they start, ignore this signal."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextlib.contextmanager
def terminal(*words):
    """Start inv on a terminal of its own; (process, our end of the terminal). It ends with the block."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cleanslate.cli", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=REPOSITORY,
        env={**os.environ, "TERM": "xterm"},
        start_new_session=True,
        preexec_fn=_hear_control_c,
    )
    os.close(theirs)
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def read_until(ours, wanted, count=1, seconds=30.0):
    """What the terminal shows until a text has come so often, or the end."""
    text, end = "", time.monotonic() + seconds
    while text.count(wanted) < count and time.monotonic() < end:
        if not select.select([ours], [], [], 0.2)[0]:
            continue
        try:
            text += os.read(ours, 65536).decode()
        except OSError:
            break
    return text


@pytest.mark.slow
def test_on_a_terminal_it_goes_on_until_control_c(hosts):
    """Wherever it comes: half of these meet a reading, half the pause between two."""
    for moment in (0.0, 0.4, 0.8, 1.02):
        with terminal("gpus", "-i", hosts) as (process, ours):
            shown = read_until(ours, "Ctrl-C ends", count=2)
            time.sleep(moment)
            os.kill(process.pid, signal.SIGINT)
            assert (0, 2) == (process.wait(20), shown.count("Ctrl-C ends"))


@pytest.mark.slow
def test_once_on_a_terminal_is_once(hosts):
    with terminal("gpus", "--once", "-i", hosts) as (process, ours):
        shown = read_until(ours, "never said")
        assert (0, 0, 1) == (process.wait(20), shown.count("Ctrl-C ends"), shown.count("there: no GPU"))
