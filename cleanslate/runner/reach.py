"""Which target a step runs on, and as whom: keywords, connection variables and the command line, in Ansible's order."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, cast

from cleanslate.connect.address import address_of, become_of
from cleanslate.errors import InputError
from cleanslate.model import Keywords

if TYPE_CHECKING:
    from cleanslate.connect.target import Address, Target
    from cleanslate.runner.scope import PlayScope
    from cleanslate.runner.world import World

# A keyword, and the variable that wins over it.
_CONNECTION = (("connection", "ansible_connection"), ("remote_user", "ansible_user"), ("port", "ansible_port"))
_BECOME = ("become", "become_user", "become_method", "become_flags")
_PCT = ("pct", "proxmox_pct_remote")
_MAX_HOPS = 4  # a hypervisor may itself be reached through another; more than this is a cycle


def target_of(
    world: World, scope: PlayScope, words: Keywords, variables: Mapping[str, Any], machine: str, delegated: bool
) -> Target:
    """The target of a step on `machine`, which is its own host or the one it is delegated to."""
    seen = world.variables.of_play(machine, scope) if delegated else variables
    render = world.variables.renderer().render
    said = {name: render(getattr(words, name), variables) for name in _BECOME}
    if said["become"] is None:
        said["become"] = world.settings.become
    if said["become_user"] is None:
        said["become_user"] = world.settings.become_user
    become = become_of({name: value for name, value in said.items() if value is not None}, seen)
    return world.connections.target(address_for(world, scope, words, seen, machine), become)


def address_for(
    world: World, scope: PlayScope, words: Keywords, seen: Mapping[str, Any], machine: str, hops: int = 0
) -> Address:
    """Where a machine is; a container reached through `pct` carries its hypervisor's address along."""
    render = world.variables.renderer().render
    said: dict[str, Any] = {}
    for name, variable in _CONNECTION:
        value = getattr(words, name)
        if value is not None and variable not in seen:
            said[variable] = render(value, seen)
    merged = ChainMap(said, cast("MutableMapping[str, Any]", seen))
    via = None
    hypervisor = merged.get("hypervisor")
    if hypervisor is not None and str(merged.get("ansible_connection", "")).rpartition(".")[2] in _PCT:
        if hops >= _MAX_HOPS:
            raise InputError(f"{machine}: each hypervisor is reached through another one", fix="check `hypervisor`")
        behind = world.variables.of_play(str(hypervisor), scope)
        via = address_for(world, scope, Keywords(), behind, str(hypervisor), hops + 1)
    return address_of(machine, merged, via=via)
