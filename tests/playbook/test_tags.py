"""`--tags` and `--skip-tags` select what ansible-core selects (its outcomes, written down)."""

from __future__ import annotations

import pytest

from cleanslate.errors import Problems
from cleanslate.playbook import check_tags, load_playbook, selected

STEPS = {
    "x": ["x"],
    "mn": ["m", "n"],
    "never": ["never"],
    "never x": ["never", "x"],
    "always y": ["always", "y"],
    "none": [],
}


@pytest.mark.parametrize(
    ("only", "skip", "expected"),
    [
        ("", "", "x,mn,always y,none"),
        ("x", "", "x,never x,always y"),
        ("m", "", "mn,always y"),
        ("never", "", "never,never x,always y"),
        ("tagged", "", "x,mn,always y"),
        ("untagged", "", "always y,none"),
        ("all", "", "x,mn,always y,none"),
        ("all,never", "", "x,mn,never,never x,always y,none"),
        ("all,x", "", "x,mn,never x,always y,none"),
        ("tagged,x", "", "x,mn,never x,always y"),
        ("always", "", "always y"),
        ("", "always", "x,mn,none"),
        ("", "tagged", "none"),
        ("", "untagged", "x,mn,always y"),
        ("", "y", "x,mn,none"),
        ("", "all", "always y"),
        ("", "all,always", ""),
        ("y", "y", ""),
        ("x", "all", "always y"),
        ("tagged", "never", "x,mn,always y"),
    ],
)
def test_the_same_steps_run_as_under_ansible(only, skip, expected):
    actual = [name for name, tags in STEPS.items() if selected(tags, _words(only), _words(skip))]
    assert _words(expected) == actual


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def tag_warnings(tmp_path, source: str, only: list[str], skip: list[str]) -> list[str]:
    (tmp_path / "site.yml").write_text(source)
    problems = Problems()
    check_tags(load_playbook(tmp_path / "site.yml"), only, skip, problems)
    return [str(problem) for problem in problems.found]


TAGGED = "- hosts: all\n  tags: site\n  tasks:\n    - debug:\n      tags: [config, deploy]\n"


def test_a_tag_that_no_step_has_is_warned_of(tmp_path):
    assert [
        'warning: --tags: no step has the tag "confg"; did you mean "config"?',
        'warning: --skip-tags: no step has the tag "slow"; there are config, deploy, site',
    ] == tag_warnings(tmp_path, TAGGED, ["confg", "always", "site"], ["slow", "untagged"])


@pytest.mark.parametrize("more", ["    - include_tasks: more.yml\n", '    - debug:\n      tags: "{{ t }}"\n'])
def test_nothing_is_warned_of_where_more_tags_may_come(tmp_path, more):
    assert [] == tag_warnings(tmp_path, TAGGED + more, ["confg"], [])
