"""YAML files that say `plugin: NAME`: inventories which are worked out rather than written down."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path

from cleanslate.dataclass import dataclass
from cleanslate.errors import suggest
from cleanslate.inventory.assembly import Assembly
from cleanslate.model import SourceMap
from cleanslate.yamlfile import Decrypt

# A module is imported only when its plugin is used; it has read(options, context).
_PLUGINS = {
    "lab": "cleanslate.inventory.lab",
    "constructed": "cleanslate.inventory.constructed",
    "generator": "cleanslate.inventory.generator",
    "proxmox": "cleanslate.inventory.proxmox",
}
_PREFIXES = ("ansible.builtin.", "cleanslate.", "community.proxmox.", "community.general.")


@dataclass(frozen=True)
class PluginContext:
    """What a plugin knows of its file, and the inventory that it adds to."""

    path: Path
    file: str
    base: Path
    assembly: Assembly
    vault: Decrypt | None


def read_plugin(options: SourceMap, context: PluginContext) -> None:
    """Let the named plugin add its hosts and groups."""
    name = str(options["plugin"])
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    if name not in _PLUGINS:
        fix = suggest(name, _PLUGINS) or f"there are: {', '.join(sorted(_PLUGINS))}"
        context.assembly.problems.add(
            f'no inventory plugin is named "{options["plugin"]}"', options.value_origin("plugin"), fix=fix
        )
        return
    importlib.import_module(_PLUGINS[name]).read(options, context)


def check_options(options: SourceMap, known: Iterable[str], context: PluginContext) -> bool:
    """Whether the plugin has all of these options; each that it has not is noted."""
    allowed = ["plugin", *known]
    unknown = [key for key in options if key not in allowed]
    for key in unknown:
        fix = suggest(str(key), allowed) or f"it has: {', '.join(allowed)}"
        what = f'the plugin {options["plugin"]} has no option "{key}"'
        context.assembly.problems.add(what, options.key_origin(key), fix=fix)
    return not unknown
