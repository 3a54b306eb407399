"""Variables that the run itself knows of a play and a step, worked out when somebody looks at them.

Of most steps nobody does; and who is still in the play is as much work as the play has hosts, for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cleanslate.model import Role, Step
    from cleanslate.runner.scope import Frame, PlayScope
    from cleanslate.runner.variables import VariableWorld


class Magic(Mapping[str, Any]):
    """A layer of variables: `ansible_play_hosts`, `role_path` and the like, as far as a step has them."""

    __slots__ = ("_frame", "_scope", "_step", "_world")

    def __init__(self, world: VariableWorld, scope: PlayScope | None, step: Step | None, frame: Frame | None) -> None:
        self._world = world
        self._scope = scope
        self._step = step
        self._frame = frame

    def __contains__(self, name: object) -> bool:
        """Whether there is such a variable here."""
        return (
            (self._scope is not None and name in _OF_PLAY)
            or name == "ansible_search_path"
            or (self._step is not None and self._step.role is not None and name in _OF_ROLE)
        )

    def __getitem__(self, name: str) -> Any:
        """Work a variable out; KeyError where there is none of that name."""
        if name == "ansible_search_path":
            return [str(folder) for folder in self._world.search_folders(self._step, self._frame)]
        if self._scope is not None and name in _OF_PLAY:
            return _OF_PLAY[name](self._world, self._scope)
        if self._step is not None and self._step.role is not None and name in _OF_ROLE:
            return _OF_ROLE[name](self._step.role)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        """Every name."""
        return (name for name in ("ansible_search_path", *_OF_PLAY, *_OF_ROLE) if name in self)

    def __len__(self) -> int:
        """How many there are."""
        return sum(1 for _ in self)


def _all(_world: VariableWorld, scope: PlayScope) -> list[str]:
    return list(scope.hosts_all)


def _alive(world: VariableWorld, scope: PlayScope) -> list[str]:
    return [name for name in scope.hosts_all if world.state(name).active]


def _batch(world: VariableWorld, scope: PlayScope) -> list[str]:
    return [name for name in scope.batch if world.state(name).active]


def _play_roles(_world: VariableWorld, scope: PlayScope) -> list[str]:
    return list(scope.role_names)


def _all_roles(_world: VariableWorld, scope: PlayScope) -> list[str]:
    return sorted({*scope.role_names, *(role.name for role in scope.roles)})


_OF_PLAY: dict[str, Callable[[VariableWorld, PlayScope], Any]] = {
    "ansible_play_name": lambda _world, scope: str(scope.play.name or ""),
    "ansible_play_hosts_all": _all,
    "ansible_play_hosts": _alive,
    "ansible_play_batch": _batch,
    "play_hosts": _batch,
    "ansible_play_role_names": _play_roles,
    "role_names": _play_roles,
    "ansible_role_names": _all_roles,
}
_OF_ROLE: dict[str, Callable[[Role], Any]] = {
    "role_name": lambda role: role.name.rpartition(".")[2],
    "role_path": lambda role: str(role.path.resolve()),
    "ansible_role_name": lambda role: role.name,
    "ansible_parent_role_names": lambda role: [parent.name for parent in reversed(role.parents)],
    "ansible_parent_role_paths": lambda role: [str(parent.path) for parent in reversed(role.parents)],
}
