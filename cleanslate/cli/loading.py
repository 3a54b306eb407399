"""Everything that a play reads before a host is touched: options, inventory, variables, playbook; checked together."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from cleanslate.cli.settings import Settings, find_playbook
from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError, Problems
from cleanslate.model import Inventory, Playbook, SourceMap
from cleanslate.redaction import Secrets

Decrypt = Callable[[str], str]


@dataclass
class PlayOptions:
    """The command line of `inv play`, as given. Names are Ansible's."""

    name: str
    inventory: Sequence[str] = ()
    limit: str | None = None
    extra_vars: Sequence[str] = ()
    tags: Sequence[str] = ()
    skip_tags: Sequence[str] = ()
    check: bool = False
    diff: bool = False
    start_at_task: str | None = None
    step: bool = False
    forks: int = 0
    vault_id: Sequence[str] = ()
    vault_password_file: Sequence[str] = ()
    ask_vault_password: bool = False
    output: str = "console"
    verbose: int = 0
    user: str | None = None
    private_key: str | None = None
    connection: str | None = None
    become: bool = False
    become_user: str | None = None
    become_method: str | None = None
    ask_become_pass: bool = False
    ask_pass: bool = False
    force_handlers: bool = False
    accept_new_host_keys: bool = False
    list_hosts: bool = False
    list_tasks: bool = False
    list_tags: bool = False
    syntax_check: bool = False
    wait: str | None = None
    detach: bool = False
    clean: bool = False


@dataclass
class Loaded:
    """Everything that is read before a host is touched."""

    playbook: Playbook
    inventory: Inventory
    extra_vars: SourceMap
    secrets: Secrets
    decrypt: Decrypt | None
    warnings: list[Any] = field(default_factory=list)
    reload: Callable[[], Inventory] | None = None


def load(options: PlayOptions, settings: Settings, *, lint: bool = False) -> Loaded:
    """Read inventory, variables and playbook, and check them together; every mistake is in the InputError.

    With `lint`, what runs and is probably not meant is among the warnings.
    """
    from cleanslate.cli.extra_vars import extra_variables
    from cleanslate.inventory import check_variable_files, load_inventory, match_hosts
    from cleanslate.playbook import check_playbook, load_playbook

    path = find_playbook(settings.root, options.name)
    secrets = Secrets()
    decrypt = vault_of(options, secrets)
    problems = Problems()
    extra_vars: SourceMap = _collect(problems, lambda: extra_variables(options.extra_vars, decrypt)) or SourceMap()
    sources = [source(text) for text in options.inventory] or list(settings.inventory)
    here = Path.cwd()

    def read_inventory() -> Inventory:
        return load_inventory(sources, base=here, vault=decrypt)

    inventory = _collect(problems, read_inventory)
    playbook = _collect(problems, lambda: load_playbook(path, vault=decrypt, problems=problems, extra_vars=extra_vars))
    if inventory is not None:
        check_variable_files(inventory, playbook_dir=path.parent, vault=decrypt, problems=problems)
        problems.found += inventory.warnings
        if options.limit:
            _collect(problems, lambda: match_hosts("all", inventory, limit=options.limit))
    if playbook is not None and inventory is not None:
        check_playbook(playbook, inventory, extra_vars=extra_vars, problems=problems, vault=decrypt, lint=lint)
    problems.raise_if_any()
    assert playbook is not None
    assert inventory is not None
    warnings = [problem for problem in problems.found if problem.severity == "warning"]
    return Loaded(playbook, inventory, extra_vars, secrets, decrypt, warnings, read_inventory)


def source(text: str) -> str:
    """A source as given; a path relative to where the person stands becomes absolute."""
    return text if "," in text else str(Path(text).expanduser().absolute())


def _collect(problems: Problems, load: Callable[[], Any]) -> Any:
    """Load something; its mistakes join the others instead of hiding them."""
    try:
        return load()
    except InputError as error:
        problems.include(error)
        return None


def vault_of(options: PlayOptions, secrets: Secrets) -> Decrypt | None:
    """The vault keys that were named; without any, files that need one say so when they are read."""
    named = options.vault_id or options.vault_password_file or options.ask_vault_password
    if not (named or os.environ.get("ANSIBLE_VAULT_PASSWORD_FILE")):
        return None
    from cleanslate.cli.vault_options import vault_keys

    return vault_keys(options, secrets)


def words(given: Sequence[str]) -> list[str]:
    """Tags as given: several options, each with commas."""
    return [word.strip() for text in given for word in text.split(",") if word.strip()]
