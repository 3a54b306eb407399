"""The command line that Ansible's users know: the contract's options are there, others say what is instead."""

import pytest

from cleanslate.cli import namespace
from cleanslate.cli.ansible_options import INSTEAD
from tests.cli.test_inv import inv, project  # noqa: F401 - a fixture

LONG = """
    inventory limit extra-vars tags skip-tags check diff forks start-at-task step force-handlers flush-cache vault-id
    vault-password-file ask-vault-password user private-key connection become become-user ask-become-pass list-hosts
    list-tasks list-tags syntax-check output verbose
"""
SHORT = "i l e t C D f v u c b K k"


def options(name):
    """Every spelling of a task's options."""
    return {word.lstrip("-") for word in namespace[name].spellings()}


def test_play_has_every_option_of_the_contract():
    """Long ones with Ansible's names, and its short ones."""
    assert [] == [name for name in (*LONG.split(), *SHORT.split()) if name not in options("play")]


def test_no_option_is_refused_that_there_is():
    """What stands in the list of others' options is not one of ours."""
    assert [] == [name for name in INSTEAD if name.lstrip("-") in options("play")]


def test_every_option_that_is_named_instead_exists():
    """Nobody is sent to an option that there is not."""
    named = {word.strip("(,;") for text in INSTEAD.values() for word in text.split() if word.startswith("--")} - {"--"}
    assert [] == [name for name in sorted(named) if name.removeprefix("--") not in options("play")]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["play", "hello", "--ask-vault-pass"],
            'no option "--ask-vault-pass" here, as Ansible has; use --ask-vault-password',
        ),
        (["play", "hello", "-T", "30"], 'no option "-T" here, as Ansible has; set ansible_timeout'),
        (["play", "hello", "--ssh-common-args=-o X=y"], "set ansible_ssh_common_args"),
        (["run", "all", "-m", "ping"], "inv run runs a command"),
    ],
)
def test_an_option_of_ansibles_says_what_to_use(project, words, says):  # noqa: F811 - the fixture
    """Exit 64, and nothing was touched."""
    done = inv(*words, cwd=project)
    assert (64, True) == (done.returncode, says in done.stderr), done.stderr


def test_behind_two_dashes_options_are_the_commands_own(project):  # noqa: F811 - the fixture
    """`-m` and `-T` of the command that is run."""
    done = inv("run", "alpha", "--", "echo", "-m", "-T", cwd=project)
    assert (0, True) == (done.returncode, "-m -T" in done.stdout), done.stderr


def test_flush_cache_is_taken(project):  # noqa: F811 - the fixture
    """There is no cache of facts, so it changes nothing."""
    assert 0 == inv("play", "hello", "--flush-cache", "-e", "who=you", cwd=project).returncode


@pytest.mark.parametrize(
    ("option", "ran"), [(["--start-at-task", "Say it"], 2), (["--start-at-task", "Say*"], 2), (["--tags", "other"], 0)]
)
def test_where_a_run_starts(project, option, ran):  # noqa: F811 - the fixture
    """At the step of that name, or pattern."""
    done = inv("play", "hello", *option, "-e", "who=you", cwd=project)
    assert (0, ran) == (done.returncode, done.stdout.count("hello you")), done.stdout + done.stderr
