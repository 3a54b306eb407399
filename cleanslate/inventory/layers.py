"""The variables of a host, layer by layer, in Ansible's order of precedence."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cleanslate.errors import Origin
from cleanslate.inventory.assembly import part
from cleanslate.inventory.names import LOCALHOSTS, is_address
from cleanslate.inventory.patterns import localhost_name
from cleanslate.inventory.tree import all_members, groups_of
from cleanslate.inventory.varfiles import Layer, file_layers
from cleanslate.model import Group, Host, Inventory, SourceMap
from cleanslate.yamlfile import Decrypt


def host_layers(
    inventory: Inventory, host: str, *, playbook_dir: Path | None, vault: Decrypt | None = None
) -> list[Layer]:
    """Give every layer of variables that inventory and playbook folder hold for a host; the last wins.

    `localhost` need not be in the inventory. A host that is in none still has what is set for `all`.
    Raises InputError for group_vars and host_vars that cannot be read.
    """
    target = find_host(inventory, host)
    folders = folders_of(inventory, playbook_dir)
    layers = list(_of_groups(inventory, target, folders, vault))
    layers.extend(_owned(target, _host_label(target)))
    for folder in folders:
        layers.extend(file_layers(inventory, f"{folder}/host_vars", target.name, vault))
    return _without_repeats(layers)


def folders_of(inventory: Inventory, playbook_dir: Path | None) -> tuple[str, ...]:
    """The folders beside which variable files lie: those of the sources, then the playbook's (perhaps one again)."""
    place = ("folders", str(playbook_dir), len(inventory.sources))
    cache = inventory.cache
    known: tuple[str, ...] | None = cache.get(place)
    if known is None:
        # abspath and not resolve: files lie beside a link, not beside what it points to
        beside = [os.path.abspath(source if source.is_dir() else source.parent) for source in inventory.sources]  # noqa: PTH100
        playbook = [os.path.abspath(playbook_dir)] if playbook_dir else []  # noqa: PTH100
        known = cache[place] = (*dict.fromkeys(beside), *playbook)
    return known


def _of_groups(inventory: Inventory, host: Host, folders: tuple[str, ...], vault: Decrypt | None) -> tuple[Layer, ...]:
    """What a host has from its groups; the same for all hosts of the same groups, so worked out once for them."""
    place = ("group layers", folders, tuple(host.groups))
    cache = inventory.cache
    known: tuple[Layer, ...] | None = cache.get(place)
    if known is None:
        groups = groups_of(inventory, host)
        layers = _own_of_groups(inventory, groups)
        for folder in folders:
            layers.extend(file_layers(inventory, f"{folder}/group_vars", "all", vault))
        for folder in folders:
            for group in groups:
                layers.extend(file_layers(inventory, f"{folder}/group_vars", group.name, vault))
        known = cache[place] = tuple(layers)
    return known


def _own_of_groups(inventory: Inventory, groups: list[Group]) -> list[Layer]:
    everyone = inventory.groups["all"]
    return [layer for group in (everyone, *groups) for layer in _owned(group, _group_label(group))]


def source_layers(inventory: Inventory, host: Host) -> list[Layer]:
    """Give only what the inventory's sources themselves say of a host, without group_vars and host_vars."""
    groups = _own_of_groups(inventory, groups_of(inventory, host))
    return [*groups, *_owned(host, _host_label(host))]


def find_host(inventory: Inventory, name: str) -> Host:
    """Give a host of the inventory, this computer by any of its names, or one that no source names."""
    local = localhost_name(inventory, name)
    known = inventory.hosts.get(local or name)
    if known:
        return known
    if local is None:
        return Host(name)
    values = SourceMap(
        {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}, Origin("this computer")
    )
    return Host(name, vars=values)


def inventory_variables(inventory: Inventory, host: str) -> dict[str, Any]:
    """Give the variables that say where a host stands: `inventory_hostname`, `group_names`, `groups` ..."""
    return {**place_of(inventory, find_host(inventory, host)), "groups": all_members(inventory)}


def place_of(inventory: Inventory, target: Host) -> dict[str, Any]:
    """A host's names, its source and its groups."""
    return {
        "inventory_hostname": target.name,
        "inventory_hostname_short": target.name if is_address(target.name) else target.name.split(".")[0],
        "inventory_file": str(target.source) if target.source else None,
        "inventory_dir": str(target.source.parent) if target.source else None,
        "group_names": sorted(group.name for group in groups_of(inventory, target)),
    }


def _owned(owner: Host | Group, label: Callable[[str], str]) -> Iterator[Layer]:
    """A group's or host's own variables as layers, apart by the file that set them."""
    for file, values in _by_file(owner):
        yield Layer(label(file), values)


def _group_label(group: Group) -> Callable[[str], str]:
    def label(file: str) -> str:
        if not file:
            return f"group {group.name}"
        yaml = file.endswith((".yml", ".yaml", ".json"))
        return f"inventory {file} {group.name}: vars" if yaml else f"inventory {file} [{group.name}:vars]"

    return label


def _host_label(host: Host) -> Callable[[str], str]:
    def label(file: str) -> str:
        if host.name in LOCALHOSTS and not host.groups:
            return "implicit localhost"
        return f"inventory {file} host {host.name}" if file else f"host {host.name}"

    return label


def _by_file(owner: Host | Group) -> Iterator[tuple[str, SourceMap]]:
    """A group's or host's variables, those that were replaced first, apart by the file that set them."""
    for replaced in owner.shadowed:
        for key in replaced:
            origin = replaced.key_origin(key)
            yield origin.file if origin else "", replaced
    if not owner.vars:
        return
    files: dict[str, list[Any]] = {}
    for key in owner.vars:
        origin = owner.vars.key_origin(key)
        files.setdefault(origin.file if origin else "", []).append(key)
    if len(files) == 1:
        yield next(iter(files)), owner.vars
        return
    for file, keys in files.items():
        yield file, part(owner.vars, keys)


def _without_repeats(layers: list[Layer]) -> list[Layer]:
    """A file read for two places (inventory beside playbook) is told once, where it wins."""
    last = {id(layer): place for place, layer in enumerate(layers)}
    return [layer for place, layer in enumerate(layers) if last[id(layer)] == place]
