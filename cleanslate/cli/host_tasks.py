"""The tasks about hosts outside a play: inventory, variables, a command, GPUs; the lab, and encrypted files."""

from __future__ import annotations

from typing import Any

from cleanslate.cli.ours import task

WHERE = {
    "inventory": "inventory: a file, a folder, a script, or hosts with commas (may be repeated)",
    "limit": "only these hosts of the play's (a pattern)",
}
VAULT = {
    "vault_id": "a vault id and where its password is: id@file, id@script, id@prompt (may be repeated)",
    "vault_password_file": "the file or script that gives the vault password",
    "ask_vault_password": "ask for the vault password",
}


@task(
    iterable=["inventory", "vault_id", "vault_password_file"],
    short={"inventory": "i", "limit": "l"},
    help={
        **WHERE,
        **VAULT,
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
        **WHERE,
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
        **WHERE,
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
        **WHERE,
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
        **VAULT,
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


TASKS = (inventory, explain, run, gpus, lab, vault)
