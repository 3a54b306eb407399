"""Which variables a step sees on a host: the layers, in Ansible's order of precedence, lowest first.

1 role defaults (of the play's roles, then of the step's own)   8 include_vars
2 inventory and its group_vars and host_vars                    9 set_fact and registered results
3 facts                                                        10 role parameters
4 the play's vars                                              11 parameters of an include
5 vars_prompt, vars_files                                      12 extra variables (-e)
6 role vars (of the play's roles, then of the step's own)      13 what the run itself knows (groups, ...)
7 vars of blocks and of the step                               14 loop variables
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleanslate.errors import InputError, Origin
from cleanslate.inventory import host_layers, inventory_variables
from cleanslate.model import Host, Inventory, Play, Role, Step
from cleanslate.render import OMIT, Renderer, Variables
from cleanslate.runner.magic import Magic
from cleanslate.runner.roles import role_chain
from cleanslate.runner.scope import Frame, Layers, PlayScope
from cleanslate.runner.settings import RunSettings
from cleanslate.runner.state import HostState
from cleanslate.yamlfile import load_yaml

if TYPE_CHECKING:
    from cleanslate.redaction import Secrets


class HostVars(Mapping[str, Any]):
    """`hostvars`: every host's variables as seen without a play, rendered when asked for."""

    def __init__(self, world: VariableWorld) -> None:
        self._world = world

    def __getitem__(self, name: str) -> Variables:
        """Give a host's variables; KeyError for a host that the inventory does not have."""
        if name not in self._world.states:
            raise KeyError(name)
        return self._world.of_host(name)

    def __iter__(self) -> Iterator[str]:
        """Every host of the inventory."""
        return iter(self._world.inventory.hosts)

    def __len__(self) -> int:
        """How many hosts there are."""
        return len(self._world.inventory.hosts)


class VariableWorld:
    """Composes variables for hosts and steps. One for a run."""

    def __init__(
        self, inventory: Inventory, settings: RunSettings, playbook: Path, secrets: Secrets, run_info: Mapping[str, Any]
    ) -> None:
        self.inventory = inventory
        self.settings = settings
        self.playbook = playbook
        self.secrets = secrets
        self.states: dict[str, HostState] = {name: HostState(host) for name, host in inventory.hosts.items()}
        self._run_info = dict(run_info)
        self._inventory_layers: dict[str, Layers] = {}
        self._renderers: dict[tuple[Path, ...], Renderer] = {}
        self._folders: dict[tuple[Any, ...], tuple[Path, ...]] = {}
        self._chains: dict[int, tuple[Role, ...]] = {}  # of roles that a run keeps, so that their ids stay theirs
        self._places: dict[str, dict[str, Any]] = {}  # by host: what the run knows of it, whatever the play
        self.note: Callable[[str, Origin | None], None] = lambda text, origin: None  # set by whoever can tell people
        self._learned: dict[int, Mapping[str, Any]] = {}
        self.learn_secrets(settings.extra_vars)

    def state(self, name: str) -> HostState:
        """The state of a host; a host that only a delegation names gets an empty one (implicit localhost)."""
        if name not in self.states:
            self.states[name] = HostState(self.inventory.hosts.get(name) or Host(name))
        return self.states[name]

    def enter(self, play: Play) -> None:
        """A play begins: the folder of its playbook (an imported one may lie elsewhere) has its variables and files."""
        if play.playbook.parent != self.playbook.parent:
            self.forget_inventory()
        self.playbook = play.playbook

    def forget_inventory(self) -> None:
        """The inventory has changed (add_host, group_by, refresh_inventory): compose its layers anew.

        In new maps: what another thread composes just now of the inventory as it was goes into the old ones.
        """
        self._places = {}
        self._inventory_layers = {}

    def learn_secrets(self, values: Mapping[str, Any]) -> None:
        """Redact what stands under names that look secret; the same mapping is looked at once."""
        if id(values) not in self._learned:
            self._learned[id(values)] = values
            self.secrets.learn(values)

    def renderer(self, step: Step | None = None, frame: Frame | None = None) -> Renderer:
        """The renderer whose lookups search where this step's files are."""
        folders = self.search_folders(step, frame)
        if folders not in self._renderers:

            def paths(kind: str) -> list[Path]:
                return [place for folder in folders for place in (folder / kind, folder)]

            self._renderers[folders] = Renderer(
                lookup_paths=paths,
                secrets=self.secrets,
                decrypt=self.settings.decrypt,
                used=self.settings.used,
                note=lambda text, origin: self.note(text, origin),
            )
        return self._renderers[folders]

    def search_folders(self, step: Step | None, frame: Frame | None = None) -> tuple[Path, ...]:
        """Where a step's files, templates and included files are looked for, nearest first."""
        role, file = (step.role, step.origin.file) if step is not None else (None, None)
        key = (id(role), file, frame.folder if frame is not None else None, self.playbook)
        if key not in self._folders:
            if role is not None:
                self._chains[id(role)] = role_chain(role)
            self._folders[key] = self._found_folders(step, frame)
        return self._folders[key]

    def _found_folders(self, step: Step | None, frame: Frame | None) -> tuple[Path, ...]:
        folders: list[Path] = []
        if step is not None and step.role is not None:
            folders += [step.role.path, *(parent.path for parent in reversed(step.role.parents))]
        if step is not None:
            folders.append(Path(step.origin.file).parent)
        if frame is not None and frame.folder is not None:
            folders.append(frame.folder)
        folders.append(self.playbook.parent)
        return tuple(dict.fromkeys(folder.resolve() for folder in folders))

    def inventory_layers(self, name: str) -> Layers:
        """A host's variables from the inventory's sources, lowest first."""
        kept = self._inventory_layers
        if name not in kept:
            found = host_layers(self.inventory, name, playbook_dir=self.playbook.parent, vault=self.settings.decrypt)
            kept[name] = [layer.values for layer in found]
            for layer in found:
                self.learn_secrets(layer.values)
        return kept[name]

    def of_host(self, name: str) -> Variables:
        """A host's variables without any play's: what `hostvars[name]` shows."""
        state = self.state(name)
        layers = [*self.inventory_layers(name), *self._learned_low(state), *self._learned_high(state)]
        return self._finish(layers, state, None, None, None, ())

    def of_play(self, name: str, scope: PlayScope) -> Variables:
        """A host's variables in a play, outside any step."""
        return self.of_step(name, scope, None, Frame())

    def of_step(
        self,
        name: str,
        scope: PlayScope,
        step: Step | None,
        frame: Frame,
        extra: Sequence[Mapping[str, Any]] = (),
    ) -> Variables:
        """What a step sees on a host; `extra` are loop variables and the like, above everything."""
        state = self.state(name)
        chain = self._chain(step.role) if step else ()
        layers: Layers = [role.defaults for role in (*scope.roles, *chain)]
        layers += self.inventory_layers(name)
        layers += self._learned_low(state)
        layers += [scope.play.vars, scope.prompts, *scope.files.get(name, ())]
        layers += [role.vars for role in (*scope.roles, *chain)]
        if step is not None:
            layers += step.keywords.vars
        layers += self._learned_high(state)
        layers += [role.params for role in chain]
        layers += frame.params
        return self._finish(layers, state, scope, step, frame, extra)

    def _chain(self, role: Role | None) -> tuple[Role, ...]:
        if role is None:
            return ()
        if id(role) not in self._chains:
            self._chains[id(role)] = role_chain(role)
        return self._chains[id(role)]

    def _learned_low(self, state: HostState) -> Layers:
        return [state.fact_variables, {"ansible_facts": state.facts}]

    def _learned_high(self, state: HostState) -> Layers:
        return [state.include_vars, state.set_facts]

    def _finish(
        self,
        layers: Layers,
        state: HostState,
        scope: PlayScope | None,
        step: Step | None,
        frame: Frame | None,
        extra: Sequence[Mapping[str, Any]],
    ) -> Variables:
        own: dict[str, Any] = {}
        known = Magic(self, scope, step, frame)
        layers = [self.settings.connection_vars, *layers, self.settings.extra_vars, self._place(state), known, own]
        variables = Variables([*layers, *extra], self.renderer(step, frame))
        own["vars"] = variables
        return variables

    def _place(self, state: HostState) -> dict[str, Any]:
        """What the run knows of a host, whatever the play and step."""
        kept = self._places
        if state.name not in kept:
            kept[state.name] = {
                **self._run_info,
                **inventory_variables(self.inventory, state.name),
                "hostvars": HostVars(self),
                "playbook_dir": str(self.playbook.parent.resolve()),
                "omit": OMIT,
            }
        return kept[state.name]


def load_vars_files(scope: PlayScope, name: str, world: VariableWorld) -> Layers:
    """The play's vars_files for a host: each a name, or a list of which the first that exists is taken."""
    layers: Layers = []
    for entry in scope.play.vars_files:
        choices = list(entry) if isinstance(entry, list | tuple) else [entry]
        variables = world.of_play(name, scope)
        rendered = [world.renderer().render(choice, variables) for choice in choices]
        found = _first_existing(rendered, world.playbook.parent)
        if found is None:
            raise InputError(
                f"vars_files: none of {', '.join(map(str, rendered))} exists",
                origin=getattr(choices[0], "origin", scope.play.origin),
                fix=f"paths are taken from {world.playbook.parent}",
            )
        world.settings.used(found)
        content = load_yaml(found, vault=world.settings.decrypt)
        if content is not None and not isinstance(content, Mapping):
            raise InputError(f"{found} must hold variables: name: value")
        world.secrets.learn(content)
        layers.append(content or {})
        scope.files[name] = layers
    return layers


def _first_existing(names: Sequence[Any], folder: Path) -> Path | None:
    for name in names:
        for place in (folder / "vars" / str(name), folder / str(name)):
            if place.is_file():
                return place
    return None
