"""Options of Ansible's commands that there are not here, and what to use instead."""

from __future__ import annotations

from collections.abc import Sequence

from cleanslate.errors import InputError

_TASKS = ("play", "run", "lint", "inventory", "explain")
_SSH = "set ansible_ssh_common_args (-e or the inventory) or the host's section of ~/.ssh/config"
_LIBRARY = "put modules into a folder library/ beside the playbook, or name their folder in ANSIBLE_LIBRARY"
_PASSWORD = "keep it in a vault file as {name}, or let yourself be asked with {option}"
INSTEAD = {
    "--ask-vault-pass": "--ask-vault-password",
    "-J": "--ask-vault-password",
    "--vault-pass-file": "--vault-password-file",
    "--inventory-file": "--inventory",
    "--key-file": "--private-key",
    "--subset": "--limit",
    "--ssh-common-args": _SSH,
    "--ssh-extra-args": _SSH,
    "--scp-extra-args": "files go over the one SSH connection; there is no scp",
    "--sftp-extra-args": "files go over the one SSH connection; there is no sftp",
    "--timeout": "set ansible_timeout, in seconds (-e ansible_timeout=30)",
    "-T": "set ansible_timeout, in seconds (-e ansible_timeout=30)",
    "--module-path": _LIBRARY,
    "-M": _LIBRARY,
    "--playbook-dir": "a playbook may lie anywhere; its folder is found by itself",
    "--become-password-file": _PASSWORD.format(name="ansible_become_password", option="--ask-become-pass"),
    "--become-pass-file": _PASSWORD.format(name="ansible_become_password", option="--ask-become-pass"),
    "--connection-password-file": _PASSWORD.format(name="ansible_password", option="--ask-pass"),
    "--conn-pass-file": _PASSWORD.format(name="ansible_password", option="--ask-pass"),
    "--sudo": "--become",
    "--su": "--become",
    "--ask-sudo-pass": "--ask-become-pass",
    "--ask-su-pass": "--ask-become-pass",
    "--one-line": "--output plain or --output json",
    "--tree": "every run is kept: inv runs, inv show",
    "--background": "--detach for a whole run, async and poll for a step",
    "--module-name": "inv run runs a command; write other steps into a playbook",
    "-m": "inv run runs a command; write other steps into a playbook",
    "--args": "what stands behind -- is the command: inv run all -- uptime",
    "-a": "what stands behind -- is the command: inv run all -- uptime",
}


def refuse_ansible_options(argv: Sequence[str], known: Sequence[str]) -> None:
    """InputError for the first option that only Ansible has; `known` are those that the task has itself."""
    words = argv[: argv.index("--")] if "--" in argv else argv
    for word in words:
        name = word.partition("=")[0]
        if name in INSTEAD and name not in known:
            instead = INSTEAD[name]
            fix = f"use {instead}" if instead.startswith("--") else instead
            raise InputError(f'there is no option "{name}" here, as Ansible has', fix=fix)


def concerns(argv: Sequence[str]) -> str | None:
    """The task of a command line for which Ansible's options may have been typed."""
    return next((word for word in argv if word in _TASKS), None)
