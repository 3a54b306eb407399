"""What a record says of how its run came about."""

from __future__ import annotations

import hashlib
import json

import pytest

from cleanslate.errors import InputError
from cleanslate.record import read_events
from tests.record.recorded import INVENTORY, PLAY, commit, git, repository, run, write


def sha(text: str) -> str:
    """The SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def repo(tmp_path):
    """A repository with one playbook."""
    return repository(tmp_path)


def test_a_clean_checkout_is_its_commit(repo):
    """And the branch; nothing is uncommitted, nothing is kept."""
    facts = run(repo)
    assert (git(repo, "rev-parse", "HEAD"), "main", None, {}) == tuple(
        facts[key] for key in ("commit", "branch", "uncommitted", "kept")
    )


def test_uncommitted_changes_are_kept_so_that_they_apply(repo):
    """Whatever git's configuration says of how diffs look; the working tree is not touched by looking."""
    git(repo, "config", "diff.noprefix", "true")
    git(repo, "config", "diff.mnemonicPrefix", "true")
    write(repo, {"playbooks/paint.yml": PLAY.replace("dark", "light")})
    changed = run(repo)["uncommitted"]
    assert ["playbooks/paint.yml"] == changed["files"]
    git(repo, "checkout", "-q", ".")
    (repo / "patch").write_text(changed["diff"])
    git(repo, "apply", "patch")
    assert PLAY.replace("dark", "light") == (repo / "playbooks/paint.yml").read_text()


def test_files_that_took_part_and_are_not_in_git_are_kept(repo):
    """Untracked ones with content, ignored ones by name only; what took no part is left alone."""
    text = PLAY + "    - include_tasks: more.yml\n    - include_vars: ignored.yml\n"
    write(
        repo,
        {
            "playbooks/paint.yml": text,
            "playbooks/more.yml": "- debug: {msg: ü}\n",
            "playbooks/vars/ignored.yml": "a: 1\n",
            "notes.txt": "x",
        },
    )
    (repo / ".gitignore").write_text("/.runs/\nignored*\n")
    facts = run(repo)
    assert {
        "playbooks/more.yml": {"mode": "0644", "text": "- debug: {msg: ü}\n"},
        "playbooks/vars/ignored.yml": {"left_out": "git ignores it"},
    } == facts["kept"]
    assert sha("a: 1\n") == facts["files"]["playbooks/vars/ignored.yml"]


def test_a_file_outside_of_the_repository_is_kept(repo, tmp_path_factory):
    """So is an inventory that a teammate does not have."""
    outside = tmp_path_factory.mktemp("outside") / "hosts.ini"
    outside.write_text(INVENTORY)
    facts = run(repo, inventory=[str(outside)])
    assert INVENTORY == facts["kept"][str(outside)]["text"]
    assert sha(INVENTORY) == facts["files"][str(outside)]


def test_without_a_repository_every_file_is_kept(tmp_path):
    """So that the run can be repeated all the same."""
    write(tmp_path, {"hosts.ini": INVENTORY, "playbooks/paint.yml": PLAY})
    facts = run(tmp_path)
    assert facts["commit"] is None
    assert {"hosts.ini", "playbooks/paint.yml"} == {*facts["kept"]}


def test_digests_are_those_of_everything_that_was_read(repo):
    """Playbook, inventory and its variables, roles and their templates, files that a lookup reads."""
    files = {
        "playbooks/paint.yml": "- hosts: all\n  gather_facts: false\n  roles: [r]\n",
        "roles/r/tasks/main.yml": "- template: {src: a.j2, dest: '{{ playbook_dir }}/out'}\n"
        "- debug: {msg: \"{{ lookup('file', 'b.txt') }}\"}\n",
        "roles/r/templates/a.j2": "a\n",
        "roles/r/files/b.txt": "b\n",
        "roles/r/defaults/main.yml": "c: 1\n",
        "group_vars/all.yml": "d: 1\n",
    }
    commit(repo, files)
    facts = run(repo)
    assert {**{name: sha(text) for name, text in files.items()}, "hosts.ini": sha(INVENTORY)} == facts["files"]


def test_a_secret_in_uncommitted_changes_is_masked_and_said(repo):
    """The diff is then for reading, no longer for applying."""
    write(repo, {"playbooks/paint.yml": PLAY.replace("{shade:", "{db_password: 'tr0ub4dor', shade:")})
    facts = run(repo, extra_vars=["db_password=tr0ub4dor"])
    assert "it holds a secret" in facts["uncommitted"]["left_out"]
    for file in facts["folder"].rglob("*"):
        assert "tr0ub4dor" not in file.read_text() if file.is_file() else True


def test_options_and_extra_variables_keep_their_types(repo):
    """As they are needed to do it again."""
    facts = run(repo, check=True, limit="alpha", extra_vars=['{"n": 1, "l": [true]}', "t=1"])
    assert (True, "alpha") == (facts["options"]["check"], facts["options"]["limit"])
    assert {"n": 1, "l": [True], "t": "1"} == facts["extra_vars"]


def test_variables_are_kept_as_written_and_as_rendered(repo):
    """With the place that defines them; what is wrong with one does not harm the others."""
    write(repo, {"group_vars/all.yml": "broken: '{{ nobody }}'\nasks: \"{{ lookup('pipe', 'touch asked') }}\"\n"})
    found = run(repo, extra_vars=["color=red"])["variables"]
    assert [
        {
            "hosts": ["alpha"],
            "written": "{{ shade }} {{ color }}",
            "value": "dark red",
            "from": "playbooks/paint.yml:4:30",
        }
    ] == found["paint"]
    assert [{"hosts": ["alpha"], "value": "red", "from": "-e"}] == found["color"]
    assert '"nobody" is undefined' in found["broken"][0]["error"]
    assert 'lookup "pipe" is not run only to look' in found["asks"][0]["error"]
    assert not (repo / "asked").exists()


def test_hosts_with_equal_variables_share_an_entry(repo):
    """A thousand hosts do not make a thousand copies."""
    write(
        repo,
        {"hosts.ini": INVENTORY.replace("alpha\n", "alpha\nbeta n=2\n").replace("[all:vars]\n", "[all:vars]\nn=1\n")},
    )
    found = run(repo)["variables"]
    assert [["alpha", "beta"]] == [entry["hosts"] for entry in found["color"]]
    assert [(["alpha"], 1), (["beta"], 2)] == [(entry["hosts"], entry["value"]) for entry in found["n"]]


def test_secrets_among_variables_are_hidden_by_name_and_by_value(repo):
    """At any depth, as written and as rendered."""
    write(repo, {"group_vars/all.yml": "db: {password: 'se cret'}\nuses: 'with {{ db.password }}'\n"})
    facts = run(repo)
    assert {"password": "(secret)"} == facts["variables"]["db"][0]["value"]
    assert "with ********" == facts["variables"]["uses"][0]["value"]


def test_steps_are_timed_and_targets_described(repo):
    """From the events that pass by; facts tell of the system."""
    steps = "    - {name: nap, command: sleep 0.05}\n    - {name: bad, fail: {}, ignore_errors: true}\n"
    text = f"- hosts: all\n  tasks:\n{steps}"
    facts = run(commit(repo, {"playbooks/x.yml": text}) and repo, name="x")
    assert [("Gathering Facts", "ok"), ("nap", "changed"), ("bad", "ignored")] == [
        (step["name"], step["hosts"]["alpha"]["status"]) for step in facts["steps"]
    ]
    assert 0.05 <= facts["steps"][1]["seconds"] < 60
    assert {"os", "kernel", "machine", "python"} == {*facts["targets"]["alpha"]}


def test_a_long_output_lies_in_a_file_and_reads_back(repo):
    """Once, though the event tells it as text and as lines; a line of the record stays short."""
    text = "- hosts: all\n  gather_facts: false\n  tasks:\n    - {name: long, command: seq 1 20000}\n"
    facts = run(commit(repo, {"playbooks/x.yml": text}) and repo, name="x")
    whole = "\n".join(str(number) for number in range(1, 20001))
    assert ["1.txt"] == [path.name for path in (facts["folder"] / "outputs").iterdir()]
    assert max(map(len, (facts["folder"] / "events.jsonl").read_text().splitlines())) < 20_000
    result = next(event.data for event in read_events(facts["folder"]) if event.kind == "host.finished")["result"]
    assert (whole, whole.splitlines()) == (result["stdout"], result["stdout_lines"])


def test_an_output_that_is_gone_is_replaced_by_its_end(repo):
    """And says so."""
    text = "- hosts: all\n  gather_facts: false\n  tasks:\n    - {name: long, command: seq 1 20000}\n"
    facts = run(commit(repo, {"playbooks/x.yml": text}) and repo, name="x")
    (facts["folder"] / "outputs" / "1.txt").unlink()
    result = next(event.data for event in read_events(facts["folder"]) if event.kind == "host.finished")["result"]
    assert "which is gone" in result["stdout"] and result["stdout"].endswith("\n20000")


def test_run_json_is_json_with_the_summary_first(repo):
    """So that lists need only its first line."""
    text = (run(repo)["folder"] / "run.json").read_text()
    assert json.loads(text)["summary"] == json.loads(text.partition(",\n")[0] + "}")["summary"]


def test_clean_refuses_what_is_not_committed(repo, tmp_path_factory):
    """Before anything runs; what git ignores does not count."""
    write(repo, {"ignored.txt": "x"})
    assert "ok" == run(repo, clean=True)["outcome"]
    write(repo, {"playbooks/paint.yml": PLAY + "#\n", "new.txt": "x"})
    with pytest.raises(InputError, match=r"not committed: playbooks/paint\.yml, new\.txt; commit them"):
        run(repo, clean=True)
    bare = tmp_path_factory.mktemp("bare")
    write(bare, {"hosts.ini": INVENTORY, "playbooks/paint.yml": PLAY})
    with pytest.raises(InputError, match="is not in a git repository"):
        run(bare, clean=True)
