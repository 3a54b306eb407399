"""Reads every variable file that the hosts of an inventory have, before any host is touched."""

from __future__ import annotations

from pathlib import Path

from cleanslate.errors import InputError, Origin, Problems, suggest
from cleanslate.inventory.layers import folders_of
from cleanslate.inventory.tree import all_members
from cleanslate.inventory.varfiles import SUFFIXES, file_layers, names_in
from cleanslate.model import Inventory
from cleanslate.yamlfile import Decrypt, shown_path


def check_variable_files(
    inventory: Inventory, *, playbook_dir: Path | None, vault: Decrypt | None = None, problems: Problems
) -> None:
    """Note every mistake in group_vars and host_vars of the inventory's hosts, and files that belong to none of them.

    A file whose name is near that of a group or host is a warning, any other is a note: it may be for another
    inventory.
    """
    hosts = [*inventory.hosts, "localhost"]
    inhabited = [group for group, members in all_members(inventory).items() if members or group == "all"]
    for folder in dict.fromkeys(folders_of(inventory, playbook_dir)):
        for kind, names in (("group_vars", inhabited), ("host_vars", hosts)):
            for name in names:
                try:
                    file_layers(inventory, f"{folder}/{kind}", name, vault)
                except InputError as error:
                    problems.include(error)
        _strangers(inventory, folder, "group_vars", "group", [*inventory.groups], problems)
        _strangers(inventory, folder, "host_vars", "host", hosts, problems)


def _strangers(inventory: Inventory, folder: str, kind: str, what: str, known: list[str], problems: Problems) -> None:
    expected = {name + suffix for name in known for suffix in SUFFIXES}
    for name in sorted(names_in(inventory, f"{folder}/{kind}") - expected):
        path = Path(folder, kind, name)
        if name.startswith(".") or name.endswith("~") or (path.is_file() and path.suffix not in SUFFIXES):
            continue
        stem = name if path.is_dir() else name.removesuffix(path.suffix)
        near = suggest(stem, known)
        severity = "warning" if near else "note"
        problems.add(f'no {what} is named "{stem}"', Origin(shown_path(path)), fix=near, severity=severity)
