"""Ctrl-C and SIGTERM: what runs on the targets ends, `always` parts run, and the person is told where it stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cleanslate.record import list_runs, read_events
from tests.story.practice import Story

REPOSITORY = Path(__file__).parents[2]
PLAY = """\
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - block:
        - name: The long one
          shell: echo $$ > {{ workdir }}/pid; sleep 600
        - name: Never reached
          shell: touch {{ workdir }}/reached
      rescue:
        - name: A stop is not rescued
          shell: touch {{ workdir }}/rescued
      always:
        - name: The end
          shell: touch {{ workdir }}/always
"""


def start(folder: Path, play: str = PLAY) -> subprocess.Popen:
    """Start the play, and wait until its long command runs."""
    (folder / "play.yml").write_text(play)
    environment = {**os.environ, "NO_COLOR": "1", "INVOKE_CLEANSLATE_RUNS": str(folder / "runs")}
    words = ["play", str(folder / "play.yml"), "-i", "localhost,", "-e", f"workdir={folder}"]
    running = subprocess.Popen(
        [sys.executable, "-m", "cleanslate.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        env=environment,
        cwd=REPOSITORY,
        start_new_session=True,
    )
    until = time.monotonic() + 30
    while not (folder / "pid").is_file() or not (folder / "pid").read_text().strip():
        assert time.monotonic() < until, "the long command did not start"
        time.sleep(0.02)
    return running


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_stops_in_order(tmp_path, number):
    """The remote command ends, always runs, nothing is rescued or begun, exit 130, and the record says where."""
    running = start(tmp_path)
    running.send_signal(number)
    told, _ = running.communicate(timeout=30)
    assert 130 == running.returncode, told
    assert not alive(int((tmp_path / "pid").read_text()))
    assert [True, False, False] == [(tmp_path / name).exists() for name in ("always", "rescued", "reached")]
    assert "stopped at: The long one" in told
    (summary,) = list_runs(tmp_path / "runs")
    assert ("interrupted", 130) == (summary.outcome, summary.exit_code)


@pytest.mark.slow
def test_a_killed_controller_takes_its_remote_command_along(tmp_path):
    """SIGKILL leaves a record that reads back, and no command running on the target."""
    running = start(tmp_path)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate(timeout=30)
    pid = int((tmp_path / "pid").read_text())
    until = time.monotonic() + 15
    while alive(pid):
        assert time.monotonic() < until, "the command outlived its run"
        time.sleep(0.05)
    (summary,) = list_runs(tmp_path / "runs")
    assert summary.outcome is None
    assert "step.started" == list(read_events(summary.folder))[-1].kind


@pytest.mark.slow
def test_the_second_signal_stops_at_once(tmp_path):
    """An `always` part that takes long is waited for once only; the record has its end, and nothing runs on."""
    running = start(tmp_path, PLAY.replace("touch {{ workdir }}/always", "touch {{ workdir }}/always; sleep 600"))
    running.send_signal(signal.SIGINT)
    until = time.monotonic() + 30
    while not (tmp_path / "always").exists():
        assert time.monotonic() < until, "always did not begin"
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    told, _ = running.communicate(timeout=20)
    assert (130, True) == (running.returncode, "to go on: inv resume" in told), told
    (summary,) = list_runs(tmp_path / "runs")
    assert ("interrupted", "run.finished") == (summary.outcome, list(read_events(summary.folder))[-1].kind)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_launched_server_is_not_harmed_by_a_stop(tmp_path):
    """Ctrl-C while the run waits for it: the server goes on starting, and the resumed run finds it."""
    story = Story(tmp_path)
    try:
        story.trouble("busy-silent")
        running = story.play()
        assert story.until_begun("Healthy means it answers, not that a port is open", running)
        running.send_signal(signal.SIGINT)
        assert 130 == running.wait(60), story.said()
        code, told = story.inv("resume", "last")
        assert 0 == code, told
        story.assert_one_server()
    finally:
        story.close()
