"""`plugin: generator`: one host for each combination of values in `layers`, with the groups that its name suggests."""

from __future__ import annotations

import itertools
import math
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import Origin, RenderError, suggest
from cleanslate.inventory.names import MOST_HOSTS_IN_A_RANGE
from cleanslate.inventory.plugins import PluginContext, check_options
from cleanslate.model import SourceList, SourceMap, origin_of
from cleanslate.render import Renderer


def read(options: SourceMap, context: PluginContext) -> None:
    """Add a host for each combination; the last layer changes fastest."""
    known = check_options(options, ("hosts", "layers"), context)
    generator = _Generator(options, context)
    if known and generator.checked():
        generator.generate()


@dataclass
class _Generator:
    options: SourceMap
    context: PluginContext

    def __post_init__(self) -> None:
        self.assembly = self.context.assembly
        self.origin = Origin(self.context.file)
        self.renderer = Renderer()
        self.hosts: Any = self.options.get("hosts")
        self.layers: Any = self.options.get("layers")

    def checked(self) -> bool:
        """Whether the options have the right shape; what is wrong is noted."""
        count = len(self.assembly.problems.found)
        if not isinstance(self.layers, SourceMap) or not all(
            isinstance(one, SourceList) for one in self.layers.values()
        ):
            self._mistake('"layers" must be a map of lists', self.options.value_origin("layers"))
        elif math.prod(len(values) for values in self.layers.values()) > MOST_HOSTS_IN_A_RANGE:
            what = f"the layers stand for more than {MOST_HOSTS_IN_A_RANGE} hosts"
            self._mistake(what, self.options.value_origin("layers"))
        self._check_entry(self.hosts, '"hosts"', self.options.value_origin("hosts"), ("name", "parents"))
        return len(self.assembly.problems.found) == count

    def _check_entry(self, entry: Any, what: str, origin: Origin | None, known: tuple[str, ...]) -> None:
        if not isinstance(entry, SourceMap) or not isinstance(entry.get("name"), str):
            self._mistake(f'{what} must be a map with a "name"', origin)
            return
        for key in entry:
            if key not in known:
                fix = suggest(str(key), known) or f"it has: {', '.join(known)}"
                self._mistake(f'{what} has no "{key}"', entry.key_origin(key), fix)
        parents = entry.get("parents") or SourceList()
        if not isinstance(parents, SourceList):
            self._mistake('"parents" must be a list', entry.value_origin("parents"))
            return
        for index, parent in enumerate(parents):
            self._check_entry(parent, "a parent", parents.item_origin(index), ("name", "parents", "vars"))

    def generate(self) -> None:
        """Make the hosts; what cannot be rendered is noted once, since it is the same for all."""
        for values in itertools.product(*self.layers.values()):
            variables = dict(zip(self.layers, values, strict=True))
            try:
                self._host(variables)
            except RenderError as error:
                self._mistake(error.what, error.origin or origin_of(self.hosts), error.fix)
                return

    def _host(self, variables: dict[str, Any]) -> None:
        name = self._text(self.hosts["name"], variables)
        parents = self._parents(self.hosts, variables)
        for group in parents or ["ungrouped"]:
            self.assembly.host(name, group, self.origin, self.context.path)

    def _parents(self, entry: SourceMap, variables: dict[str, Any]) -> list[str]:
        """Make the groups above an entry, and give the names of the nearest."""
        names = []
        for parent in entry.get("parents") or ():
            name = self._text(parent["name"], variables)
            self.assembly.group(name, origin_of(parent["name"]))
            for key, value in (parent.get("vars") or {}).items():
                rendered = self.renderer.render(value, variables)
                self.assembly.set_group_variable(
                    name, key, rendered, parent["vars"].key_origin(key), parent["vars"].value_origin(key)
                )
            for above in self._parents(parent, variables):
                self.assembly.child(above, name, origin_of(parent["name"]))
            names.append(name)
        return names

    def _text(self, template: Any, variables: dict[str, Any]) -> str:
        return str(self.renderer.render(template, variables))

    def _mistake(self, what: str, origin: Origin | None, fix: str | None = None) -> None:
        self.assembly.problems.add(what, origin, fix=fix)
