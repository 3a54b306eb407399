"""What one host still has to do in a play: a generator that yields work and takes what became of it.

The order of steps, blocks with rescue and always, handlers, roles and dynamic includes is all here, as plain
nested generators: a failed step raises `HostFailed` inside the generator, and blocks catch it as `try` does.
A strategy (strategy.py) decides which hosts' work runs together.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Any, Protocol

from cleanslate.dataclass import dataclass
from cleanslate.model import Block, Node, Result, Role, Status, Step
from cleanslate.runner.bus import plain
from cleanslate.runner.outcome import Asked, Done, lost_lease
from cleanslate.runner.scope import Frame
from cleanslate.runner.state import HostState
from cleanslate.steps.behaviour import IncludeRole, IncludeTasks, Meta

Position = tuple[int, ...]
Walk = Generator["Work", Done, None]
_FLUSH = 10**9  # handlers come after everything else of their section


@dataclass(frozen=True)
class Work:
    """A step that a host wants run now. Hosts with the same position and step run it together."""

    step: Step
    frame: Frame
    position: Position
    section: str
    handler: bool = False


class HostFailed(Exception):
    """A step failed on the host. Blocks may rescue it, unless the host is lost or the whole run is going down."""

    def __init__(self, result: Result, step: Step | None, *, rescuable: bool = True) -> None:
        super().__init__(str(result.data.get("msg", "")))
        self.result = result
        self.step = step
        self.rescuable = rescuable


class HostEnded(Exception):
    """`meta: end_host`, `end_play` or `end_batch`: the host is done with this play, without failure."""


class RoleEnded(Exception):
    """`meta: end_role`."""


@dataclass(frozen=True)
class Handler:
    """A handler and where it comes from; `names` are what it may be called by, rendered once for the play."""

    node: Step
    names: frozenset[str]
    index: int
    group: int = 0  # handlers of one file belong together


class PlayPlan(Protocol):
    """What a program needs to know of its play (run.py makes it)."""

    @property
    def sections(self) -> Sequence[Section]:
        """The play's parts in order."""

    @property
    def force_handlers(self) -> bool:
        """Whether notified handlers run where a step has failed."""

    @property
    def handlers(self) -> list[Handler]:
        """Every handler in the order of definition; includes add to it."""

    @property
    def stopping(self) -> bool:
        """Whether the run is being stopped: then nothing is rescued, and only `always` parts run."""

    def selected(self, step: Step) -> bool:
        """Whether tags let the step run."""

    def include_tasks(self, step: Step, asked: Asked, frame: Frame, *, handler: bool) -> tuple[tuple[Node, ...], Frame]:
        """Load an included file's nodes; raises HostFailed."""

    def include_role(self, step: Step, asked: Asked, frame: Frame) -> tuple[Role, Frame]:
        """Load an included role; raises HostFailed."""

    def end_play(self, scope: str) -> None:
        """`meta: end_play` or `end_batch`: every host of the batch is done."""

    def do_meta(self, state: HostState, action: str, position: Position) -> None:
        """The other meta actions, where the step stands."""

    def rescued(self, state: HostState, position: Position) -> None:
        """The block there has rescued a failure on the host."""


@dataclass(frozen=True)
class Section:
    """A part of a play: its nodes or roles, after which notified handlers run."""

    name: str
    nodes: tuple[Node, ...] = ()
    roles: tuple[Role, ...] = ()


@dataclass
class HostProgram:
    """One host's way through one play."""

    plan: PlayPlan
    state: HostState
    called: dict[str, None] = field(default_factory=dict)  # names that were notified since the last flush
    notified: set[int] = field(default_factory=set)  # handlers that are to run in the flush that goes on, or the next
    flushing: bool = False
    ran: int = 0  # steps that were not skipped
    done_roles: set[str] = field(default_factory=set)

    def run(self) -> Walk:
        """Yield all work of the play in order. Raises HostFailed or HostEnded at the end of a host's way."""
        for index, section in enumerate(self.plan.sections):
            position = (index,)
            try:
                for number, role in enumerate(section.roles):
                    yield from self._role(role, Frame(), (*position, number), section.name)
                start = len(section.roles)
                yield from self._nodes(section.nodes, Frame(), position, section.name, start)
            except HostFailed as failure:
                if self.plan.force_handlers and failure.result.status is Status.FAILED:
                    yield from self._flush((*position, _FLUSH))
                raise
            yield from self._flush((*position, _FLUSH))

    def notify(self, names: Sequence[str]) -> list[str]:
        """Remember notified handlers; gives the names that no handler answers to.

        Which handlers a name means is settled when they are flushed: an include may define them anew until then.
        """
        unknown: list[str] = []
        for name in names:
            found = self._answering(name)
            if not found:
                unknown.append(name)
            elif self.flushing:
                self.notified |= found
            else:
                self.called[name] = None
        return unknown

    def _answering(self, name: str) -> set[int]:
        """The handlers that a name means: one of that name, and every listener of a name of its own.

        Of several with one name, the last file's counts, and in a file the first: so it is in Ansible.
        """
        found: set[int] = set()
        seen: set[str] = set()
        known = sorted(self.plan.handlers, key=lambda handler: (-handler.group, handler.index))
        named = next((handler for handler in known if name in handler.names), None)
        if named is not None:
            found.add(named.index)
        for handler in known:
            if name in handler.node.keywords.listen and (handler.node.name or "") not in seen:
                found.add(handler.index)
                seen |= {handler.node.name} if handler.node.name else set()
        return found

    # ------------------------------------------------------------------ nodes

    def _nodes(self, nodes: Sequence[Node], frame: Frame, position: Position, section: str, start: int = 0) -> Walk:
        for index, node in enumerate(nodes, start):
            here = (*position, index)
            if isinstance(node, Block):
                yield from self._block(node, frame, here, section)
            else:
                yield from self._step(node, frame, here, section)

    def _block(self, block: Block, frame: Frame, position: Position, section: str) -> Walk:
        pending: BaseException | None = None
        try:
            yield from self._nodes(block.block, frame, (*position, 0), section)
        except HostFailed as failure:
            pending = failure
            if block.rescue and failure.rescuable:
                pending = yield from self._rescue(block, failure, frame, position, section)
        if block.always and not (isinstance(pending, HostFailed) and self.state.unreachable):
            yield from self._nodes(block.always, frame, (*position, 2), section)
        if pending is not None:
            raise pending

    def _rescue(
        self, block: Block, failure: HostFailed, frame: Frame, position: Position, section: str
    ) -> Generator[Work, Done, HostFailed | None]:
        failed: dict[str, Any] = {"ansible_failed_result": failure.result.data}
        if failure.step is not None:
            failed["ansible_failed_task"] = {"name": failure.step.title, "action": failure.step.type}
        self.state.set_facts |= failed
        try:
            yield from self._nodes(block.rescue, frame, (*position, 1), section)
        except HostFailed as again:
            return again
        self.plan.rescued(self.state, position)
        return None

    def _step(self, step: Step, frame: Frame, position: Position, section: str, *, handler: bool = False) -> Walk:
        if not handler and not self.plan.selected(step):
            return
        done = yield Work(step, frame, position, section, handler)
        self.ran += done.result.status is not Status.SKIPPED
        if done.result.failed and not done.ignored:
            rescuable = done.result.status is Status.FAILED and not self.plan.stopping and not lost_lease(done.result)
            raise HostFailed(done.result, step, rescuable=rescuable)
        for index, asked in enumerate(done.asked):
            yield from self._follow(step, asked, frame, (*position, index), section, handler=handler)

    # ------------------------------------------------------------------ what steps ask for

    def _follow(
        self, step: Step, asked: Asked, frame: Frame, position: Position, section: str, *, handler: bool
    ) -> Walk:
        flow = asked.flow
        if isinstance(flow, IncludeTasks):
            nodes, below = self.plan.include_tasks(step, asked, frame, handler=handler)
            yield from self._included(nodes, below, position, section, handler=handler)
        elif isinstance(flow, IncludeRole):
            role, below = self.plan.include_role(step, asked, frame)
            yield from self._role(role, below, position, section)
        elif isinstance(flow, Meta):
            yield from self._meta(flow.action, position)

    def _included(
        self, nodes: Sequence[Node], frame: Frame, position: Position, section: str, *, handler: bool
    ) -> Walk:
        if not handler:
            yield from self._nodes(nodes, frame, position, section)
            return
        for index, node in enumerate(nodes):
            if isinstance(node, Step):
                yield from self._step(node, frame, (*position, index), section, handler=True)
            else:
                yield from self._block(node, frame, (*position, index), section)

    def _role(self, role: Role, frame: Frame, position: Position, section: str) -> Walk:
        for index, dependency in enumerate(role.dependencies):
            yield from self._role(dependency, frame, (*position, index), section)
        key = _identity(role)
        if key in self.done_roles and not role.allow_duplicates:
            return
        before = self.ran
        with suppress(RoleEnded):
            yield from self._nodes(role.tasks, frame, position, section, len(role.dependencies))
        if self.ran > before:
            self.done_roles.add(key)

    def _meta(self, action: str, position: Position) -> Walk:
        if action == "flush_handlers":
            yield from self._flush(position)
        elif action == "end_host":
            raise HostEnded
        elif action in ("end_play", "end_batch"):
            self.plan.end_play(action)
            raise HostEnded
        elif action == "end_role":
            raise RoleEnded
        else:
            self.plan.do_meta(self.state, action, position)

    def _flush(self, position: Position) -> Walk:
        """Run the notified handlers in the order they are defined; each once, also one that another notifies."""
        for name in self.called:
            self.notified |= self._answering(name)
        self.called.clear()
        self.flushing = True
        try:
            for handler in _growing(self.plan.handlers):
                if handler.index in self.notified:
                    self.notified.discard(handler.index)
                    yield from self._step(handler.node, Frame(), (*position, handler.index), "handlers", handler=True)
        finally:
            self.flushing = False


def _growing(handlers: list[Handler]) -> Iterator[Handler]:
    """Handlers in order, also those that an include adds meanwhile."""
    index = 0
    while index < len(handlers):
        yield handlers[index]
        index += 1


def _identity(role: Role) -> str:
    """What makes a role's use the same as another, so that it runs once: its own parameters and conditions count."""
    above = len(role.parents[-1].keywords.when) if role.parents else 0
    conditions = [str(when) for when in role.keywords.when[above:]]
    return json.dumps([str(role.path), role.tasks_from, plain(role.params), conditions, sorted(role.keywords.tags)])
