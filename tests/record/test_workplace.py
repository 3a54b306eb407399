"""The code of an earlier run, laid out again: what comes back, and what is said where something does not."""

from __future__ import annotations

import io
import os

import pytest

from cleanslate.cli.rerun import NotAgreed, _agree, options_of
from cleanslate.errors import InputError
from cleanslate.record.git import read_checkout
from cleanslate.record.workplace import workplace
from tests.record.recorded import INVENTORY, PLAY, commit, git, repository, run, write


@pytest.fixture
def repo(tmp_path):
    """A repository with one playbook."""
    return repository(tmp_path)


def test_a_repository_that_is_a_folder_of_a_larger_one(tmp_path):
    """The whole is checked out, the uncommitted changes of all of it are applied, and the root is the folder."""
    inner = tmp_path / "ops" / "runbooks"
    git(tmp_path, "init", "-q")
    setting = "cleanslate:\n  inventory: [hosts.ini]\n"
    write(
        inner, {"hosts.ini": INVENTORY, "playbooks/paint.yml": PLAY, "invoke.yaml": setting, ".gitignore": "/.runs/\n"}
    )
    commit(tmp_path, {"beside.txt": "old\n"})
    more = PLAY.replace("dark", "faint") + "    - include_tasks: more.yml\n"
    write(inner, {"playbooks/paint.yml": more, "playbooks/more.yml": "- debug: {}\n"})
    write(tmp_path, {"beside.txt": "new\n"})
    facts = run(inner)
    git(tmp_path, "checkout", "-q", ".")
    with workplace(facts, facts["folder"], inner) as place:
        assert place.top / "ops" / "runbooks" == place.root
        assert "faint" in (place.root / "playbooks" / "paint.yml").read_text()
        assert "- debug: {}\n" == (place.root / "playbooks" / "more.yml").read_text()
        assert "new\n" == (place.top / "beside.txt").read_text()
        assert [] == place.unlike


def test_changes_that_are_no_text_and_files_that_were_only_staged(repo):
    """Git's binary patches, latin-1, a new file, one that was deleted, a mode."""
    commit(repo, {"gone.txt": "x", "tool.sh": "#!/bin/sh\n"})
    (repo / "image.bin").write_bytes(bytes(range(256)))
    (repo / "latin.txt").write_bytes("grün\n".encode("latin-1"))
    git(repo, "add", "image.bin", "latin.txt")
    git(repo, "rm", "-q", "gone.txt")
    (repo / "tool.sh").chmod(0o755)
    facts = run(repo)
    with workplace(facts, facts["folder"], repo) as place:
        assert bytes(range(256)) == (place.root / "image.bin").read_bytes()
        assert "grün\n".encode("latin-1") == (place.root / "latin.txt").read_bytes()
        assert not (place.root / "gone.txt").exists()
        assert os.access(place.root / "tool.sh", os.X_OK)
        assert read_checkout(repo).diff == read_checkout(place.root).diff


def test_changes_that_hold_a_secret_come_from_the_checkout_while_it_is_as_it_was(repo):
    """The record has them masked only."""
    write(repo, {"playbooks/paint.yml": PLAY.replace("shade: dark", "db_password: tr0ub4dor, shade: dark")})
    facts = run(repo, extra_vars=["db_password=tr0ub4dor"])
    with workplace(facts, facts["folder"], repo) as place:
        assert "tr0ub4dor" in (place.root / "playbooks" / "paint.yml").read_text()
        assert [] == place.unlike
    git(repo, "checkout", "-q", ".")
    with workplace(facts, facts["folder"], repo) as place:
        assert PLAY == (place.root / "playbooks" / "paint.yml").read_text()
        assert "uncommitted changes (playbooks/paint.yml) are not in the record: it holds a secret" in place.unlike[0]


def test_an_ignored_file_comes_from_the_checkout(repo):
    """As it is now, and that is said where it is another one, or gone."""
    (repo / ".gitignore").write_text("/.runs/\nignored*\n")
    commit(repo, {"playbooks/paint.yml": PLAY + "    - include_vars: ignored.yml\n"})
    write(repo, {"playbooks/vars/ignored.yml": "a: 1\n"})
    facts = run(repo)
    name = "playbooks/vars/ignored.yml"
    with workplace(facts, facts["folder"], repo) as place:
        assert ("a: 1\n", []) == ((place.root / name).read_text(), place.unlike)
    write(repo, {name: "a: 2\n"})
    with workplace(facts, facts["folder"], repo) as place:
        assert [f"{name}, which is not in the record, is not as it was"] == place.unlike
    (repo / name).unlink()
    with workplace(facts, facts["folder"], repo) as place:
        assert [f"{name}, which took part, is not in the record and not here"] == place.unlike


def test_the_machines_of_the_lab_are_those_of_the_repository(repo):
    """Whether it is up or not; what is laid out is gone afterwards, the lab is not."""
    commit(repo, {"lab.yml": "plugin: lab\n", ".gitignore": "/.runs/\n/.lab/\n"})
    write(repo, {".lab/lab.json": "{}"})
    facts = {**run(repo), "sources": ["lab.yml"]}
    with workplace(facts, facts["folder"], repo) as place:
        assert repo / ".lab" == (place.root / ".lab").resolve()
        top = place.top
    assert (False, True) == (top.parent.exists(), (repo / ".lab" / "lab.json").exists())


def test_nothing_is_left_when_something_fails(repo):
    """No worktree, no folder."""
    facts = {**run(repo), "uncommitted": {"diff": "this is no diff", "sha256": "x", "files": []}}
    with pytest.raises(InputError, match="git apply"), workplace(facts, facts["folder"], repo):
        pass
    assert 1 == len(git(repo, "worktree", "list").splitlines())


def test_hooks_of_the_repository_do_not_run(repo):
    """Laying out is no checkout of a person's."""
    hook = repo / ".git" / "hooks" / "post-checkout"
    write(repo, {".git/hooks/post-checkout": f"#!/bin/sh\ntouch {repo}/hooked\n"})
    hook.chmod(0o755)
    facts = run(repo)
    with workplace(facts, facts["folder"], repo):
        assert not (repo / "hooked").exists()


def test_files_that_options_name_are_found_again(repo):
    """In the code, where they were, or where they are said to be; a secret's file is not in the record."""
    commit(repo, {"keys/id": "x"})
    (repo / "ignored-pass").write_text("x")
    options = {
        "vault_password_file": ["ignored-pass"],
        "vault_id": ["prod@ignored-pass", "dev@prompt"],
        "private_key": "keys/id",
    }
    done = run(repo)
    facts = {**done, "options": {**done["options"], **options}}
    with workplace(facts, facts["folder"], repo) as place:
        found = options_of(place)
        assert (str(place.root / "keys/id"), [str(repo / "ignored-pass")]) == (
            found.private_key,
            found.vault_password_file,
        )
        assert [f"prod@{repo / 'ignored-pass'}", "dev@prompt"] == found.vault_id
        assert [str(place.root / "hosts.ini")] == found.inventory
        (repo / "ignored-pass").unlink()
        with pytest.raises(InputError, match="ignored-pass, which the run was given, is not here"):
            options_of(place)


class Terminal(io.StringIO):
    """What a person types."""

    def isatty(self):
        """It is one."""
        return True


@pytest.mark.parametrize(
    ("typed", "agreed"), [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_a_person_is_asked_about_what_cannot_be_the_same(monkeypatch, capsys, typed, agreed):
    """And must say yes."""
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    if agreed:
        _agree(["fabric is 4 now, and was 3"], yes=False)
    else:
        with pytest.raises(NotAgreed):
            _agree(["fabric is 4 now, and was 3"], yes=False)
    assert "  - fabric is 4 now, and was 3\ngo on? [y/N] " in capsys.readouterr().out
