"""Every task of `inv`: its options and documentation; the work is in the modules that they import when called."""

from __future__ import annotations

from typing import Any

from invoke import Collection

from cleanslate.cli.develop_tasks import TASKS as DEVELOP_TASKS
from cleanslate.cli.going_tasks import TASKS as GOING_TASKS
from cleanslate.cli.host_tasks import TASKS as HOST_TASKS
from cleanslate.cli.host_tasks import VAULT, WHERE
from cleanslate.cli.ours import task
from cleanslate.cli.record_tasks import TASKS as RECORD_TASKS


@task(
    positional=["name"],
    iterable=["inventory", "extra_vars", "tags", "skip_tags", "vault_id", "vault_password_file"],
    incrementable=["verbose"],
    short={
        "inventory": "i",
        "limit": "l",
        "extra_vars": "e",
        "tags": "t",
        "check": "C",
        "diff": "D",
        "forks": "f",
        "verbose": "v",
        "user": "u",
        "connection": "c",
        "become": "b",
        "ask_become_pass": "K",
        "ask_pass": "k",
    },
    help={
        **WHERE,
        **VAULT,
        "name": "NAME for playbooks/NAME.yml, or the path of a playbook",
        "extra_vars": "key=value, @file.yml or a JSON mapping; wins over every other variable (may be repeated)",
        "tags": "only steps with these tags",
        "skip_tags": "not steps with these tags",
        "check": "foretell what would change, and change nothing",
        "diff": "show what changes in files",
        "start_at_task": "start at the step of this name",
        "step": "ask before each step",
        "forks": "how many hosts at once",
        "output": "console, plain, json (one event a line) or quiet",
        "verbose": "show results and the log; more with -vv, -vvv",
        "user": "connect as this user",
        "private_key": "connect with this key file",
        "connection": "ssh, local or pct",
        "become": "become another user (root)",
        "become_user": "the user to become",
        "become_method": "how to become it (sudo)",
        "ask_become_pass": "ask for the password that sudo wants",
        "ask_pass": "ask for the SSH password",
        "flush_cache": "taken for Ansible's sake: facts are never kept from one run to the next",
        "force_handlers": "run notified handlers even where a step fails",
        "accept_new_host_keys": "accept host keys that are not known yet (changed ones are always refused)",
        "list_hosts": "list the hosts, and run nothing",
        "list_tasks": "list the steps, and run nothing",
        "list_tags": "list the tags, and run nothing",
        "syntax_check": "read and check everything, and run nothing",
        "wait": "how long to wait for hosts that another run holds (10m); without it the run is refused, with exit 5",
        "detach": "run in the background; follow it with inv attach, stop it with inv stop",
        "clean": "refuse to run with changes that are not committed",
    },
)
def play(
    context: Any,
    name: str,
    inventory: Any = None,
    limit: str | None = None,
    extra_vars: Any = None,
    tags: Any = None,
    skip_tags: Any = None,
    check: bool = False,
    diff: bool = False,
    start_at_task: str | None = None,
    step: bool = False,
    forks: int = 0,
    vault_id: Any = None,
    vault_password_file: Any = None,
    ask_vault_password: bool = False,
    output: str = "console",
    verbose: int = 0,
    user: str | None = None,
    private_key: str | None = None,
    connection: str | None = None,
    become: bool = False,
    become_user: str | None = None,
    become_method: str | None = None,
    ask_become_pass: bool = False,
    ask_pass: bool = False,
    force_handlers: bool = False,
    flush_cache: bool = False,
    accept_new_host_keys: bool = False,
    list_hosts: bool = False,
    list_tasks: bool = False,
    list_tags: bool = False,
    syntax_check: bool = False,
    wait: str | None = None,
    detach: bool = False,
    clean: bool = False,
) -> int:
    """Run a playbook on its hosts: inv play restart-eagle3."""
    given = dict(locals())
    del given["context"], given["flush_cache"]
    from cleanslate.cli.loading import PlayOptions
    from cleanslate.cli.play import play as run
    from cleanslate.cli.settings import settings_of

    return run(PlayOptions(**given), settings_of(context))


@task(help={"json": "as JSON"})
def plays(context: Any, json: bool = False) -> int:
    """List the playbooks of this repository."""
    from cleanslate.cli.listing import list_playbooks
    from cleanslate.cli.settings import settings_of

    return list_playbooks(settings_of(context), as_json=json)


@task(positional=["name"], help={"name": "one step type, with everything about it", "json": "as JSON"})
def steps(context: Any, name: str = "", json: bool = False) -> int:
    """List the step types, or show the documentation of one."""
    from cleanslate.cli.settings import project_root
    from cleanslate.cli.step_pages import show_steps

    return show_steps(name, project_root(), as_json=json)


@task(
    positional=["path"],
    iterable=["inventory", "extra_vars", "vault_id", "vault_password_file"],
    short={"inventory": "i", "extra_vars": "e"},
    help={
        **WHERE,
        **VAULT,
        "path": "a playbook, or a folder; without it, every playbook of this repository",
        "extra_vars": "variables that would be given",
        "output": "text, json, or sarif (2.1.0, for code hosts and editors)",
        "json": "as JSON",
    },
)
def lint(
    context: Any,
    path: str = "",
    inventory: Any = None,
    extra_vars: Any = None,
    vault_id: Any = None,
    vault_password_file: Any = None,
    ask_vault_password: bool = False,
    output: str = "text",
    json: bool = False,
) -> int:
    """Check playbooks without touching a host; prints file:line:column: severity: message."""
    given = dict(locals())
    del given["context"], given["json"], given["path"], given["output"]
    from cleanslate.cli.lint import lint as run
    from cleanslate.cli.loading import PlayOptions
    from cleanslate.cli.settings import settings_of

    return run(path, PlayOptions(name="", **given), settings_of(context), output="json" if json else output)


@task()
def schema(context: Any) -> int:
    """Print the JSON schema of playbooks, for editors."""
    from cleanslate.cli.step_pages import print_schema

    return print_schema()


namespace = Collection(play, plays, steps, lint, schema, *HOST_TASKS, *RECORD_TASKS, *DEVELOP_TASKS)
for one in GOING_TASKS:
    namespace.add_task(one)
