"""The variables of a host, layer by layer, in Ansible's order of precedence."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator
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
    top = inventory.groups["all"]
    groups = groups_of(inventory, target)
    beside = [_plain(source if source.is_dir() else source.parent) for source in inventory.sources]
    folders = list(dict.fromkeys(beside))
    playbook = [_plain(playbook_dir)] if playbook_dir else []

    def files(kind: str, name: str, places: list[Path]) -> Iterator[Layer]:
        return itertools.chain.from_iterable(file_layers(inventory, place / kind, name, vault) for place in places)

    layers = [*_group_layers(top), *files("group_vars", "all", folders), *files("group_vars", "all", playbook)]
    for group in groups:
        layers.extend(_group_layers(group))
    for place in [*folders, *playbook]:
        for group in groups:
            layers.extend(files("group_vars", group.name, [place]))
    layers.extend(_host_layers(target))
    layers.extend(files("host_vars", target.name, [*folders, *playbook]))
    return _without_repeats(layers)


def _plain(path: Path) -> Path:
    """One spelling for each folder, so that a file is read and told once. Links stay what they are."""
    return Path(os.path.abspath(path))  # noqa: PTH100  # resolve() would look for group_vars where a link points to


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
    target = find_host(inventory, host)
    return {
        "inventory_hostname": target.name,
        "inventory_hostname_short": target.name if is_address(target.name) else target.name.split(".")[0],
        "inventory_file": str(target.source) if target.source else None,
        "inventory_dir": str(target.source.parent) if target.source else None,
        "group_names": sorted(group.name for group in groups_of(inventory, target)),
        "groups": all_members(inventory),
    }


def _group_layers(group: Group) -> list[Layer]:
    return [
        Layer(f"inventory {file} {_section(file, group.name)}" if file else f"group {group.name}", values)
        for file, values in _by_file(group)
    ]


def _section(file: str, group: str) -> str:
    return f"{group}: vars" if file.endswith((".yml", ".yaml", ".json")) else f"[{group}:vars]"


def _host_layers(host: Host) -> list[Layer]:
    if host.name in LOCALHOSTS and not host.groups:
        return [Layer("implicit localhost", host.vars)]
    return [
        Layer(f"inventory {file} host {host.name}" if file else f"host {host.name}", values)
        for file, values in _by_file(host)
    ]


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
