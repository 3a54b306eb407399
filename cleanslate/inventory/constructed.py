"""`plugin: constructed`: variables and groups worked out from the variables of the hosts that came before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import Origin, RenderError
from cleanslate.inventory.assembly import assign
from cleanslate.inventory.layers import host_layers, place_of, source_layers
from cleanslate.inventory.plugins import PluginContext, check_options
from cleanslate.inventory.tree import forget_structure, set_depths
from cleanslate.model import Host, SourceList, SourceMap
from cleanslate.render import Renderer, Variables

_OPTIONS = (
    "strict", "compose", "groups", "keyed_groups", "use_vars_plugins", "use_extra_vars", "leading_separator",
)  # fmt: skip
_KEYED = ("key", "prefix", "separator", "parent_group", "default_value", "trailing_separator")
_UNSAFE = re.compile(r"^[\d\W]|\W")


def read(options: SourceMap, context: PluginContext) -> None:
    """Add to every host that the sources so far have named what `compose`, `groups` and `keyed_groups` say."""
    known = check_options(options, _OPTIONS, context)
    plugin = Constructed(options, context)
    if not plugin.checked() or not known:
        return
    set_depths(context.assembly.inventory)
    for host in list(context.assembly.inventory.hosts.values()):
        plugin.construct(host)
    forget_structure(context.assembly.inventory)


@dataclass
class Constructed:
    """`compose`, `groups` and `keyed_groups` of a plugin's options, worked out for one host after another."""

    options: SourceMap
    context: PluginContext

    def __post_init__(self) -> None:
        self.assembly = self.context.assembly
        self.renderer = Renderer(lookup_paths=lambda kind: [self.context.path.parent / kind, self.context.path.parent])
        self.strict = self.options.get("strict") is True

    # ------------------------------------------------------------------ what is written

    def checked(self) -> bool:
        """Whether the options have the right shape; what is wrong is noted."""
        count = len(self.assembly.problems.found)
        for name in ("compose", "groups"):
            if not isinstance(self._option(name, SourceMap()), SourceMap):
                self._mistake(f'"{name}" must be a map of names and expressions', self.options.value_origin(name))
        keyed = self._option("keyed_groups", SourceList())
        if not isinstance(keyed, SourceList):
            self._mistake('"keyed_groups" must be a list', self.options.value_origin("keyed_groups"))
            return False
        for index, entry in enumerate(keyed):
            self._check_entry(entry, keyed.item_origin(index))
        return len(self.assembly.problems.found) == count

    def _check_entry(self, entry: Any, origin: Origin | None) -> None:
        if not isinstance(entry, SourceMap) or not isinstance(entry.get("key"), str):
            self._mistake('an entry of "keyed_groups" is a map with a "key"', origin)
            return
        for name in entry:
            if name not in _KEYED:
                self._mistake(f'an entry of "keyed_groups" has no "{name}"', entry.key_origin(name), ", ".join(_KEYED))
        if "default_value" in entry and "trailing_separator" in entry:
            self._mistake('"default_value" and "trailing_separator" exclude each other', origin)

    def _option(self, name: str, default: Any) -> Any:
        value = self.options.get(name)
        return default if value is None else value

    def _mistake(self, what: str, origin: Origin | None, fix: str | None = None) -> None:
        self.assembly.problems.add(what, origin, fix=fix)

    # ------------------------------------------------------------------ what it makes

    def construct(self, host: Host) -> None:
        """Work out one host: variables first, none of which sees another; then groups, which see them all."""
        self._compose(host, self._variables(host))
        variables = self._variables(host)
        groups = self._option("groups", SourceMap())
        for name, condition in groups.items():
            what = f"whether host {host.name} is in group {name}"
            work = partial(self.renderer.condition, condition, variables)
            if any(self._tried(what, groups.value_origin(name), work)):
                self._join(host, str(name), groups.key_origin(name))
        for entry in self._option("keyed_groups", ()):
            self._keyed(host, entry, variables)

    def _compose(self, host: Host, variables: Variables) -> None:
        compose = self._option("compose", SourceMap())
        made: dict[str, Any] = {}
        for name, expression in compose.items():
            work = partial(self._value, expression, variables)
            for value in self._tried(f"{name} of host {host.name}", compose.value_origin(name), work):
                made[name] = value
        for name, value in made.items():
            assign(host, name, value, compose.key_origin(name), compose.value_origin(name))

    def _variables(self, host: Host) -> Variables:
        inventory = self.assembly.inventory
        forget_structure(inventory)  # the hosts before this one may have made groups
        if self.options.get("use_vars_plugins") is True:
            layers = host_layers(inventory, host.name, playbook_dir=None, vault=self.context.vault)
        else:
            layers = source_layers(inventory, host)
        return Variables([*(layer.values for layer in layers), place_of(inventory, host)], self.renderer)

    def _value(self, expression: Any, variables: Variables) -> Any:
        return self.renderer.expression(expression, variables) if isinstance(expression, str) else expression

    def _tried(self, what: str, origin: Origin | None, work: Callable[[], Any]) -> Iterator[Any]:
        """What the work gives; nothing when it cannot be worked out for this host, which `strict` forbids."""
        try:
            yield work()
        except RenderError as error:
            if self.strict:
                self._mistake(f"cannot work out {what}: {error.what}", error.origin or origin, error.fix)

    def _join(self, host: Host, group: str, origin: Origin | None, parent: str | None = None) -> None:
        name = safe_group_name(group)
        self.assembly.group(name, origin)
        self.assembly.host(host.name, name, origin, None)
        if parent:
            above = safe_group_name(parent)
            self.assembly.group(above, origin)
            self.assembly.child(above, name, origin)

    def _keyed(self, host: Host, entry: SourceMap, variables: Variables) -> None:
        origin = entry.value_origin("key")
        what = f"the key {entry['key']} of host {host.name}"
        for key in self._tried(what, origin, partial(self.renderer.expression, entry["key"], variables)):
            names = self._names(key, entry, host, origin)
            prefix = str(self.renderer.render(entry.get("prefix", ""), variables)) if names else ""
            separator = str(entry.get("separator", "_"))
            if not prefix and self.options.get("leading_separator") is False:
                separator = ""
            for name in names:
                above = partial(self.renderer.render, entry.get("parent_group"), variables)
                for parent in self._tried(what, origin, above):
                    self._join(host, f"{prefix}{separator}{name}", origin, str(parent) if parent else None)

    def _names(self, key: Any, entry: SourceMap, host: Host, origin: Origin | None) -> list[str]:
        """The names that a key stands for, without prefix; `default_value` stands in for an empty one."""
        default = entry.get("default_value")
        if not key:
            return [str(default)] if key == "" and default is not None else []
        if isinstance(key, str):
            return [key]
        if isinstance(key, list):
            return [str(default) if item == "" and default is not None else str(item) for item in key]
        if isinstance(key, dict):
            return [self._pair(name, value, entry) for name, value in key.items()]
        what = f'the key "{entry["key"]}" of host {host.name} is {key!r}: no text, list or map'
        self._mistake(what, origin, "turn it into text: key: NAME | string")
        return []

    def _pair(self, name: Any, value: Any, entry: SourceMap) -> str:
        separator = str(entry.get("separator", "_"))
        if value == "" and entry.get("default_value") is not None:
            value = entry["default_value"]
        if value == "" and entry.get("trailing_separator") is False:
            return str(name)
        return f"{name}{separator}{value}"


def safe_group_name(name: str) -> str:
    """A group name that templates can use: what is no letter, digit or underscore becomes an underscore."""
    return _UNSAFE.sub("_", name)
