"""Runs that are left alone, lose their terminal, or lose their controller: they are followed, stopped, gone on with."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cleanslate.record import list_runs, read_events, read_run

REPOSITORY = Path(__file__).parents[2]
pytestmark = pytest.mark.slow

PLAY = """\
- hosts: localhost
  gather_facts: false
  tasks:
    - name: one
      lineinfile: {path: "{{ workdir }}/log", line: one, create: true}
      register: first
    - block:
        - name: waits
          wait_for: {path: "{{ workdir }}/go", timeout: 60}
      always:
        - name: always
          shell: echo always >> {{ workdir }}/always
    - name: two
      lineinfile: {path: "{{ workdir }}/log", line: "two {{ first.changed }}"}
"""


def _hear_of_lost_terminals() -> None:
    """Whoever runs the tests with nohup has them, and all that they start, ignore this signal."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Alone:
    """`inv` on this machine, with records and leases of a test's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / "runs"
        self.play = folder / "play.yml"
        self.play.write_text(PLAY)
        (folder / "hosts.ini").write_text("localhost ansible_connection=local\n")
        self.environment = {
            **os.environ,
            "NO_COLOR": "1",
            "INVOKE_CLEANSLATE_RUNS": str(self.runs),
            "CLEANSLATE_LEASES": str(folder / "leases"),
        }

    def start(self, *words: str, **environment: str) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-m", "cleanslate.cli", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            preexec_fn=_hear_of_lost_terminals,
            text=True,
            env={**self.environment, **environment},
            cwd=REPOSITORY,
            start_new_session=True,
        )

    def start_play(self, *words: str, **environment: str) -> subprocess.Popen:
        given = ("-i", str(self.folder / "hosts.ini"), "-e", f"workdir={self.folder}")
        return self.start("play", str(self.play), *given, *words, **environment)

    def inv(self, *words: str) -> tuple[int, str]:
        running = self.start(*words)
        told, _ = running.communicate(timeout=90)
        return running.returncode, told

    def until_waiting(self) -> None:
        """Wait until the newest run is at its waiting step."""
        end = time.monotonic() + 60
        while True:
            runs = list_runs(self.runs)
            if runs and "waits" in [
                e.data.get("name") for e in read_events(runs[0].folder) if e.kind == "step.started"
            ]:
                return
            assert time.monotonic() < end
            time.sleep(0.05)

    def lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def alone(tmp_path):
    return Alone(tmp_path)


def test_a_run_in_the_background_is_followed_stopped_and_gone_on_with(alone):
    """`--detach` gives the id at once; attach tells it from its beginning; stop lets `always` run; resume ends it."""
    starting = alone.start_play("--detach")
    told, _ = starting.communicate(timeout=60)
    assert 0 == starting.returncode, told
    run = told.split()[0]
    alone.until_waiting()
    following = alone.start("attach", run)
    code, told = alone.inv("stop", run)
    assert (0, True) == (code, f"inv resume {run}" in told), told
    said, _ = following.communicate(timeout=60)
    assert (130, True, True) == (following.returncode, "STEP one" in said, "RECAP interrupted" in said), said
    assert (["one"], ["always"]) == (alone.lines("log"), alone.lines("always"))
    assert "STEP one" in (alone.runs / run / "said.log").read_text()
    assert [] == [path.name for path in alone.runs.iterdir() if path.name.startswith(".")]
    (alone.folder / "go").touch()
    code, told = alone.inv("resume", run)
    assert 0 == code, told
    assert (["one", "two True"], ["always", "always"]) == (alone.lines("log"), alone.lines("always"))
    assert "localhost  done before" in told
    assert f"goes on with {run}" in alone.inv("show")[1]
    assert f"goes on with {run}" in alone.inv("runs")[1]
    assert run == read_run(list_runs(alone.runs)[0].folder)["resume_of"]
    assert 64 == alone.inv("stop", run)[0]


@pytest.mark.parametrize(("choice", "code"), [("stop", 130), ("continue", 0)])
def test_a_lost_terminal_stops_the_run_or_not_as_chosen(alone, choice, code):
    running = alone.start_play(INVOKE_CLEANSLATE_ON_HANGUP=choice)
    alone.until_waiting()
    running.send_signal(signal.SIGHUP)
    if choice == "continue":
        time.sleep(0.3)
        (alone.folder / "go").touch()
    told, _ = running.communicate(timeout=60)
    assert code == running.returncode, told
    assert (code == 130) == ("to go on: inv resume" in told)


def test_a_command_that_may_have_run_is_not_repeated_unasked(alone):
    """Nobody knows how far it came: the person decides, and nothing is contacted before."""
    alone.play.write_text(
        "- hosts: localhost\n  gather_facts: false\n  tasks:\n    - name: waits\n"
        "      shell: echo begun >> {{ workdir }}/log; test -e {{ workdir }}/go || sleep 60\n"
    )
    running = alone.start_play()
    alone.until_waiting()
    end = time.monotonic() + 30
    while not alone.lines("log"):
        assert time.monotonic() < end
        time.sleep(0.02)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate(timeout=30)
    (alone.folder / "go").touch()
    code, told = alone.inv("resume")
    assert (64, True) == (code, 'step "waits"' in told and "--unfinished" in told), told
    first = list_runs(alone.runs)[0].id
    assert (0, ["begun"]) == (
        alone.inv("resume", first, "--unfinished", "done", "--wait", "30s")[0],
        alone.lines("log"),
    )
    assert (0, ["begun"] * 2) == (alone.inv("resume", first, "--unfinished", "again", "--force")[0], alone.lines("log"))


@pytest.mark.timeout(300)
def test_killed_at_random_moments_it_ends_as_if_it_had_not_been(alone):
    """SIGKILL, resume, SIGKILL, resume ...: each record reads back, nothing is done twice, and nothing is held."""
    alone.play.write_text(
        "- hosts: localhost\n  gather_facts: false\n  lease: true\n  tasks:\n"
        + "".join(
            f"    - name: step {n}\n      lineinfile: {{path: '{{{{ workdir }}}}/log', line: '{n}', create: true}}\n"
            f"    - name: nap {n}\n      shell: sleep 0.3\n      changed_when: false\n"
            for n in range(12)
        )
    )
    chance = random.Random(7)
    (alone.folder / "go").touch()
    running, kills = alone.start_play(), 0
    for _ in range(12):
        time.sleep(chance.uniform(0.5, 2.5))
        os.kill(running.pid, signal.SIGKILL) if running.poll() is None else None
        running.communicate(timeout=30)
        runs = list_runs(alone.runs)
        if running.returncode == 0:
            break
        kills += 1
        for run in runs:
            assert read_run(run.folder)["id"] == run.id
            list(read_events(run.folder))
        running = alone.start("resume", "last", "--wait", "30s") if runs else alone.start_play()
    told, _ = running.communicate(timeout=90)
    assert 0 == running.returncode, told
    assert kills
    assert [str(n) for n in range(12)] == alone.lines("log")
    changed = [
        event.data["step"]
        for run in list_runs(alone.runs)
        for event in read_events(run.folder)
        if event.kind == "host.finished" and event.data["status"] == "changed" and not event.data.get("resumed")
    ]
    assert 12 >= len(changed) >= 12 - kills  # what a kill left untold is found done, and not done again
    assert [] == list((alone.folder / "leases").glob("*.lease"))


def test_a_run_is_gone_on_with_once(alone):
    """A second person who resumes the same run at the same time is told so; so is one who comes too late."""
    running = alone.start_play()
    alone.until_waiting()
    os.kill(running.pid, signal.SIGKILL)
    running.communicate(timeout=30)
    first = list_runs(alone.runs)[0].id
    second = alone.start("resume", first, "--wait", "30s")
    end = time.monotonic() + 60
    while len(list_runs(alone.runs)) < 2:
        assert time.monotonic() < end
        time.sleep(0.02)
    alone.until_waiting()
    code, told = alone.inv("resume", first, "--force")
    assert (64, True) == (code, f"somebody goes on with {first} just now" in told), told
    (alone.folder / "go").touch()
    told, _ = second.communicate(timeout=60)
    assert 0 == second.returncode, told
    code, told = alone.inv("resume", first)
    assert (64, True) == (code, f"has gone on with {first} already (ok)" in told), told
    assert ["one", "two True"] == alone.lines("log")


def test_a_full_disk_stops_the_run_in_order(alone):
    """What cannot be recorded is not done: nothing new is begun, `always` runs, and the record reads back."""
    more = (
        "- name: much\n      shell: head -c 300000 /dev/zero | tr '\\0' x\n"
        "    - name: never\n      shell: touch {{ workdir }}/never\n"
    )
    alone.play.write_text(PLAY.replace("- name: two\n", f"{more}    - name: two\n"))
    (alone.folder / "go").touch()
    command = [sys.executable, "-m", "cleanslate.cli", "play", str(alone.play), "-i", str(alone.folder / "hosts.ini")]
    limited = ["prlimit", "--fsize=60000", *command, "-e", f"workdir={alone.folder}"]
    done = subprocess.run(limited, capture_output=True, text=True, timeout=90, env=alone.environment, cwd=REPOSITORY)
    assert (1, True) == (done.returncode, "cannot be written: file too large; the run was stopped" in done.stderr), (
        done.stdout + done.stderr
    )
    assert ([], ["always"]) == (alone.lines("never"), alone.lines("always"))
    assert "step.started" == list(read_events(list_runs(alone.runs)[0].folder))[-1].kind
    code, told = alone.inv("resume", "--unfinished", "done")
    assert 0 == code, told
