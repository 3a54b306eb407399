"""The controller itself is no shared host: plays on it run side by side, unless they ask for its lease."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.runner.plays import INVENTORY

REPOSITORY = Path(__file__).parents[2]
PLAY = """\
- hosts: alpha
  gather_facts: false
{lease}  tasks:
    - shell: |
        touch {{{{ workdir }}}}/{mine}
        for i in $(seq 200); do [ -e {{{{ workdir }}}}/{other} ] && exit 0; sleep 0.1; done
        exit 1
"""


def start(folder, mine, other, lease):
    """Start a play that ends well only if the other one runs at the same time."""
    text = PLAY.format(mine=mine, other=other, lease=lease)
    (folder / f"{mine}.yml").write_text(text)
    (folder / "hosts.ini").write_text(INVENTORY)
    words = ["play", f"{mine}.yml", "-i", "hosts.ini", "-e", f"workdir={folder}", "--output", "quiet"]
    return subprocess.Popen(
        [sys.executable, "-m", "cleanslate.cli", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )


@pytest.mark.slow
def test_two_plays_on_the_controller_run_side_by_side(tmp_path):
    """Each waits for a file that the other one makes."""
    both = [start(tmp_path, "a", "b", ""), start(tmp_path, "b", "a", "")]
    assert [0, 0] == [running.wait(timeout=60) for running in both]


@pytest.mark.slow
def test_a_play_that_asks_for_the_lease_of_the_controller_gets_it(tmp_path):
    """The second is refused with 5 while the first holds it."""
    first = start(tmp_path, "a", "b", "  lease: true\n")
    until = time.monotonic() + 30
    while not (tmp_path / "a").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    second = start(tmp_path, "c", "d", "  lease: true\n")
    assert 5 == second.wait(timeout=60)
    (tmp_path / "b").touch()
    assert 0 == first.wait(timeout=60)
