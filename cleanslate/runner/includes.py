"""Dynamic includes: files of steps and roles that are loaded when a host comes to them, once for all hosts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleanslate.errors import CleanslateError
from cleanslate.model import Node, Play, Result, Role, Status, Step, walk
from cleanslate.playbook import inherited_by_include, load_role, load_tasks_file, tasks_file_places
from cleanslate.runner.outcome import Asked
from cleanslate.runner.program import HostFailed
from cleanslate.runner.roles import all_roles
from cleanslate.runner.scope import Frame, PlayScope
from cleanslate.steps.behaviour import IncludeRole, IncludeTasks

if TYPE_CHECKING:
    from cleanslate.runner.world import World


class Includes:
    """What a batch of a play has included. `joins` is given every role that comes, for its handlers."""

    def __init__(self, world: World, scope: PlayScope, joins: Callable[[Role], None]) -> None:
        self.world = world
        self.scope = scope
        self.play: Play = scope.play
        self._joins = joins
        self._lock = threading.RLock()
        self._loaded: dict[tuple[Any, ...], Any] = {}

    def tasks(self, step: Step, asked: Asked, frame: Frame, *, handler: bool) -> tuple[tuple[Node, ...], Frame]:
        """Load an included file; all hosts that include it here get the same steps, so that they run together."""
        flow = asked.flow
        assert isinstance(flow, IncludeTasks)
        here = frame.folder / "main.yml" if frame.folder else Path(step.origin.file)
        folder = self.play.playbook.parent
        places = [
            *tasks_file_places(flow.file, file=Path(step.origin.file), role=step.role, playbook_dir=folder),
            *tasks_file_places(flow.file, file=here, role=step.role, playbook_dir=folder),
        ]
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            looked = ", ".join(dict.fromkeys(str(place.parent) for place in places))
            raise HostFailed(_refusal(f'include_tasks: no file "{flow.file}"; looked in {looked}'), step)
        self.world.settings.used(path)
        key = (id(step), path, _json_key(flow.apply))
        nodes: tuple[Node, ...] = self._load_once(
            key,
            step,
            lambda: load_tasks_file(
                path,
                play=self.play,
                role=step.role,
                inherit=inherited_by_include(step, flow.apply),
                vault=self.world.settings.decrypt,
                handlers=handler,
                extra_vars=self.world.settings.extra_vars,
            ),
        )
        return nodes, frame.below({**_include_vars(step), **asked.item}, path.parent)

    def role(self, step: Step, asked: Asked, frame: Frame) -> tuple[Role, Frame]:
        """Load an included role; its handlers join the play's, and with `public` its variables do too."""
        flow = asked.flow
        assert isinstance(flow, IncludeRole)
        key = (
            id(step),
            flow.name,
            flow.tasks_from,
            flow.vars_from,
            flow.defaults_from,
            flow.validate,
            _json_key(flow.apply),
        )

        def load() -> Role:
            role = load_role(
                flow.name,
                playbook_dir=self.play.playbook.parent,
                tasks_from=flow.tasks_from,
                vars_from=flow.vars_from,
                defaults_from=flow.defaults_from,
                handlers_from=flow.handlers_from,
                inherit=inherited_by_include(step, flow.apply),
                play=self.play,
                parent=step.role,
                public=flow.public,
                allow_duplicates=flow.allow_duplicates,
                validate=flow.validate,
                origin=step.origin,
                vault=self.world.settings.decrypt,
                extra_vars=self.world.settings.extra_vars,
            )
            for one in all_roles((role,)):
                self._joins(one)
                self._tell_of(one)
            self.scope.role_names.append(role.name)
            if flow.public:
                self.scope.roles.append(role)
            return role

        role: Role = self._load_once(key, step, load)
        return role, frame.below({**_include_vars(step), **asked.item})

    def _tell_of(self, role: Role) -> None:
        """The files of an included role take part, and so do its secrets."""
        steps = [step.origin for step in walk((*role.tasks, *role.handlers))]
        for origin in (role.defaults.origin, role.vars.origin, *steps):
            if origin is not None:
                self.world.settings.used(Path(origin.file))
        for values in (role.defaults, role.vars):
            self.world.variables.learn_secrets(values)

    def _load_once(self, key: tuple[Any, ...], step: Step, load: Any) -> Any:
        with self._lock:
            if key not in self._loaded:
                try:
                    self._loaded[key] = load()
                except CleanslateError as error:
                    raise HostFailed(_refusal(str(error)), step) from None
            return self._loaded[key]


def _json_key(value: Any) -> str:
    """A value as text that two equal values share."""
    return json.dumps(value, sort_keys=True, default=str)


def _include_vars(step: Step) -> dict[str, Any]:
    """The `vars:` of an include step itself, without those around it: parameters for what it includes."""
    own: dict[str, Any] = {}
    for layer in step.keywords.vars[len(step.inherit.vars) :]:
        own |= layer
    return own


def _refusal(message: str) -> Result:
    return Result(Status.FAILED, {"failed": True, "changed": False, "msg": message})
