"""Real runs of the story in the lab: compared, made again, reported."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cleanslate.record import list_runs, read_events
from cleanslate.record.compare import compare
from tests.record.recorded import commit, git

HOME = Path(__file__).resolve().parent.parent.parent


def inv(folder, *words, code=0):
    """Run `inv` in the repository with the lab."""
    command = [sys.executable, "-m", "cleanslate.cli", *words]
    environment = {**os.environ, "PYTHONPATH": str(HOME)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, input="", timeout=110)
    assert code == done.returncode, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def lab(tmp_path):
    """A repository of our runbooks with a lab of its own."""
    for name in ("playbooks", "roles", "inventory", "templates"):
        shutil.copytree(HOME / name, tmp_path / name)
    (tmp_path / ".gitignore").write_text("/.runs/\n/.lab/\n")
    git(tmp_path, "init", "-q")
    commit(tmp_path, {"invoke.yaml": "cleanslate: {inventory: inventory/lab.yml}\n"})
    yield tmp_path
    inv(tmp_path, "lab", "down")


@pytest.mark.slow
def test_the_story_is_compared_made_again_and_reported(lab):
    """One flag, one variable and one commit are named and nothing else; the run that is made again is the same."""
    play = ("play", "restart-eagle3", "--output", "quiet")
    inv(lab, *play)
    path = lab / "playbooks" / "restart-eagle3.yml"
    commit(lab, {"playbooks/restart-eagle3.yml": path.read_text() + "# A comment more.\n"})
    inv(lab, *play, "--diff", "-e", "eagle3_grace=1s")
    inv(lab, "rerun", "@-2", "--yes")
    third, second, first = list_runs(lab / ".runs")
    ours = [one for one in compare(first.folder, second.folder).causes if one.name != "cleanslate code"]
    assert [("commit", "commit"), ("option", "--diff"), ("variable", "eagle3_grace")] == [
        (one.kind, one.name) for one in ours
    ]
    again = [one for one in compare(first.folder, third.folder).causes if one.name != "cleanslate code"]
    sampled = [event for event in read_events(first.folder) if event.kind == "host.gpus"]
    assert {"eagle3-lab", "pve-lab"} == {event.data["host"] for event in sampled}
    assert {0, 77824} <= {gpu["used_mib"] for event in sampled for gpu in event.data["gpus"]}
    assert "run.finished" == list(read_events(first.folder))[-1].kind
    assert ([], first.id) == (again, third.facts["rerun_of"])
    inv(lab, "report", "last", "--html", "page.html")
    page = (lab / "page.html").read_text()
    assert all(words in page for words in ("Timeline", "GPU memory", "Server start-up", "tok/s", "8 x NVIDIA H200"))
