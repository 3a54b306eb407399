"""Ansible's precedence of variables, wherever a name is defined: the highest place wins, whatever else is set."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.laws import examples
from tests.runner.plays import run_play

# From the lowest to the highest, as Ansible's documentation lists them.
PLACES = (
    "role defaults",
    "inventory all",
    "inventory group",
    "group_vars/all",
    "group_vars of the group",
    "inventory host",
    "host_vars",
    "play vars",
    "vars_files",
    "role vars",
    "block vars",
    "task vars",
    "include_vars",
    "set_fact",
    "role params",
    "extra vars",
)


def seen(folder: Path, chosen: set[str]) -> str:
    """What `x` is in a role's step when it is defined at the chosen places, each with its own name."""

    def told(place: str) -> dict[str, str]:
        return {"x": place} if place in chosen else {}

    def ini(place: str) -> str:
        return f"x={place!r}\n" if place in chosen else ""

    inventory = (
        f"[web]\nalpha ansible_connection=local {ini('inventory host').strip()}\n"
        f"[web:vars]\n{ini('inventory group')}[all:vars]\n{ini('inventory all')}"
    )
    step = {"name": "seen", "debug": {"msg": "{{ x }}"}, "vars": told("task vars")}
    first = [{"set_fact": {**told("set_fact"), "y": 1}}, {"include_vars": "included.yml"}]
    play = {
        "hosts": "web",
        "gather_facts": False,
        "vars": told("play vars"),
        "vars_files": ["more.yml"],
        "pre_tasks": first,
        "roles": [{"role": "r", **told("role params")}],
    }
    documents = {
        "play.yml": [play],
        "more.yml": told("vars_files"),
        "included.yml": told("include_vars"),
        "group_vars/all.yml": told("group_vars/all"),
        "group_vars/web.yml": told("group_vars of the group"),
        "host_vars/alpha.yml": told("host_vars"),
        "roles/r/defaults/main.yml": told("role defaults"),
        "roles/r/vars/main.yml": told("role vars"),
        "roles/r/tasks/main.yml": [{"block": [step], "vars": told("block vars")}],
    }
    files = {name: yaml.safe_dump(document) for name, document in documents.items()}
    text = files.pop("play.yml")
    ran = run_play(folder, text, inventory=inventory, files=files, extra_vars=told("extra vars"))
    return ran.results("seen")["alpha"]["msg"]


@examples(40)
@given(chosen=st.sets(st.sampled_from(PLACES), min_size=1))
def test_the_highest_place_wins(chosen):
    """Any set of places."""
    with tempfile.TemporaryDirectory() as folder:
        assert max(chosen, key=PLACES.index) == seen(Path(folder), chosen)


def test_each_place_wins_over_the_one_below_it(tmp_path):
    """Pair by pair, so that no place is left to chance."""
    for number, (lower, higher) in enumerate(itertools.pairwise(PLACES)):
        assert higher == seen(tmp_path / str(number), {lower, higher})
