"""The command line as people use it: exit codes, what goes where, help, and every option documented."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pytest

from cleanslate.cli import namespace
from cleanslate.cli.__main__ import Inv

REPOSITORY = Path(__file__).parents[2]
PLAY = """\
# Say hello.
- name: Hello
  hosts: all
  gather_facts: false
  tasks:
    - name: Say it
      debug: {msg: "hello {{ who }}"}
      tags: say
"""


def inv(*words, cwd=REPOSITORY, **environment):
    """Run inv in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "cleanslate.cli", *words],
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1", **environment},
    )


@pytest.fixture
def project(tmp_path):
    """A repository of somebody else's: a playbook, an inventory, no more."""
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks" / "hello.yml").write_text(PLAY)
    (tmp_path / "hosts").write_text("alpha ansible_connection=local\nbeta ansible_connection=local\n")
    (tmp_path / "invoke.yaml").write_text("cleanslate:\n  inventory: hosts\n  runs: records\n")
    return tmp_path


def test_a_playbook_by_name_with_the_repository_s_own_settings(project):
    """It works in any repository that has playbooks; the record goes where its settings say."""
    done = inv("play", "hello", "-e", "who=you", cwd=project)
    assert 0 == done.returncode, done.stderr
    assert "hello you" in done.stdout
    assert 1 == len(list((project / "records").iterdir()))


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["play", "helo"], 64, 'did you mean "hello"?'),
        (["play", "hello", "-l", "gamma", "-e", "who=x"], 64, '"gamma" matches no host'),
        (["play", "hello", "-e", "who"], 64, "-e"),
        (["play", "hello", "-e", "@nosuch.yml"], 64, "nosuch.yml"),
        (["play", "hello", "--output", "jason"], 64, "console, plain, json, quiet"),
        (["play", "hello", "--chek"], 64, "--chek"),
        (["play"], 64, "play needs NAME"),
        (["pley", "hello"], 64, "pley"),
        (["show", "last"], 64, "there are no runs"),
        (["steps", "copi"], 64, 'did you mean "copy"?'),
        (["run", "all"], 64, "two dashes"),
        (["lab", "upp"], 64, 'did you mean "up"?'),
        (["explain", "who", "alpha"], 64, 'nothing defines "who"'),
    ],
)
def test_wrong_input_is_64_and_says_what_would_be_right(project, monkeypatch, capsys, words, code, said):
    """Nothing is contacted; the message goes to standard error. In this process: others show that `inv` is no other."""
    monkeypatch.chdir(project)
    with pytest.raises(SystemExit) as end:
        # of its own, because Invoke takes the help out of the tasks that it describes
        Inv(name="cleanslate", binary="inv", version="1", namespace=deepcopy(namespace)).run(["inv", *words])
    assert code == end.value.code
    assert said in capsys.readouterr().err
    assert not (project / "records").exists()


def test_wrong_input_is_the_exit_code_of_the_process(project):
    """Whatever was wrong."""
    done = inv("play", "helo", cwd=project)
    assert (64, "") == (done.returncode, done.stdout)
    assert 'did you mean "hello"?' in done.stderr


def test_all_mistakes_are_told_at_once(project):
    """Of the playbook and of the inventory."""
    (project / "playbooks" / "bad.yml").write_text(
        "- hosts: all\n  tasks:\n    - coppy: {src: a}\n    - copy: {sorce: a, dest: /b}\n"
        "    - debug: {}\n      whn: x\n"
    )
    done = inv("play", "bad", cwd=project)
    assert 64 == done.returncode
    for said in ("bad.yml:3:7", 'did you mean "copy"?', "bad.yml:4:", 'did you mean "src"?', 'did you mean "when"?'):
        assert said in done.stderr
    assert "no host was contacted" in done.stderr


def test_a_failed_host_is_2(project):
    """And an ignored failure is none."""
    (project / "playbooks" / "f.yml").write_text("- {hosts: all, gather_facts: false, tasks: [{fail: {}}]}\n")
    assert 2 == inv("play", "f", cwd=project).returncode


def test_an_unreachable_host_is_4(project):
    """Nobody listens on the port."""
    (project / "far").write_text("far ansible_host=127.0.0.1 ansible_port=1\n")
    (project / "playbooks" / "f.yml").write_text("- {hosts: all, gather_facts: false, tasks: [{ping: {}}]}\n")
    done = inv("play", "f", "-i", "far", cwd=project)
    assert 4 == done.returncode, done.stdout
    assert "unreachable" in done.stdout


def test_json_output_is_events_only(project):
    """Standard output holds one event a line and nothing else."""
    done = inv("play", "hello", "-e", "who=you", "--output", "json", cwd=project)
    kinds = [json.loads(line)["kind"] for line in done.stdout.splitlines()]
    assert ("run.started", "run.finished") == (kinds[0], kinds[-1])


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--list-hosts", "alpha"),
        ("--list-tasks", "Say it"),
        ("--list-tags", "tags: [say]"),
        ("--syntax-check", "hello"),
    ],
)
def test_listing_runs_nothing(project, option, said):
    """Each shows what it is for, and leaves no record."""
    done = inv("play", "hello", option, "-e", "who=x", cwd=project)
    assert 0 == done.returncode, done.stderr
    assert said in done.stdout
    assert not (project / "records").exists()


@pytest.mark.parametrize("words", [["plays"], ["steps"], ["runs"], ["inventory"], ["lint"]])
def test_every_listing_takes_json(project, words):
    """And prints nothing else."""
    done = inv(*words, "--json", cwd=project)
    json.loads(done.stdout)


def test_a_command_on_hosts(project):
    """What stands behind the two dashes runs on each; its output and exit code are shown."""
    done = inv("run", "all", "--", "echo", "a b", "$HOME_less", cwd=project)
    assert 0 == done.returncode, done.stderr
    assert 2 == done.stdout.count("a b $HOME_less\n")
    assert 2 == done.stdout.count("rc=0")
    failed = inv("run", "alpha", "--", "echo sad >&2; exit 3", cwd=project)
    assert 2 == failed.returncode
    assert "rc=3" in failed.stdout
    assert "sad" in failed.stdout


def test_show_tells_a_run_again(project):
    """By `last`, from the record alone."""
    inv("play", "hello", "-e", "who=you", cwd=project)
    shown = inv("show", cwd=project)
    assert 0 == shown.returncode, shown.stderr
    assert "hello you" in shown.stdout
    assert "hello" in inv("runs", cwd=project).stdout


def test_explain_names_every_definition_and_the_winner(project):
    """Lowest first; -e wins."""
    (project / "group_vars").mkdir()
    (project / "group_vars" / "all.yml").write_text("who: everybody\n")
    done = inv("explain", "who", "alpha", "-e", "who=me", cwd=project)
    assert 0 == done.returncode, done.stderr
    lines = done.stdout.splitlines()
    assert '"everybody"' in lines[0]
    assert "group_vars/all.yml:1:1" in lines[1]
    assert 'wins  "me"' == lines[2]


def test_help_behind_a_task(project):
    """`inv play --help` documents the task instead of looking for a playbook of that name."""
    done = inv("play", "--help", cwd=project)
    assert 0 == done.returncode
    assert "--extra-vars" in done.stdout
    assert "wins over every other variable" in " ".join(done.stdout.split())


def test_every_task_and_option_is_documented():
    """A task has a sentence, an option has one too."""
    for name, task in namespace.tasks.items():
        assert (task.__doc__ or "").strip().endswith("."), name
        for argument in task.get_arguments():
            assert argument.help, f"{name} {argument.name}"


def test_plain_invoke_has_the_same_tasks():
    """`invoke TASK` works as `inv TASK` in the repository."""
    command = [str(Path(sys.executable).parent / "invoke"), "steps", "debug"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, timeout=60)
    assert 0 == done.returncode, done.stderr
    assert done.stdout.startswith("# debug")


@pytest.mark.parametrize("words", [("plays",), ("play", "nothing", "--check")])
def test_who_uses_none_of_it_does_not_pay_for_it(project, words):
    """A listing, and a play without steps, import nothing that connections, arguments, templates and tests need."""
    (project / "playbooks" / "nothing.yml").write_text("- hosts: all\n  gather_facts: false\n  tasks: []\n")
    argv = [sys.executable, "-X", "importtime", "-m", "cleanslate.cli", *words]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=project, timeout=60)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "cleanslate.cli.tasks" in imported
    heavy = {"fabric", "paramiko", "pydantic", "jinja2", "rich", "structlog", "asyncio", "unittest", "ssl"}
    assert set() == imported & heavy


def test_bytecode_is_kept_in_the_environment_where_it_is_not_wanted_beside_sources(project):
    """Without any, every start would compile all that it imports."""
    program = "import cleanslate.cli, sys; print(sys.pycache_prefix, sys.dont_write_bytecode)"
    said = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=project,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    ).stdout
    assert f"{Path(sys.prefix, 'bytecode')} False\n" == said


def test_invokes_own_help_for_tests_still_works():
    """It is made from unittest.mock, which is imported when it is used."""
    program = (
        "import cleanslate.cli; from invoke import MockContext, Result; "
        "print(MockContext(run=Result('said')).run('anything').stdout)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ("said\n", "") == (said.stdout, said.stderr)


@pytest.mark.slow
def test_vault_files_and_values(project):
    """Encrypted, looked at, rekeyed, decrypted; a value goes in through standard input, and a play reads it."""
    (project / "old").write_text("first\n")
    (project / "new").write_text("second\n")
    (project / "group_vars").mkdir()
    secret = project / "group_vars" / "all.yml"
    secret.write_text("who: my-hidden-friend\n")
    old, new = ("--vault-password-file", "old"), ("--vault-password-file", "new")
    assert 0 == inv("vault", "encrypt", str(secret), *old, cwd=project).returncode
    assert secret.read_text().startswith("$ANSIBLE_VAULT;1.1;AES256")
    assert "who: my-hidden-friend\n" == inv("vault", "view", str(secret), *old, cwd=project).stdout
    rekeyed = inv("vault", "rekey", str(secret), *old, "--new-vault-id", "default@new", cwd=project)
    assert 0 == rekeyed.returncode, rekeyed.stderr
    played = inv("play", "hello", *new, cwd=project)
    assert 0 == played.returncode, played.stderr
    assert "my-hidden-friend" not in played.stdout
    refused = inv("vault", "view", str(secret), *old, cwd=project)
    assert 64 == refused.returncode
    assert 0 == inv("vault", "decrypt", str(secret), *new, cwd=project).returncode
    assert "who: my-hidden-friend\n" == secret.read_text()


def test_a_value_to_encrypt_is_never_an_argument(project):
    """It is read from standard input; the result stands for itself in a variables file."""
    (project / "key").write_text("first\n")
    command = [sys.executable, "-m", "cleanslate.cli", "vault", "encrypt-string", "token"]
    done = subprocess.run(
        [*command, "--vault-password-file", "key"],
        input="s3cret",
        capture_output=True,
        text=True,
        cwd=project,
        timeout=60,
    )
    assert 0 == done.returncode, done.stderr
    assert done.stdout.startswith("token: !vault |\n")
    assert "s3cret" not in done.stdout
