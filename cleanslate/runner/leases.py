"""Which machines a run must hold before it works on them, and holding them: all before the first step of any."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from cleanslate.connect.lease import Ticket, Where
from cleanslate.dataclass import dataclass
from cleanslate.errors import CleanslateError, InputError, LeaseHeld, NoPython, TargetError, Unreachable
from cleanslate.model import Keywords, Play, Role, Step, walk
from cleanslate.render import is_template
from cleanslate.runner.reach import target_of
from cleanslate.runner.scope import Frame, PlayScope
from cleanslate.steps.registry import step_type
from cleanslate.steps.spellings import as_flag

if TYPE_CHECKING:
    from cleanslate.connect.target import Address, Target
    from cleanslate.runner.settings import LeaseWish
    from cleanslate.runner.world import World
    from cleanslate.steps.contract import StepType

_PATIENCE = 60.0  # seconds in which a machine must have answered whether it can be held, beyond the waiting asked for


@dataclass(frozen=True)
class _Needed:
    """A machine that a play will work on, and how it is reached there."""

    machine: str
    target: Target


class Leases:
    """The leases of one run. In check mode, and where nobody wished for leases, there are none."""

    def __init__(self, world: World, wish: LeaseWish) -> None:
        self._world = world
        self._wish = wish
        self._where = Where()
        self._lock = threading.Lock()
        self._held: dict[Address, Ticket] = {}
        self._lost: dict[str, Unreachable] = {}  # machines that could not be reached; the first step there says so

    def at(self, step: str) -> None:
        """The run is at this step now; others see it."""
        self._where.step = step

    def want(self, play: Play, kind: StepType, target: Target) -> None:
        """A step is about to work on a target: hold its machine from its next call on, whoever thought of it before."""
        if kind.only_reads or target.address in self._held or not _shared(target.address, play):
            return
        resources = resources_of(play, self._world)
        if resources:
            self._mark(target.address, resources)

    def _mark(self, address: Address, resources: set[str]) -> None:
        with self._lock:
            ticket = Ticket(self._wish.facts, resources, self._wish.wait, self._where)
            self._held[address] = self._world.connections.hold(address, ticket)

    def trouble(self, machine: str) -> Unreachable | None:
        """Why the machine could not be reached just now, told once: the first step there need not find out again."""
        return self._lost.pop(machine, None)

    # ------------------------------------------------------------------ before a play's first step

    def take(self, scope: PlayScope, pool: ThreadPoolExecutor) -> None:
        """Hold every machine that a play is known to work on, all at once. LeaseHeld: then none is held."""
        resources = resources_of(scope.play, self._world)
        if not resources:
            return
        needed: dict[Address, _Needed] = {}
        for one in self._needed(scope):
            if not _shared(one.target.address, scope.play):
                continue
            known = self._held.get(one.target.address)
            if known is None or not resources <= known.resources:
                needed.setdefault(one.target.address, one)
        for address in needed:
            self._mark(address, resources)
        found = list(pool.map(lambda one: self._try(one, 0.0), needed.values()))
        held = [error for error in found if error is not None]
        if held and self._wish.wait:
            held = self._take_in_turn(sorted(needed.values(), key=lambda one: repr(one.target.address)), held)
        if held:
            self._world.connections.let_go("refused")
            raise LeaseHeld("\n".join(error.what for error in held), fix=held[0].fix)

    def _take_in_turn(self, needed: Sequence[_Needed], held: Sequence[LeaseHeld]) -> list[LeaseHeld]:
        """Wait for one machine after the other, in an order that every run keeps: no two wait for each other."""
        for error in held:
            self._world.warning(f"waiting: {error.what}")
        self._world.connections.let_go("waiting")
        for one in needed:
            still = self._try(one, self._wish.wait)
            if still is not None:
                return [still]
        return []

    def _try(self, one: _Needed, wait: float) -> LeaseHeld | None:
        self._held[one.target.address].wait = wait
        try:
            one.target.call("leases.held", {}, deadline=wait + _PATIENCE, read_only=True)
        except LeaseHeld as error:
            return error
        except NoPython:
            self._world.warning(f"{one.machine} has no Python, so no lease can be held there")
        except Unreachable as error:
            self._lost[one.machine] = error
        except TargetError:
            pass  # the first step there meets it again, and tells it with its place
        return None

    def _needed(self, scope: PlayScope) -> Iterator[_Needed]:
        """The machines that the play's steps change, as far as can be known before they run."""
        steps = [step for step in _steps(scope.play) if _changes(step)]
        for host in scope.hosts_all:
            for step in _one_each(steps):
                try:
                    yield from self._machine(scope, host, step)
                except CleanslateError:
                    continue  # not to be known yet: it is held when the step comes to it

    def _machine(self, scope: PlayScope, host: str, step: Step) -> Iterator[_Needed]:
        variables = self._world.variables.of_step(host, scope, step, Frame())
        machine = host
        if step.keywords.delegate_to is not None:
            rendered = self._world.variables.renderer(step).render(step.keywords.delegate_to, variables)
            if not isinstance(rendered, str) or not rendered:
                return
            machine = rendered
        words = step.keywords
        yield _Needed(machine, target_of(self._world, scope, words, variables, machine, machine != host))


def _shared(address: Address, play: Play) -> bool:
    """Whether a lease is due there. The controller itself (`local`) is not a host that teammates share: many plays may
    work on it at once, as they always could with Ansible, unless the play asks for its lease.
    """
    return address.kind != "local" or play.lease is not None


def resources_of(play: Play, world: World) -> set[str]:
    """What of its machines a play holds: everything, nothing (`lease: false`), or what it declares."""
    said: Any = play.lease
    if is_template(said):
        renderer = world.variables.renderer()
        from cleanslate.render import Variables

        said = renderer.render(said, Variables([play.vars, world.settings.extra_vars], renderer))
    flag = as_flag(said)
    if said is None or flag is True:
        return {"host"}
    if flag is False:
        return set()
    words = [said] if isinstance(said, str) else said
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) and word.strip() for word in words):
        raise InputError(
            f"lease: {said!r} is neither yes, no, nor a list of resources",
            origin=getattr(said, "origin", play.origin),
            fix='write lease: false, or lease: ["gpu:0-3", "container:101"]',
        )
    return {str(word).strip() for word in words}


def _steps(play: Play) -> Iterator[Step]:
    yield from walk((*play.pre_tasks, *play.tasks, *play.post_tasks, *play.handlers))
    for role in _roles(play.roles):
        yield from walk((*role.tasks, *role.handlers))


def _roles(roles: Sequence[Role]) -> Iterator[Role]:
    for role in roles:
        yield from _roles(role.dependencies)
        yield role


def _changes(step: Step) -> bool:
    """Whether the step may change its target; what an include brings cannot be known, so it may."""
    kind = step_type(step.type)
    if step.type in ("include_tasks", "include_role"):
        return True
    return kind.on_target and not kind.only_reads and step.keywords.check_mode is not True


def _one_each(steps: Sequence[Step]) -> list[Step]:
    """One step of each way to a machine: most steps of a play go the same way."""
    ways: dict[Any, Step] = {}
    for step in steps:
        ways.setdefault(_way(step.keywords), step)
    return list(ways.values())


def _way(words: Keywords) -> tuple[str, ...]:
    parts: Mapping[str, Any] = vars(words)
    names = ("delegate_to", "become", "become_user", "become_method", "connection", "remote_user", "port")
    return tuple(repr(parts[name]) for name in names)
