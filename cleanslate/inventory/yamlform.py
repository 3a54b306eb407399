"""Inventories in Ansible's YAML form: groups hold `hosts`, `vars` and `children`, to any depth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import Origin, suggest
from cleanslate.inventory.assembly import Assembly
from cleanslate.model import SourceMap

_KEYS = ("hosts", "vars", "children")


def read_yaml_groups(data: Any, file: str, path: Path, assembly: Assembly) -> None:
    """Add what a loaded YAML (or JSON, or TOML) document says to the assembly; mistakes go to its problems."""
    if data is None:
        assembly.problems.add("the inventory is empty", Origin(file), severity="warning")
        return
    if not isinstance(data, SourceMap):
        assembly.problems.add(
            f"an inventory is a map of groups, this is {_shape(data)}",
            getattr(data, "origin", None) or Origin(file),
            fix='begin with "all:" and put hosts under "hosts:"',
        )
        return
    form = _Form(path, assembly)
    for name, group in data.items():
        form.group(name, group, data.key_origin(name))


@dataclass
class _Form:
    path: Path
    assembly: Assembly

    def group(self, name: Any, data: Any, origin: Origin | None, parent: str | None = None) -> None:
        """Read a group with all that is in it."""
        if not isinstance(name, str):
            self._mistake(f"the group name {name!r} is not text", origin, "put it in quotes")
            return
        self.assembly.group(name, origin)
        if parent is not None:
            self.assembly.child(parent, name, origin)
        if data is not None and not isinstance(data, SourceMap):
            fix = 'a group holds "hosts:", "vars:" and "children:"; variables of all hosts stand under "all: vars:"'
            self._mistake(f'group "{name}" is {_shape(data)}, not a map', origin, fix)
            return
        content = SourceMap() if data is None else data
        for key, value in content.items():
            if key == "vars":
                self._vars(name, value, content.value_origin(key))
            elif key == "children":
                self._children(name, value, content.value_origin(key))
            elif key == "hosts":
                self._hosts(name, value, content.value_origin(key))
            else:
                self._unknown(name, key, value, content.key_origin(key))

    def _vars(self, group: str, values: Any, origin: Origin | None) -> None:
        if values is None:
            return
        if not isinstance(values, SourceMap):
            self._mistake(
                f'the vars of group "{group}" are {_shape(values)}', origin, "write name: value, without dashes"
            )
            return
        self.assembly.set_group_variables(group, values)

    def _children(self, group: str, children: Any, origin: Origin | None) -> None:
        named = self._entries(f'the children of group "{group}"', children, origin)
        for name, data in named.items():
            self.group(name, data, named.key_origin(name), group)

    def _hosts(self, group: str, hosts: Any, origin: Origin | None) -> None:
        named = self._entries(f'the hosts of group "{group}"', hosts, origin)
        for name, values in named.items():
            place = named.key_origin(name)
            if not isinstance(name, str):
                self._mistake(f"the host name {name!r} is not text", place, "put it in quotes")
                continue
            made = self.assembly.hosts(name, group, place, self.path)
            if isinstance(values, SourceMap):
                for host in made:
                    self.assembly.set_host_variables(host, values)
            elif values is not None:
                fix = "write name: value below the host, without dashes"
                self._mistake(f'the variables of host "{name}" are {_shape(values)}', named.value_origin(name), fix)

    def _entries(self, what: str, data: Any, origin: Origin | None) -> SourceMap:
        """The entries of `hosts` or `children`; a single name may stand there as text."""
        if isinstance(data, SourceMap):
            return data
        if isinstance(data, str):
            return SourceMap({data: None}, origin)
        if data is not None:
            self._mistake(f"{what} are {_shape(data)}, not a map", origin, 'write each as "name:", without a dash')
        return SourceMap({}, origin)

    def _unknown(self, group: str, key: Any, value: Any, origin: Origin | None) -> None:
        near = suggest(str(key), _KEYS)
        if near:
            fix = near
        elif value is None or isinstance(value, dict):
            fix = 'hosts stand under "hosts:", groups under "children:", variables under "vars:"'
        else:
            fix = 'variables stand under "vars:"'
        self._mistake(f'group "{group}" has the unknown key "{key}"', origin, fix)

    def _mistake(self, what: str, origin: Origin | None, fix: str) -> None:
        self.assembly.problems.add(what, origin, fix=fix)


def _shape(data: Any) -> str:
    if isinstance(data, list):
        return "a list"
    if isinstance(data, dict):
        return "a map"
    return f'the value "{data}"' if not isinstance(data, str) else f'the text "{str(data)[:40]}"'
