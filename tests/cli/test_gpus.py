"""`inv gpus`: one reading in a pipe, a table that is drawn anew on a terminal."""

from __future__ import annotations

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


def test_in_a_pipe_it_reads_once(hosts):
    done = inv("gpus", "-i", hosts)
    assert (0, ["here: no GPU", "there: no GPU"]) == (done.returncode, done.stdout.splitlines())


def test_json_has_every_host(hosts):
    told = json.loads(inv("gpus", "there", "--json", "-i", hosts).stdout)
    assert {"there": 0} == {host: result["count"] for host, result in told.items()}


def test_a_pattern_that_matches_nothing_is_refused(hosts):
    done = inv("gpus", "nobody", "-i", hosts)
    assert (64, True) == (done.returncode, 'the pattern "nobody" matches no host' in done.stderr)


def on_terminal(*words):
    """Start inv on a terminal of its own; (process, our end of the terminal)."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cleanslate.cli", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=REPOSITORY,
        env={**os.environ, "TERM": "xterm"},
        start_new_session=True,
    )
    os.close(theirs)
    return process, ours


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
    process, ours = on_terminal("gpus", "-i", hosts)
    shown = read_until(ours, "Ctrl-C ends", count=3)
    os.kill(process.pid, signal.SIGINT)
    assert (0, 3) == (process.wait(10), shown.count("Ctrl-C ends"))
    os.close(ours)


@pytest.mark.slow
def test_once_on_a_terminal_is_once(hosts):
    process, ours = on_terminal("gpus", "--once", "-i", hosts)
    shown = read_until(ours, "never said")
    assert (0, 0, 1) == (process.wait(10), shown.count("Ctrl-C ends"), shown.count("there: no GPU"))
    os.close(ours)
