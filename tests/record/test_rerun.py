"""`inv rerun` and `inv export`: a run again, as it was, and what is said where it cannot be."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from cleanslate.cli.loading import PlayOptions
from cleanslate.cli.rerun import arguments_of
from cleanslate.errors import InputError
from cleanslate.record import find_run, read_run
from cleanslate.record.compare import compare
from cleanslate.record.export import export_record, import_record
from cleanslate.record.workplace import workplace
from tests.record.recorded import INVENTORY, PLAY, commit, git, repository, run, write

CODE = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def repo(tmp_path):
    """A repository with one playbook."""
    return repository(tmp_path / "repo") if (tmp_path / "repo").mkdir() is None else tmp_path


def inv(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `inv` in a folder, without a terminal."""
    environment = {**os.environ, "PYTHONPATH": str(CODE)}
    command = [sys.executable, "-m", "cleanslate.cli", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, input="", timeout=60)


def again(folder: Path, *words: str) -> tuple[dict, str]:
    """Make a run again; gives the facts of the new run, and what was said."""
    done = inv(folder, "rerun", *words)
    assert (0, "") == (done.returncode, done.stderr)
    found = find_run(folder / ".runs", "last")
    return {**read_run(found), "folder": found}, done.stdout


@pytest.mark.slow
def test_a_run_is_made_again_though_the_code_has_moved_on(repo):
    """At its commit, with its uncommitted and untracked changes, its variables and flags; the working tree stays."""
    text = PLAY.replace("dark", "\"{{ lookup('file', 'shade') }}\"")
    write(repo, {"playbooks/paint.yml": text, "playbooks/files/shade": "faint"})
    before = run(repo, extra_vars=['{"color": ["red", 1]}'], diff=True, limit="alpha")
    commit(repo, {"playbooks/paint.yml": "- hosts: all\n  tasks: [{fail: {}}]\n", "playbooks/files/shade": "x"})
    write(repo, {"hosts.ini": "[all]\n", "loose": "x"})
    state = git(repo, "status", "--porcelain"), git(repo, "rev-parse", "HEAD")
    after, said = again(repo, before["id"])
    found = compare(before["folder"], after["folder"], repository=repo)
    causes = [one for one in found.causes if one.name != "cleanslate code"]  # it may be edited while tests run
    assert ([], [], []) == (causes, found.follows, found.outcome)
    assert (before["id"], before["commit"], "faint ['red', 1]") == (
        after["rerun_of"],
        after["commit"],
        after["variables"]["paint"][0]["value"],
    )
    assert state == (git(repo, "status", "--porcelain"), git(repo, "rev-parse", "HEAD"))
    assert "nothing is known to be different now" in said
    assert 1 == len(git(repo, "worktree", "list").splitlines())


@pytest.mark.slow
def test_what_is_made_again_fails_as_it_did(repo):
    """Its exit code is that of the new run."""
    commit(repo, {"playbooks/bad.yml": "- hosts: all\n  gather_facts: false\n  tasks: [{fail: {}}]\n"})
    before = run(repo, name="bad")
    assert 2 == inv(repo, "rerun", before["id"]).returncode


@pytest.mark.slow
def test_what_cannot_be_the_same_is_said_and_wants_a_yes(repo):
    """Without anybody to ask, nothing is done; a host that is gone is named."""
    outside = repo.parent / "hosts.py"
    outside.write_text("#!/bin/sh\n" + "cat " + str(repo.parent / "hosts.json"))
    outside.chmod(0o755)
    listed = {"all": {"hosts": ["alpha", "beta"], "vars": {"ansible_connection": "local", "color": "x"}}}
    (repo.parent / "hosts.json").write_text(json.dumps(listed))
    before = run(repo, inventory=[str(outside)])
    listed["all"]["hosts"].remove("beta")
    (repo.parent / "hosts.json").write_text(json.dumps(listed))
    refused = inv(repo, "rerun", before["id"])
    assert 64 == refused.returncode
    assert "  - host beta is not in the inventory any more\n" in refused.stdout
    assert "give --yes to go on" in refused.stderr
    after, _ = again(repo, before["id"], "--yes")
    assert (["alpha"], before["id"]) == (after["hosts"], after["rerun_of"])


@pytest.mark.slow
def test_a_target_that_is_another_one_now_is_said(repo):
    """As a look at it shows; what the run did not know is not looked for."""
    commit(repo, {"playbooks/facts.yml": "- hosts: all\n  tasks: []\n"})
    before = run(repo, name="facts")
    path = before["folder"] / "run.json"
    kernel = before["targets"]["alpha"]["kernel"]
    path.write_text(path.read_text().replace(json.dumps({"kernel": kernel})[1:-1], '"kernel": "5.4.0-old"'))
    refused = inv(repo, "rerun", before["id"])
    assert f"  - alpha: kernel is {kernel} now, and was 5.4.0-old\n" in refused.stdout


@pytest.mark.slow
def test_a_secret_that_the_record_does_not_have_is_wanted(repo):
    """And can be given; what it has cannot be given another way."""
    commit(repo, {"playbooks/paint.yml": PLAY.replace("{{ paint }}", "{{ paint }} {{ db_password }}")})
    before = run(repo, extra_vars=["db_password=hush-hush", "color=red"])
    refused = inv(repo, "rerun", before["id"])
    assert (64, True) == (refused.returncode, "give them: -e db_password=..." in refused.stderr)
    other = inv(repo, "rerun", before["id"], "-e", "db_password=hush-hush", "-e", "color=blue")
    assert (64, True) == (other.returncode, 'the run had "color" already' in other.stderr)
    after, _ = again(repo, before["id"], "-e", "db_password=hush-hush")
    assert "red" == after["variables"]["color"][0]["value"]
    for file in after["folder"].rglob("*"):
        assert not file.is_file() or "hush-hush" not in file.read_text()


@pytest.mark.slow
def test_a_run_without_a_repository_is_made_again_from_what_was_kept(tmp_path):
    """Every file of it."""
    write(
        tmp_path,
        {"hosts.ini": INVENTORY, "playbooks/paint.yml": PLAY, "invoke.yaml": "cleanslate: {inventory: hosts.ini}\n"},
    )
    before = run(tmp_path)
    write(tmp_path, {"hosts.ini": "", "playbooks/paint.yml": ""})
    after, _ = again(tmp_path, before["id"])
    assert "dark green" == after["variables"]["paint"][0]["value"]


@pytest.mark.slow
def test_a_changed_inventory_outside_of_the_repository_is_taken_from_the_record(repo):
    """As it was then."""
    outside = repo.parent / "hosts.ini"
    outside.write_text(INVENTORY.replace("green", "teal"))
    before = run(repo, inventory=[str(outside)])
    outside.write_text(INVENTORY)
    after, _ = again(repo, before["id"])
    assert "dark teal" == after["variables"]["paint"][0]["value"]


@pytest.mark.slow
def test_a_teammate_makes_it_again_from_one_file(repo, tmp_path_factory):
    """In another checkout, that does not have the commit nor the inventory; the records go there."""
    outside = repo.parent / "hosts.ini"
    outside.write_text(INVENTORY)
    write(repo, {"playbooks/paint.yml": PLAY.replace("dark", "faint")})
    before = run(repo, inventory=[str(outside)])
    file = repo.parent / "run.tar.gz"
    assert 0 == inv(repo, "export", before["id"], str(file)).returncode
    outside.unlink()
    other = repository(tmp_path_factory.mktemp("other"), {"playbooks/paint.yml": "- hosts: none\n"})
    head = git(other, "rev-parse", "HEAD")
    (repo / "playbooks").rename(repo / "gone")
    after, _ = again(other, str(file))
    assert ("faint green", before["commit"], before["id"]) == (
        after["variables"]["paint"][0]["value"],
        after["commit"],
        after["rerun_of"],
    )
    assert [before["id"], after["id"]] == sorted(path.name for path in (other / ".runs").iterdir())
    assert (head, "") == (git(other, "rev-parse", "HEAD"), git(other, "status", "--porcelain"))


def test_the_code_of_the_commit_runs_where_our_code_is_part_of_the_repository(repo):
    """As it does in a repository that was made from ours."""
    main = "def main():\n    import sys\n    print('the code of then', *sys.argv[1:3])\n"
    commit(repo, {"cleanslate/__init__.py": "", "cleanslate/cli/__init__.py": "", "cleanslate/cli/__main__.py": main})
    before = run(repo)
    git(repo, "rm", "-q", "-r", "cleanslate")
    commit(repo)
    done = inv(repo, "rerun", before["id"])
    assert "the code of then play " in done.stdout


def test_a_commit_that_is_not_here_is_said(repo, tmp_path):
    """With what to do."""
    facts = {**run(repo), "commit": "f" * 40}
    with (
        pytest.raises(InputError, match="commit ffffffffffff is not in the repository"),
        workplace(facts, tmp_path, repo),
    ):
        pass


@pytest.mark.parametrize("name", ["../../escaped", "link/escaped"])
def test_a_record_cannot_write_outside_of_its_workplace(repo, tmp_path, name):
    """Whoever made it."""
    (repo / "link").symlink_to(tmp_path)
    commit(repo)
    facts = {**run(repo), "kept": {name: {"text": "x", "mode": "0644"}}}
    with pytest.raises(InputError, match="not its own"), workplace(facts, tmp_path, repo):
        pass
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize("name", ["/etc/passwd", "r1/../run.json", "r1/extra", "r1/outputs/../../x", "r1/outputs/x"])
def test_an_archive_with_foreign_files_is_refused(tmp_path, name):
    """Nothing of it is kept."""
    file = tmp_path / "x.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        member = tarfile.TarInfo(name)
        archive.addfile(member, io.BytesIO())
    with pytest.raises(InputError, match="is not what `inv export` makes"):
        import_record(file, tmp_path / "runs")
    assert [] == list((tmp_path / "runs").iterdir())


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b\x08broken"])
def test_a_file_that_is_no_archive_is_refused(tmp_path, content):
    """With the file's name."""
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(InputError, match="is not what `inv export` makes"):
        import_record(tmp_path / "x", tmp_path / "runs")


def test_an_export_reads_back_whole(repo):
    """Facts, events and outputs; a file that is there is not written over."""
    text = "- hosts: all\n  gather_facts: false\n  tasks: [{command: seq 1 20000}]\n"
    commit(repo, {"playbooks/long.yml": text})
    before = run(repo, name="long")
    export_record(before["folder"], repo, repo / "x.tar.gz")
    found = import_record(repo / "x.tar.gz", repo / "other")
    for name in ("run.json", "events.jsonl", "outputs/1.txt"):
        assert (before["folder"] / name).read_bytes() == (found / name).read_bytes()
    with pytest.raises(InputError, match="is there already"):
        export_record(before["folder"], repo, repo / "x.tar.gz")


def test_options_become_the_words_that_give_them():
    """Every kind of them."""
    given = {"inventory": ["a", "b,"], "limit": "all:!c", "check": True, "forks": 3, "verbose": 2}
    assert [
        *("x.yml", "--inventory", "a", "--inventory", "b,", "--limit", "all:!c", "--check"),
        *("--start-at-task", "a b", "--forks", "3", "--output", "console", "-v", "-v"),
    ] == arguments_of(PlayOptions("x.yml", start_at_task="a b", **given))
