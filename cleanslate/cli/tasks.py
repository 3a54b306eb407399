"""Every task of `inv`: its options and documentation; the work is in the modules that they import when called."""

from __future__ import annotations

from typing import Any

from invoke import Collection

from cleanslate.cli.develop_tasks import TASKS as DEVELOP_TASKS
from cleanslate.cli.going_tasks import TASKS as GOING_TASKS
from cleanslate.cli.ours import task
from cleanslate.cli.record_tasks import TASKS as RECORD_TASKS

_WHERE = {
    "inventory": "inventory: a file, a folder, a script, or hosts with commas (may be repeated)",
    "limit": "only these hosts of the play's (a pattern)",
}
_VAULT = {
    "vault_id": "a vault id and where its password is: id@file, id@script, id@prompt (may be repeated)",
    "vault_password_file": "the file or script that gives the vault password",
    "ask_vault_password": "ask for the vault password",
}


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
        **_WHERE,
        **_VAULT,
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
        **_WHERE,
        **_VAULT,
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


@task(
    iterable=["inventory", "vault_id", "vault_password_file"],
    short={"inventory": "i", "limit": "l"},
    help={
        **_WHERE,
        **_VAULT,
        "graph": "groups and hosts as a tree",
        "host": "the variables of one host",
        "json": "as JSON, in the form of ansible-inventory --list",
    },
)
def inventory(
    context: Any,
    inventory: Any = None,
    limit: str | None = None,
    graph: bool = False,
    host: str | None = None,
    json: bool = False,
    vault_id: Any = None,
    vault_password_file: Any = None,
    ask_vault_password: bool = False,
) -> int:
    """Show the hosts and groups."""
    from cleanslate.cli.inventory_view import show_inventory
    from cleanslate.cli.loading import PlayOptions
    from cleanslate.cli.settings import settings_of

    options = PlayOptions(
        "",
        inventory or (),
        limit,
        vault_id=vault_id or (),
        vault_password_file=vault_password_file or (),
        ask_vault_password=ask_vault_password,
    )
    return show_inventory(options, settings_of(context), graph=graph, host=host, as_json=json)


@task(
    positional=["variable", "host"],
    iterable=["inventory", "extra_vars"],
    short={"inventory": "i", "extra_vars": "e", "playbook": "p"},
    help={
        **_WHERE,
        "variable": "the variable",
        "host": "the host",
        "playbook": "also what this playbook says of it",
        "extra_vars": "variables that would be given",
        "json": "as JSON",
    },
)
def explain(
    context: Any,
    variable: str,
    host: str,
    inventory: Any = None,
    playbook: str | None = None,
    extra_vars: Any = None,
    json: bool = False,
) -> int:
    """Show every definition of a variable for a host, lowest precedence first, and which one wins."""
    from cleanslate.cli.inventory_view import explain_variable
    from cleanslate.cli.loading import PlayOptions
    from cleanslate.cli.settings import settings_of

    options = PlayOptions(playbook or "", inventory or (), extra_vars=extra_vars or ())
    return explain_variable(variable, host, options, settings_of(context), as_json=json)


@task(
    positional=["pattern"],
    iterable=["inventory", "extra_vars"],
    incrementable=["verbose"],
    short={"inventory": "i", "limit": "l", "extra_vars": "e", "become": "b", "verbose": "v", "forks": "f"},
    help={
        **_WHERE,
        "pattern": "the hosts",
        "extra_vars": "variables",
        "become": "become another user (root)",
        "become_user": "the user to become",
        "output": "console, plain, json or quiet",
        "check": "only say where it would run",
        "forks": "how many hosts at once",
        "verbose": "show the whole result",
    },
)
def run(
    context: Any,
    pattern: str,
    inventory: Any = None,
    limit: str | None = None,
    extra_vars: Any = None,
    become: bool = False,
    become_user: str | None = None,
    check: bool = False,
    forks: int = 0,
    output: str = "console",
    verbose: int = 0,
) -> int:
    """Run one command on hosts: inv run gpu -- nvidia-smi -L."""
    given = dict(locals())
    del given["context"], given["pattern"]
    from cleanslate.cli.adhoc import run_command
    from cleanslate.cli.loading import PlayOptions
    from cleanslate.cli.settings import settings_of

    return run_command(pattern, PlayOptions(name="", **given), settings_of(context))


@task(
    positional=["pattern"],
    iterable=["inventory"],
    short={"inventory": "i"},
    help={
        **_WHERE,
        "pattern": "the hosts",
        "json": "as JSON",
        "once": "one reading, where a terminal would show them every second",
    },
)
def gpus(context: Any, pattern: str = "all", inventory: Any = None, json: bool = False, once: bool = False) -> int:
    """Read the GPUs of hosts: memory, holders, health; on a terminal every second, until Ctrl-C."""
    from cleanslate.cli.adhoc import read_gpus
    from cleanslate.cli.loading import PlayOptions
    from cleanslate.cli.settings import settings_of

    return read_gpus(pattern, PlayOptions("", inventory or ()), settings_of(context), as_json=json, once=once)


@task(
    positional=["action", "fault"],
    help={
        "action": "up, down, status or break",
        "fault": "for break: which fault, or none",
        "json": "as JSON",
        "gpu": "`real`: with the GPUs of this computer, whose memory is really taken",
    },
)
def lab(context: Any, action: str, fault: str = "", json: bool = False, gpu: str = "pretend") -> int:
    """Start, stop, look at or break the practice machine room on this computer."""
    from cleanslate.cli.lab import lab as run
    from cleanslate.cli.settings import settings_of

    return run(settings_of(context).root, action, fault, as_json=json, gpu=gpu)


@task(
    positional=["action", "name"],
    iterable=["vault_id", "vault_password_file"],
    help={
        **_VAULT,
        "action": "encrypt, decrypt, view, edit, rekey, or encrypt-string",
        "name": "the file; for encrypt-string the variable, whose value is asked for or read from standard input",
        "new_vault_id": "for rekey: where the new password is (id@file, id@script, id@prompt)",
    },
)
def vault(
    context: Any,
    action: str,
    name: str = "",
    vault_id: Any = None,
    vault_password_file: Any = None,
    ask_vault_password: bool = False,
    new_vault_id: str | None = None,
) -> int:
    """Encrypt and decrypt files and values, as ansible-vault does."""
    from cleanslate.cli.vault_files import vault as run

    sources = [*(vault_id or ()), *(f"default@{path}" for path in vault_password_file or ())]
    if ask_vault_password:
        sources.append("default@prompt")
    return run(action, name, sources, new_vault_id)


namespace = Collection(
    play, plays, steps, lint, schema, inventory, explain, run, *RECORD_TASKS, gpus, lab, vault, *DEVELOP_TASKS
)
for one in GOING_TASKS:
    namespace.add_task(one)
