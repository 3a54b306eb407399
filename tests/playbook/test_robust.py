"""Whatever YAML is given, the answer is a playbook or a list of mistakes, never a traceback."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cleanslate.errors import Problems
from cleanslate.inventory import load_inventory
from cleanslate.playbook import check_playbook, load_playbook, playbook_schema
from cleanslate.playbook.keywords import BLOCK_PARTS, HANDLER, LOOP_CONTROL, PLAY_WORDS, SHARED, STEP_WORDS
from tests.laws import examples

WORDS = sorted({*HANDLER, *BLOCK_PARTS, *PLAY_WORDS, *SHARED, *STEP_WORDS, *LOOP_CONTROL})
TYPES = ["command", "copy", "debug", "set_fact", "template", "include_tasks", "import_tasks", "include_role"]
TYPES += ["import_role", "import_playbook", "meta", "assert", "add_host", "group_by", "include_vars", "with_items"]
ARGUMENTS = ["msg", "src", "dest", "cmd", "file", "name", "role", "apply", "that", "tasks_from", "mode", "var", "hosts"]
TEXTS = [
    "",
    "web",
    "{{ x }}",
    "a=b c='d",
    "site.yml",
    "roles/a",
    "yes",
    "5",
    "x is defined",
    "{{ broken",
    "*",
    "web[0]",
]

SCALARS = [*TEXTS, None, True, False, 0, 7, 644, 1.5]
KEYS = [*WORDS, *TYPES, *ARGUMENTS, *TEXTS, 0, True]


def scalar(index: int) -> object:
    return SCALARS[index]


def key(index: int) -> object:
    return KEYS[index]


scalars = st.integers(0, len(SCALARS) - 1).map(scalar)
keys = st.integers(0, len(KEYS) - 1).map(key)  # not sampled_from, whose long repr Hypothesis warns of
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=25
)
steps = st.lists(st.dictionaries(keys, values, min_size=1, max_size=5), max_size=3)
plays = st.fixed_dictionaries(
    {"hosts": st.just("web") | values},
    optional={
        **dict.fromkeys(("tasks", "handlers", "pre_tasks"), steps),
        "roles": values,
        "vars": values,
        "tags": values,
    },
)


@pytest.mark.slow
@examples(60)
@given(st.lists(plays | values, max_size=2) | values)
def test_any_yaml_is_read_or_refused(document):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "site.yml"
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        problems = Problems()
        playbook = load_playbook(path, problems=problems)
        inventory = load_inventory(["web1,"], base=Path(folder))
        check_playbook(playbook, inventory, extra_vars={}, problems=problems, lint=True)
        assert [] == [str(problem) for problem in problems.found if not problem.what]


@pytest.mark.slow
def test_the_schema_names_every_keyword_and_step_type():
    entry = playbook_schema()["definitions"]["entry"]["properties"]
    assert set() == {*HANDLER, *BLOCK_PARTS, *STEP_WORDS, *TYPES[:8], "ansible.builtin.copy"} - set(entry)
