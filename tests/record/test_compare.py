"""`inv diff`: what two runs did not share, and nothing that they did."""

from __future__ import annotations

import json

import pytest

from cleanslate.cli.diff import lines_of, show_diff
from cleanslate.record import RunRecord
from cleanslate.record.compare import compare
from cleanslate.record.differences import parts
from tests.record.recorded import INVENTORY, PLAY, commit, repository, run, settings, write


@pytest.fixture
def repo(tmp_path):
    """A repository with one playbook."""
    return repository(tmp_path)


def causes(before, after):
    """(kind, name, before, after) of what was put in differently."""
    return [(one.kind, one.name, one.before, one.after) for one in compare(before["folder"], after["folder"]).causes]


def test_two_equal_runs_differ_in_nothing(repo):
    """Neither in what was put in, nor in what came out."""
    before, after = run(repo), run(repo)
    found = compare(before["folder"], after["folder"])
    assert ([], [], []) == (found.causes, found.follows, found.outcome)
    assert "  nothing that the records know of" in list(lines_of(found))


def test_one_flag_one_variable_and_one_commit_are_named_and_nothing_else(repo):
    """What depends on the variable is told apart from it."""
    before = run(repo)
    new = commit(repo, {"playbooks/paint.yml": PLAY.replace("Say it", "Say it well")}, "Better words")
    after = run(repo, extra_vars=["color=red"], diff=True)
    assert [
        ("commit", "commit", before["commit"], new),
        ("option", "--diff", False, True),
        ("variable", "color", "green", "red"),
    ] == causes(before, after)
    found = compare(before["folder"], after["folder"])
    assert f"{new[:7]} Better words" == found.causes[0].notes[0]
    assert "playbooks/paint.yml" in found.causes[0].notes
    assert [("variable", "paint", "dark green", "dark red")] == [
        (one.kind, one.name, one.before, one.after) for one in found.follows
    ]


def test_a_variable_in_a_file_of_variables_is_told_as_itself(repo):
    """Not a second time as an uncommitted change of the file."""
    commit(repo, {"group_vars/all.yml": "color: blue\nshape: round\n"})
    before = run(repo)
    write(repo, {"group_vars/all.yml": "color: brown\nshape: round\n"})
    after = run(repo)
    assert [("variable", "color", "blue", "brown")] == causes(before, after)
    assert ("group_vars/all.yml:1:8",) == compare(before["folder"], after["folder"]).causes[0].notes


def test_uncommitted_changes_are_told_with_their_files(repo):
    """Those that took part."""
    before = run(repo)
    write(repo, {"playbooks/paint.yml": PLAY + "    - debug: {}\n"})
    after = run(repo)
    (found,) = compare(before["folder"], after["folder"]).causes
    assert ("uncommitted", ("playbooks/paint.yml",)) == (found.kind, found.notes)


def test_an_uncommitted_change_that_stays_over_a_commit_is_no_difference(repo):
    """Though git writes it a little differently."""
    write(repo, {"roles/r/tasks/main.yml": "- debug: {}\n"})
    commit(repo)
    write(repo, {"playbooks/paint.yml": PLAY + "    - debug: {}\n"})
    before = run(repo)
    write(repo, {"README": "x"})
    (repo / "playbooks/paint.yml").write_text(PLAY)
    commit(repo, {"playbooks/paint.yml": "# A comment more.\n" + PLAY})
    write(repo, {"playbooks/paint.yml": "# A comment more.\n" + PLAY + "    - debug: {}\n"})
    assert ["commit"] == [kind for kind, *_ in causes(before, run(repo))]


def test_a_file_that_git_does_not_have_is_told_by_its_digest(repo):
    """An include that was never added."""
    write(repo, {"playbooks/more.yml": "- debug: {}\n"})
    commit(repo, {".gitignore": "/.runs/\nmore.yml\n", "playbooks/paint.yml": PLAY + "    - include_tasks: more.yml\n"})
    before = run(repo)
    write(repo, {"playbooks/more.yml": "- debug: {msg: x}\n"})
    assert [("file", "playbooks/more.yml")] == [one[:2] for one in causes(before, run(repo))]


def test_hosts_groups_and_variables_of_hosts_that_took_no_part(repo):
    """`hostvars` may have been asked for them."""
    more = INVENTORY.replace("alpha\n", "alpha\nbeta size=1\n")
    commit(repo, {"hosts.ini": more})
    before = run(repo, limit="alpha")
    write(repo, {"hosts.ini": more.replace("size=1", "size=2") + "[new]\nbeta\ngamma\n"})
    found = [one for one in causes(before, run(repo, limit="alpha")) if one[0] != "uncommitted"]
    assert ("inventory", "group new", [], ["beta", "gamma"]) in found
    assert ("variable", "size", 1, 2) in found
    assert ("inventory", "host gamma", "(not there)", "there") in found


def test_arguments_outcomes_and_steps_are_told_as_what_came_of_it(repo):
    """By what a step is, not by the line it stands on."""
    before = run(repo)
    text = PLAY.replace("vars:", "#\n  vars:").replace("debug:", "changed_when: true\n      debug:")
    commit(repo, {"playbooks/paint.yml": text + "    - name: One more\n      debug: {}\n"})
    after = run(repo, extra_vars=["color=red"])
    found = compare(before["folder"], after["folder"])
    assert ("argument", "Say it: msg", "is dark green", "is dark red", ("alpha",)) in [
        (one.kind, one.name, one.before, one.after, one.hosts) for one in found.follows
    ]
    assert [("step", "One more", "(not there)", "run"), ("status", "Say it", "ok", "changed")] == [
        (one.kind, one.name, one.before, one.after) for one in found.outcome
    ]


def test_the_same_run_in_another_checkout_is_the_same(repo, tmp_path_factory):
    """Paths into the checkout are no difference."""
    text = PLAY.replace("{{ paint }}", "{{ playbook_dir }}")
    commit(repo, {"playbooks/paint.yml": text, "group_vars/all.yml": "here: '{{ playbook_dir }}/x'\n"})
    other = tmp_path_factory.mktemp("other")
    repository(other, {"playbooks/paint.yml": text, "group_vars/all.yml": "here: '{{ playbook_dir }}/x'\n"})
    found = compare(run(repo)["folder"], run(other)["folder"])
    assert [] == [one for one in (*found.causes, *found.follows, *found.outcome) if one.kind != "commit"]


def record(folder, run_id, **facts):
    """A record that says these facts."""
    made = RunRecord(folder, run_id, {"root": "/r", "playbook": "/r/playbooks/x.yml", "started_at": 1.0, **facts})
    made.close()
    return folder / run_id


@pytest.mark.parametrize(
    ("before", "after", "kind", "told"),
    [
        ({"versions": {"fabric": "3.2"}}, {"versions": {"fabric": "3.3"}}, "version", ("fabric", "3.2", "3.3")),
        (
            {"targets": {"a": {"driver": "570.1"}, "b": {"driver": "570.1"}}},
            {"targets": {"a": {"driver": "580.2"}, "b": {"driver": "580.2"}}},
            "target",
            ("driver", "570.1", "580.2"),
        ),
        (
            {"targets": {"a": {"gpus": [{"index": 0, "uuid": "GPU-1"}]}}},
            {"targets": {"a": {"gpus": [{"index": 0, "uuid": "GPU-2"}]}}},
            "target",
            ("gpus", ["0 GPU-1"], ["0 GPU-2"]),
        ),
        ({"targets": {"a": {"driver": "1"}}}, {"targets": {}}, None, ()),
        ({"options": {"limit": "a"}}, {"options": {"limit": "b"}}, "option", ("--limit", "a", "b")),
        ({"options": {"verbose": 0}}, {"options": {"verbose": 3}}, None, ()),
        ({"options": {}}, {"options": {"become": False}}, None, ()),
        (
            {"options": {"inventory": ["a.ini"]}, "cwd": "/r/x"},
            {"options": {"inventory": ["x/a.ini"]}, "cwd": "/r"},
            None,
            (),
        ),
        ({}, {"playbook": "/r/playbooks/y.yml"}, "playbook", ("playbook", "playbooks/x.yml", "playbooks/y.yml")),
    ],
)
def test_versions_targets_and_options(tmp_path, before, after, kind, told):
    """What only one of the runs saw is no difference; what is only shown differently is none either."""
    found = compare(record(tmp_path, "1", **before), record(tmp_path, "2", **after)).causes
    assert ([] if kind is None else [(kind, *told)]) == [(one.kind, one.name, one.before, one.after) for one in found]


def test_equal_differences_of_several_hosts_are_one(tmp_path):
    """Which names them all."""
    before = record(tmp_path, "1", targets={host: {"driver": "1"} for host in "abc"})
    after = record(tmp_path, "2", targets={host: {"driver": "3" if host == "c" else "2"} for host in "abc"})
    assert [(("a", "b"), "2"), (("c",), "3")] == [(one.hosts, one.after) for one in compare(before, after).causes]


def test_times_and_measures_are_compared(tmp_path):
    """A step that took notably longer; a measure always; for people only what has changed."""

    def ended(seconds):
        return {"status": "ok", "seconds": seconds}

    def steps(first, second):
        seconds = {"one": first, "two": second}
        return [
            {
                "role": None,
                "section": "tasks",
                "type": "t",
                "name": name,
                "hosts": {"a": ended(took)},
            }
            for name, took in seconds.items()
        ]

    before = record(tmp_path, "1", seconds=2.0, steps=steps(1.0, 10.0), metrics={"a": {"tok/s": 100.0, "x": 1.0}})
    after = record(tmp_path, "2", seconds=10.0, steps=steps(8.0, 10.4), metrics={"a": {"tok/s": 90.0, "x": 1.0}})
    found = compare(before, after)
    assert [("the whole run", 2.0, 10.0), ("one", 1.0, 8.0)] == [
        (one["name"], one["before"], one["after"]) for one in found.timings
    ]
    assert ["  measure     tok/s: 100 -> 90 (-10.0 %)  (a)"] == [line for line in lines_of(found) if "measure" in line]
    assert {"tok/s", "x"} == {one["name"] for one in found.metrics}


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, [("v.a[1].b", 2, 3)]),
        ({"a": 1}, {"b": 1}, [("v.a", 1, "(not there)"), ("v.b", "(not there)", 1)]),
        ([1, 2], [1], [("v", [1, 2], [1])]),
        (1, True, [("v", 1, True)]),
        (list(range(40)), [n + 1 for n in range(40)], [("v", list(range(40)), [n + 1 for n in range(40)])]),
    ],
)
def test_values_are_compared_part_by_part(before, after, found):
    """Unless too much of them differs."""
    assert found == parts(before, after, "v")


def test_for_programs_it_is_json(repo, capsys):
    """With both runs named."""
    before, after = run(repo), run(repo, check=True)
    capsys.readouterr()
    show_diff(settings(repo), before["id"], after["id"], as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (before["id"], after["id"]) == (told["before"]["id"], told["after"]["id"])
    assert [("option", "--check")] == [(one["kind"], one["name"]) for one in told["causes"]]


def test_for_people_long_values_stand_below_each_other(repo, capsys):
    """And are cut."""
    before, after = run(repo, extra_vars=["color=" + "a" * 200]), run(repo, extra_vars=["color=" + "b" * 200])
    show_diff(settings(repo), before["id"], after["id"], as_json=False)
    told = capsys.readouterr().out
    assert f"  variable    color:  (alpha)\n              - {'a' * 97}...\n              + {'b' * 97}...\n" in told
    assert max(map(len, told.splitlines())) < 200
