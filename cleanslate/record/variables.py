"""The variables of each host as a play sees them: as written, as they render, and where they come from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleanslate.errors import CleanslateError, Origin
from cleanslate.model import SourceMap
from cleanslate.record.files import FilesUsed
from cleanslate.record.provenance import HIDDEN, shown
from cleanslate.redaction import Secrets, looks_secret
from cleanslate.render import Renderer, Variables, is_template

if TYPE_CHECKING:
    from cleanslate.runner.scope import PlayScope
    from cleanslate.runner.world import World

_ASKED = Origin("vars_prompt")
_LONGEST = 16 * 1024  # characters of JSON; a longer value is kept by its size


class HostVariables:
    """Collects the variables of hosts, play by play. Equal ones of several hosts are kept once.

    `facts()` gives name -> [{hosts, value, from, written}]: `from` is file:line:column, `written` is there where the
    value is a template, and `error` stands for a value that could not be rendered.
    """

    def __init__(self, secrets: Secrets, files: FilesUsed) -> None:
        self._secrets = secrets
        self._files = files
        self._found: dict[str, dict[str, dict[str, Any]]] = {}
        self._done: set[tuple[int, str]] = set()

    def missing(self, scope: PlayScope, hosts: Sequence[str]) -> list[str]:
        """Those hosts whose variables have not been taken for this play; each is told once."""
        new = [host for host in hosts if (id(scope), host) not in self._done]
        if new:
            self._done.update((id(scope), host) for host in new)
        return new

    def add(self, world: World, scope: PlayScope, hosts: Sequence[str]) -> None:
        """Render and keep the variables of hosts in a play. Nothing is asked outside: such lookups become errors."""
        folders = world.variables.search_folders(None)

        def paths(kind: str) -> list[Path]:
            return [place for base in folders for place in (base / kind, base)]

        renderer = Renderer(lookup_paths=paths, secrets=self._secrets, outside=False)
        for host in hosts:
            variables = Variables([_Layered(world.variables.of_play(host, scope))], renderer)
            for name, origin in _named(world, scope, host):
                entry = self._entry(name, variables) | {"from": self._place(origin)}
                key = json.dumps(entry, sort_keys=True, default=str)
                same = self._found.setdefault(name, {}).setdefault(key, {"hosts": [], **entry})
                if host not in same["hosts"]:
                    same["hosts"].append(host)

    def _entry(self, name: str, variables: Variables) -> dict[str, Any]:
        raw = variables.raw(name)
        entry: dict[str, Any] = {}
        template = is_template(raw)
        if template:
            entry["written"] = shown(raw, self._secrets, name)
        try:
            value = variables[name] if template else raw
        except CleanslateError as error:
            return {**entry, "error": self._secrets.redact_text(error.what)}
        except RecursionError:
            return {**entry, "error": "the value holds itself"}
        if template and looks_secret(name):
            return {**entry, "value": HIDDEN}
        return {**entry, "value": _short(shown(value, self._secrets, name))}

    def _place(self, origin: Origin | None) -> str | None:
        if origin is None or origin.file.startswith("-") or origin is _ASKED:
            return origin and origin.file
        return str(origin._replace(file=self._files.shown(Path(origin.file))))

    def facts(self) -> dict[str, list[dict[str, Any]]]:
        """What was found, by name."""
        return {name: list(entries.values()) for name, entries in sorted(self._found.items())}


class _Layered(Mapping[str, Any]):
    """The raw values of other variables, as one layer."""

    def __init__(self, variables: Variables) -> None:
        self._variables = variables

    def __getitem__(self, name: str) -> Any:
        return self._variables.raw(name)

    def __contains__(self, name: object) -> bool:
        return name in self._variables

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)


def _named(world: World, scope: PlayScope, host: str) -> Iterator[tuple[str, Origin | None]]:
    """Every name that the sources define for a host, with the place of the definition that wins."""
    layers: list[Mapping[str, Any]] = [
        *(role.defaults for role in scope.roles),
        *world.variables.inventory_layers(host),
        scope.play.vars,
        scope.prompts,
        *scope.files.get(host, ()),
        *(role.vars for role in scope.roles),
        world.settings.extra_vars,
    ]
    places: dict[str, Origin | None] = {}
    for layer in layers:
        for name in layer:
            asked = _ASKED if layer is scope.prompts else None
            places[str(name)] = layer.value_origin(name) if isinstance(layer, SourceMap) else asked
    yield from sorted(places.items(), key=lambda pair: pair[0])


def _short(value: Any) -> Any:
    text = json.dumps(value, default=str)
    return value if len(text) <= _LONGEST else f"({len(text)} characters: {text[:200]}...)"
