"""`inv inventory` and `inv explain`: hosts, groups, and where a variable comes from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cleanslate.cli.loading import Decrypt, PlayOptions, vault_of
from cleanslate.cli.settings import Settings, find_playbook
from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError, Origin, suggest
from cleanslate.model import Inventory, SourceMap, origin_of
from cleanslate.redaction import Secrets


def _inventory(options: PlayOptions, settings: Settings) -> tuple[Inventory, Secrets, Decrypt | None]:
    from cleanslate.inventory import load_inventory

    secrets = Secrets()
    decrypt = vault_of(options, secrets)
    sources = [text if "," in text else str(Path(text).absolute()) for text in options.inventory]
    return load_inventory(sources or list(settings.inventory), base=Path.cwd(), vault=decrypt), secrets, decrypt


def show_inventory(options: PlayOptions, settings: Settings, *, graph: bool, host: str | None, as_json: bool) -> int:
    """Print hosts, or the tree of groups, or one host's variables, or everything as JSON."""
    from cleanslate.inventory import match_hosts

    inventory, secrets, decrypt = _inventory(options, settings)
    show = _variables_of(inventory, secrets, settings, decrypt)
    if host is not None:
        if host not in inventory.hosts:
            raise InputError(f'there is no host "{host}"', fix=suggest(host, inventory.hosts))
        print(json.dumps(show(host), indent=2, default=str))
    elif graph:
        for line in _tree(inventory, "all", 0):
            print(line)
    elif as_json:
        print(json.dumps(_as_ansible(inventory, show), indent=2, default=str))
    else:
        hosts = match_hosts("all", inventory, limit=options.limit)
        width = max((len(name) for name in hosts), default=0)
        for name in hosts:
            groups = [group for group in inventory.groups if name in inventory.groups[group].hosts]
            print(f"{name:<{width}}  {', '.join(group for group in groups if group != 'all')}".rstrip())
    return 0


def _variables_of(
    inventory: Inventory, secrets: Secrets, settings: Settings, decrypt: Decrypt | None
) -> Callable[[str], dict[str, Any]]:
    from cleanslate.inventory import host_layers

    def show(name: str) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for layer in host_layers(inventory, name, playbook_dir=settings.root / "playbooks", vault=decrypt):
            merged |= layer.values
        return {
            key: "(secret)" if secrets.looks_secret(key) else secrets.redact(_plain(value))
            for key, value in merged.items()
        }

    return show


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _tree(inventory: Inventory, group: str, depth: int) -> Iterator[str]:
    indent = "  |" * depth + ("--" if depth else "")
    yield f"{indent}@{group}:"
    below = "  |" * (depth + 1) + "--"
    children = sorted(inventory.groups[group].children)
    for child in children:
        yield from _tree(inventory, child, depth + 1)
    for host in inventory.groups[group].hosts:
        yield f"{below}{host}"


def _as_ansible(inventory: Inventory, show: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """The form of `ansible-inventory --list`."""
    found: dict[str, Any] = {"_meta": {"hostvars": {name: show(name) for name in inventory.hosts}}}
    for name, group in inventory.groups.items():
        entry: dict[str, Any] = {}
        if group.children:
            entry["children"] = list(group.children)
        if group.hosts and name != "all":
            entry["hosts"] = list(group.hosts)
        if entry:
            found[name] = entry
    return found


@dataclass(frozen=True)
class Definition:
    """One place that defines a variable."""

    label: str
    value: Any
    origin: Origin | None


def explain_variable(variable: str, host: str, options: PlayOptions, settings: Settings, *, as_json: bool) -> int:
    """Print every definition of a variable for a host, lowest precedence first; the last one wins."""
    inventory, secrets, decrypt = _inventory(options, settings)
    if host not in inventory.hosts and host != "localhost":
        raise InputError(f'there is no host "{host}"', fix=suggest(host, inventory.hosts))
    layers = list(_all_layers(inventory, host, options, settings, decrypt))
    found = [
        Definition(label, _shown(variable, values[variable], secrets), _place(values, variable))
        for label, values in layers
        if variable in values
    ]
    if as_json:
        rows = [{"where": one.label, "value": _plain(one.value), "origin": str(one.origin or "")} for one in found]
        print(json.dumps({"variable": variable, "host": host, "definitions": rows}, indent=2, default=str))
        return 0
    if not found:
        raise InputError(
            f'nothing defines "{variable}" for {host}',
            fix=suggest(variable, {name for _, values in layers for name in values}),
        )
    for number, one in enumerate(found, 1):
        mark = "wins" if number == len(found) else "    "
        print(f"{mark}  {json.dumps(_plain(one.value), default=str)}")
        print(f"      {one.label}{f'  {one.origin}' if one.origin else ''}")
    return 0


def _shown(name: str, value: Any, secrets: Secrets) -> Any:
    return "(secret)" if secrets.looks_secret(name) else secrets.redact(_plain(value))


def _place(values: Mapping[str, Any], variable: str) -> Origin | None:
    if isinstance(values, SourceMap):
        return values.key_origin(variable)
    return origin_of(values[variable])


def _all_layers(
    inventory: Inventory, host: str, options: PlayOptions, settings: Settings, decrypt: Decrypt | None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The layers that can be known without running: in the order of runner/variables.py."""
    from cleanslate.cli.extra_vars import extra_variables
    from cleanslate.inventory import host_layers

    plays = []
    folder = settings.root / "playbooks"
    if options.name:
        from cleanslate.playbook import load_playbook

        path = find_playbook(settings.root, options.name)
        folder = path.parent
        plays = list(load_playbook(path, vault=decrypt).plays)
    for play in plays:
        for role in play.roles:
            yield f"defaults of role {role.name}", role.defaults
    for layer in host_layers(inventory, host, playbook_dir=folder, vault=decrypt):
        yield layer.label, layer.values
    for play in plays:
        yield f"vars of play {play.name or play.hosts}", play.vars
        for role in play.roles:
            yield f"vars of role {role.name}", role.vars
            yield f"parameters of role {role.name}", role.params
    yield "extra variables (-e)", extra_variables(options.extra_vars, decrypt)
