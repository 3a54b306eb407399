"""Puts an inventory together from what its sources say, and finds what cannot be in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from pathlib import Path
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import Origin, Problems, suggest
from cleanslate.inventory.names import NameMistake, expand_hosts
from cleanslate.inventory.tree import ancestors, set_depths
from cleanslate.model import Group, Host, Inventory, SourceMap, origin_of

PRIORITY = "ansible_group_priority"


@dataclass(frozen=True)
class Reference:
    """A group that a source speaks of and that must be declared somewhere; `parent` then takes it as a child."""

    group: str
    what: str
    origin: Origin | None
    parent: str | None


@dataclass
class Assembly:
    """An inventory in the making. Sources add to it; every mistake goes to `problems`; `finish` closes it."""

    problems: Problems = field(default_factory=Problems)
    inventory: Inventory = field(default_factory=Inventory)
    references: list[Reference] = field(default_factory=list)
    declared: dict[str, Origin | None] = field(default_factory=dict)
    host_places: dict[str, Origin | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.group("all", None)
        self.group("ungrouped", None)
        self.child("all", "ungrouped", None)

    def group(self, name: str, origin: Origin | None, *, declares: bool = True) -> Group:
        """Give the group, made when it is new; a place that only speaks of it does not declare it."""
        if declares:
            self.declared.setdefault(name, origin)
        return self.inventory.groups.setdefault(name, Group(name))

    def host(self, name: str, group: str, origin: Origin | None, source: Path | None) -> Host:
        """Give the host, made when it is new, and put it into the group."""
        host = self.inventory.hosts.get(name)
        if host is None:
            host = self.inventory.hosts[name] = Host(name, source=source)
            self.host_places[name] = origin
        if group not in host.groups:
            host.groups.append(group)
            self.inventory.groups[group].hosts.append(name)
        return host

    def hosts(self, text: str, group: str, origin: Origin | None, source: Path | None) -> list[Host]:
        """Read a name that may hold ranges and a port, and give its hosts; none when it cannot be read.

        The port counts where the host is named first; later ones are passed over, as Ansible does.
        """
        try:
            names, port = expand_hosts(text)
        except NameMistake as mistake:
            place = origin._replace(column=origin.column + mistake.offset) if origin and origin.column else origin
            self.problems.add(mistake.what, place, fix=mistake.fix)
            return []
        new = [name for name in names if name not in self.inventory.hosts]
        hosts = [self.host(name, group, origin, source) for name in names]
        if port is not None:
            for name in new:
                assign(self.inventory.hosts[name], "ansible_port", port, origin, origin)
            if len(new) < len(hosts):
                self._warn_of_port(text, port, origin, hosts)
        return hosts

    def _warn_of_port(self, text: str, port: int, origin: Origin | None, hosts: list[Host]) -> None:
        if any(host.vars.get("ansible_port", 22) != port for host in hosts):
            what = f'the port of "{text}" is not used, because the host was named before'
            self.problems.add(what, origin, fix=f"set ansible_port={port}", severity="warning")

    def child(self, parent: str, child: str, origin: Origin | None) -> None:
        """Put a group below another; a circle is a mistake, and not made."""
        groups = self.inventory.groups
        if child in groups[parent].children:
            return
        if child == parent:
            self.problems.add(f'group "{child}" is its own child', origin, fix="take it out of its children")
        elif child == "all":
            self.problems.add(f'group "{parent}" has "all" as a child', origin, fix='"all" holds every group already')
        elif child in ancestors(self.inventory, [parent]):
            way = " > ".join([*self._way(child, parent), child])
            self.problems.add(f"the groups hold one another in a circle: {way}", origin, fix="take one of them out")
        else:
            groups[parent].children.append(child)
            groups[child].parents.append(parent)

    def _way(self, above: str, below: str) -> list[str]:
        if above == below:
            return [above]
        for child in self.inventory.groups[above].children:
            way = self._way(child, below)
            if way:
                return [above, *way]
        return []

    def set_group_variable(self, group: str, key: Any, value: Any, at: Origin | None, value_at: Origin | None) -> None:
        """Set a group's variable, or its priority."""
        target = self.inventory.groups[group]
        if key != PRIORITY:
            assign(target, key, value, at, value_at)
            return
        try:
            target.priority = int(value)
        except (TypeError, ValueError):
            self.problems.add(f'{PRIORITY} of group "{group}" is "{value}"', value_at, fix="it must be a whole number")

    def set_group_variables(self, group: str, values: SourceMap) -> None:
        """Set all of a mapping's entries on a group."""
        for key, value in values.items():
            self.set_group_variable(group, key, value, values.key_origin(key), values.value_origin(key))

    def set_host_variables(self, host: Host, values: SourceMap) -> None:
        """Set all of a mapping's entries on a host."""
        for key, value in values.items():
            assign(host, key, value, values.key_origin(key), values.value_origin(key))

    def require(self, group: str, what: str, origin: Origin | None, *, parent: str | None = None) -> None:
        """Note that some source must declare the group, by the end; `parent` then takes it as a child."""
        self.references.append(Reference(group, what, origin, parent))

    def finish(self) -> Inventory:
        """Close the inventory: what nobody holds goes below `all` and `ungrouped`. Raises InputError."""
        self._check_references()
        settle(self.inventory)
        self._warn_of_clashes()
        self.problems.raise_if_any()
        self.inventory.warnings.extend(self.problems.found)
        return self.inventory

    def _check_references(self) -> None:
        for reference in self.references:
            if reference.group in self.declared:
                if reference.parent:
                    self.child(reference.parent, reference.group, reference.origin)
            else:
                near = suggest(reference.group, set(self.declared) - {"all", "ungrouped"})
                fix = near or f"declare it with [{reference.group}]"
                self.problems.add(
                    f'{reference.what} "{reference.group}", which no source declares', reference.origin, fix=fix
                )

    def _warn_of_clashes(self) -> None:
        for name in self.inventory.hosts:
            if name in self.inventory.groups:
                self.problems.add(
                    f'"{name}" is the name of a host and of a group',
                    self.host_places.get(name) or self.declared.get(name),
                    fix=f'the pattern "{name}" means the host; give one of them another name',
                    severity="warning",
                )


def assign(owner: Host | Group, key: Any, value: Any, at: Origin | None, value_at: Origin | None) -> None:
    """Set a variable; the definition that it replaces stays visible in `shadowed`."""
    held = owner.vars
    if key in held:
        owner.shadowed.append(part(held, [key]))
    held[key] = value
    if at is not None:
        held.key_origins[key] = at
    place = origin_of(value) or value_at
    if place is not None:
        held.value_origins[key] = place


def part(values: SourceMap, keys: Iterable[Any]) -> SourceMap:
    """Some entries of a mapping, with their places."""
    chosen = SourceMap(((key, values[key]) for key in keys), values.origin)
    chosen.key_origins = {key: values.key_origins[key] for key in chosen if key in values.key_origins}
    chosen.value_origins = {key: values.value_origins[key] for key in chosen if key in values.value_origins}
    return chosen


def settle(inventory: Inventory) -> None:
    """Restore what always holds: every group is below `all`, every host in a group of its own or in `ungrouped`."""
    top = inventory.groups["all"]
    for group in inventory.groups.values():
        if group.name != "all" and not group.parents and group.name not in top.children:
            top.children.append(group.name)
    ungrouped = inventory.groups["ungrouped"]
    for host in inventory.hosts.values():
        own = [group for group in host.groups if group not in ("all", "ungrouped")]
        if own and "ungrouped" in host.groups:
            host.groups.remove("ungrouped")
            ungrouped.hosts.remove(host.name)
        elif not own and "ungrouped" not in host.groups:
            host.groups.append("ungrouped")
            ungrouped.hosts.append(host.name)
    set_depths(inventory)
