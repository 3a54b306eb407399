"""What all of one load shares: where it reads, what it has read, and the mistakes it has met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import CleanslateError, InputError, Origin, Problems
from cleanslate.model import Keywords, Play, Role, SourceMap, SourceText
from cleanslate.yamlfile import Decrypt, load_yaml, shown_path

MOST_STEPS = 100_000
MOST_IMPORTS = 50  # one in another


class TooMuch(InputError):
    """The input is refused at once: reading on would take for ever."""


@dataclass(frozen=True)
class Scope:
    """What surrounds a list of steps: it is handed down from play to role to block to step."""

    inherit: Keywords
    file: Path
    role: Role | None = None
    handlers: bool = False
    collections: tuple[str, ...] | None = None  # a block's own; None: as its role or play says
    lenient: bool = False
    """A file that perhaps is never reached (a dynamic include): step types that are not known are only warned of."""


@dataclass
class Loader:
    """One load. `variables` are what is known without a host, lowest first (the play's, then `-e`)."""

    playbook_dir: Path
    problems: Problems = field(default_factory=Problems)
    vault: Decrypt | None = None
    extra_vars: Mapping[str, Any] = field(default_factory=dict)
    play: Play | None = None
    files: dict[Path, None] = field(default_factory=dict)
    imported_roles: list[Role] = field(default_factory=list)
    steps: int = 0
    _read: dict[Path, Any] = field(default_factory=dict)
    _importing: dict[Path, str] = field(default_factory=dict)  # what is being read, with the name it is shown by

    def read(self, path: Path) -> Any:
        """A YAML file's value; None when it is empty or refused, and then its mistakes are noted. Read once."""
        key = path.absolute()
        if key not in self._read:
            self.files[path] = None
            try:
                self._read[key] = load_yaml(path, vault=self.vault)
            except InputError as error:
                self.problems.include(error)
                self._read[key] = None
        return self._read[key]

    def refused(self, path: Path) -> bool:
        """Whether reading the file has found mistakes in it."""
        file = shown_path(path)
        return any(problem.origin and problem.origin.file == file for problem in self.problems.errors)

    def count(self, origin: Origin | None) -> None:
        """Count one more step; raises TooMuch when imports have made absurdly many."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooMuch(f"imports make more than {MOST_STEPS:,} steps of this playbook", origin=origin)

    def enter(self, path: Path, origin: Origin | None, what: str, name: str = "") -> bool:
        """Start reading an imported file, shown as `name`; False (and a noted mistake) when it imports itself."""
        name = name or shown_path(path)
        path = path.resolve()
        if path in self._importing:
            cycle = [*self._importing][[*self._importing].index(path) :]
            names = " -> ".join([*(self._importing[one] for one in cycle), name])
            self.problems.add(f"{what} leads back to itself: {names}", origin, fix="break the circle", code="cycle")
            return False
        if len(self._importing) >= MOST_IMPORTS:
            self.problems.add(f"more than {MOST_IMPORTS} imports, one in another", origin)
            return False
        self._importing[path] = name
        return True

    def leave(self) -> None:
        """End reading the file that was entered last."""
        self._importing.popitem()

    def render(self, text: Any, scope: Scope, origin: Origin | None, what: str) -> Any:
        """A value whose templates need no host; None (and a noted mistake) when they do."""
        from cleanslate.render import Renderer, Variables

        renderer = Renderer()
        layers = [*known_variables(self.play, scope, self.playbook_dir), self.extra_vars]
        try:
            return renderer.render(text, Variables(layers, renderer))
        except CleanslateError as error:
            self.problems.add(
                f"{what} must be known before a host is: {error.what}",
                origin,
                fix="give the variable with -e, set it in the play's vars, or use the include form",
            )
            return None


def known_variables(play: Play | None, scope: Scope, playbook_dir: Path) -> Sequence[Mapping[str, Any]]:
    """The variables that are known at a place without a host, lowest first."""
    role = scope.role
    magic: dict[str, Any] = {"playbook_dir": str(playbook_dir.resolve())}
    if role is not None:
        magic |= {"role_path": str(role.path), "role_name": role.name}
    chain = (*role.parents, role) if role is not None else ()
    layers: list[Mapping[str, Any]] = [one.defaults for one in chain]
    layers.append(play.vars if play is not None else {})
    layers += [one.vars for one in chain]
    layers += scope.inherit.vars
    layers += [one.params for one in chain]
    return [*layers, magic]


def as_map(value: Any, origin: Origin | None = None) -> SourceMap:
    """A map as SourceMap, so that it can be asked for places."""
    return value if isinstance(value, SourceMap) else SourceMap(value, origin)


def as_name(value: Any, origin: Origin | None) -> SourceText | None:
    """A `name:` as text that knows its place; None when it is none."""
    if value is None or isinstance(value, dict | list):
        return None
    return value if isinstance(value, SourceText) else SourceText(str(value), origin)
