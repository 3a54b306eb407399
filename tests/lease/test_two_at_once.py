"""Two teammates at once: the second stops before it touches anything, waits, or takes the host away on purpose."""

from __future__ import annotations

import json
import os
import re
import signal

import pytest

from tests.lease.people import Person, ended, inventory_of, until
from tests.sshd import Sshd

pytestmark = pytest.mark.slow

PLAY = """\
- hosts: web
  gather_facts: false
  tasks:
    - name: GPUs are empty
      shell: echo {{ who }} >> {{ workdir }}/touched
    - name: Between empty and launch
      shell: touch {{ workdir }}/{{ who }}-inside; until test -e {{ workdir }}/go; do sleep 0.05; done
    - name: Launch
      shell: echo launched by {{ who }} >> {{ workdir }}/touched
"""


@pytest.fixture
def people(tmp_path):
    """Ann and Bob, and the server that both work on."""
    play = tmp_path / "restart.yml"
    play.write_text(PLAY)
    with Sshd(tmp_path) as sshd:
        (tmp_path / "leases").symlink_to(sshd.folder / "leases")
        inventory = inventory_of(sshd, tmp_path, "web", "alias")
        yield [Person(name, tmp_path, inventory, play) for name in ("ann", "bob")]


def given(person, *more):
    return ("-e", f"who={person.name}", "-e", f"workdir={person.folder}", *more)


def touched(person):
    return (person.folder / "touched").read_text().splitlines()


def journal(person):
    lines = (person.folder / "leases" / "journal.jsonl").read_text().splitlines()
    return [(entry["event"], entry["who"], entry.get("outcome")) for entry in map(json.loads, lines)]


def test_the_second_stops_with_exit_5_having_touched_nothing(people):
    """It says who holds the host, from where, since when, with which playbook, at which step; the first goes on."""
    ann, bob = people
    first = ann.play(*given(ann))
    until(ann.folder / "ann-inside")
    code, told = bob.inv("play", str(bob.play_file), "-i", str(bob.inventory), *given(bob))
    assert 5 == code, told
    line = (
        r"web: ann on \S+ holds the lease since \d\d:\d\d:\d\d: playbook restart, at step \"Between empty and launch\""
    )
    assert re.search(line, told), told
    assert "STEP" not in told
    assert ["ann"] == touched(ann)
    (ann.folder / "go").touch()
    assert 0 == ended(first)
    assert ["ann", "launched by ann"] == touched(ann)
    assert [("began", "ann", None), ("ended", "ann", "ok")] == journal(ann)
    assert [] == ann.leases()


def test_with_wait_the_second_goes_on_when_the_first_has_ended(people):
    ann, bob = people
    first = ann.play(*given(ann))
    until(ann.folder / "ann-inside")
    second = bob.play(*given(bob, "--wait", "1m"))
    until(bob.runs)
    (ann.folder / "go").touch()
    assert (0, 0) == (ended(first), ended(second))
    assert ["ann", "launched by ann", "bob", "launched by bob"] == touched(ann)


def test_a_killed_run_holds_nothing(people):
    """SIGKILL on the controller: the agent ends with its input, and the lease with the agent."""
    ann, bob = people
    first = ann.play(*given(ann))
    until(ann.folder / "ann-inside")
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    (ann.folder / "go").touch()
    code, told = bob.inv("play", str(bob.play_file), "-i", str(bob.inventory), *given(bob, "--wait", "1m"))
    assert 0 == code, told
    assert ("ended", "ann", "lost") in journal(ann)


def test_a_robbed_run_stops_at_its_next_step(people):
    """The robber is told whom it robs; the robbed stops with exit 5; both sides keep it on record."""
    ann, bob = people
    first = ann.play(*given(ann))
    until(ann.folder / "ann-inside")
    code, told = bob.inv("lease", "release", "web", "-i", str(bob.inventory))
    assert 64 == code, told
    code, told = bob.inv("lease", "release", "--steal", "web", "-i", str(bob.inventory))
    assert 0 == code, told
    assert re.search("taken away: ann on .* playbook restart, at step", told), told
    (ann.folder / "go").touch()
    said, _ = first.communicate(timeout=60)
    assert 5 == first.returncode, said
    assert re.search("web: bob on .* took this run's lease away", said), said
    assert ["ann"] == touched(ann)
    assert [("began", "ann", None), ("robbed", "ann", None), ("ended", "ann", "lease held")] == journal(ann)
    (line,) = (bob.runs / "robberies.jsonl").read_text().splitlines()
    assert ("bob", "ann", "web") == tuple(json.loads(line)[key] for key in ("by", "who", "host"))


def test_two_names_of_one_machine_are_one_run_s_own(people):
    """A run does not stand in its own way where the inventory names a machine twice."""
    ann, _ = people
    ann.play_file.write_text(PLAY.replace("hosts: web", "hosts: all"))
    (ann.folder / "go").touch()
    code, told = ann.inv("play", str(ann.play_file), "-i", str(ann.inventory), *given(ann))
    assert 0 == code, told


@pytest.mark.parametrize(
    ("mine", "theirs", "code"),
    [
        ("['gpu:0-3']", "['gpu:4-7']", 0),
        ("['gpu:0-3']", "['gpu:3-4']", 5),
        ("['container:101']", "yes", 5),
        ("yes", "no", 0),
    ],
)
def test_finer_resources_stand_side_by_side(people, mine, theirs, code):
    """Runs that declared different GPUs run at once; `lease: false` asks nobody."""
    ann, bob = people
    bob.play_file = bob.folder / "other.yml"
    ann.play_file.write_text(PLAY.replace("  tasks:", f"  lease: {mine}\n  tasks:"))
    bob.play_file.write_text(
        PLAY.replace("  tasks:", f"  lease: {theirs}\n  tasks:").replace("workdir }}/go", "who }}")
    )
    first = ann.play(*given(ann))
    until(ann.folder / "ann-inside")
    second = bob.play(*given(bob))
    if code == 0:
        until(bob.folder / "bob-inside")
        assert 1 == len([one for one in ann.leases() if one["who"] == "ann"])
        os.killpg(second.pid, signal.SIGTERM)
    assert (code or 130) == ended(second)
    (ann.folder / "go").touch()
    assert 0 == ended(first)


def test_check_mode_and_looking_take_no_lease(people):
    """Whoever only looks is not held up, and holds up nobody."""
    ann, bob = people
    first = ann.play(*given(ann))
    until(ann.folder / "ann-inside")
    code, told = bob.inv("play", str(bob.play_file), "-i", str(bob.inventory), "--check", *given(bob))
    assert 0 == code, told
    look = bob.folder / "look.yml"
    look.write_text("- hosts: web\n  tasks:\n    - stat: {path: /etc}\n    - ping:\n")
    code, told = bob.inv("play", str(look), "-i", str(bob.inventory))
    assert 0 == code, told
    (ann.folder / "go").touch()
    assert 0 == ended(first)
    assert ["ann"] == [who for event, who, _ in journal(ann) if event == "began"]
