"""One play on one batch of hosts: the plan that programs follow, and the executor that strategies drive."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from cleanslate.errors import CleanslateError
from cleanslate.model import Keywords, Node, Play, Result, Role, Step, walk
from cleanslate.runner.choice import Choice
from cleanslate.runner.gathering import gather_step, wants_facts
from cleanslate.runner.includes import Includes
from cleanslate.runner.outcome import Asked, Done, lost_lease
from cleanslate.runner.past import digest_of
from cleanslate.runner.program import Handler, HostEnded, HostProgram, Section, Work
from cleanslate.runner.roles import all_roles
from cleanslate.runner.scope import Frame, PlayScope
from cleanslate.runner.variables import load_vars_files
from cleanslate.runner.world import CENSORED, World, diffs_of
from cleanslate.steps.behaviour import AddHost, SetFacts
from cleanslate.steps.registry import step_type
from cleanslate.steps.spellings import as_flag

if TYPE_CHECKING:
    from cleanslate.runner.state import HostState


class BatchRun:
    """Runs a play for one batch; it is both the programs' plan and the strategies' executor."""

    def __init__(self, world: World, scope: PlayScope, pool: ThreadPoolExecutor) -> None:
        self.world = world
        self.scope = scope
        self.play: Play = scope.play
        self.pool = pool
        self.force_handlers = self._force_handlers()
        self.sections = self._sections()
        self.handlers: list[Handler] = []
        self.play_ended = False
        self.batch_ended = False
        self.results: list[Result] = []
        self._lock = threading.RLock()
        self._choice = Choice(world, scope)
        self._includes = Includes(world, scope, lambda role: self._add_handlers(role.handlers, role))
        for name in scope.batch:
            scope.files[name] = load_vars_files(scope, name, world.variables)
        for role in all_roles(self.play.roles):
            self._add_handlers(role.handlers, role)
        self._add_handlers(self.play.handlers, None)

    # ------------------------------------------------------------------ the plan

    def _force_handlers(self) -> bool:
        if self.play.force_handlers is None:
            return self.world.settings.force_handlers
        name = self.scope.batch[0]
        value = self.world.variables.renderer().render(
            self.play.force_handlers, self.world.variables.of_play(name, self.scope)
        )
        return bool(value)

    def _sections(self) -> list[Section]:
        sections = [Section("gather", (gather_step(self.play),))] if wants_facts(self.play) else []
        if self.play.pre_tasks:
            sections.append(Section("pre_tasks", self.play.pre_tasks))
        sections.append(Section("tasks", self.play.tasks, self.play.roles))
        if self.play.post_tasks:
            sections.append(Section("post_tasks", self.play.post_tasks))
        return sections

    def _add_handlers(self, nodes: Sequence[Node], role: Role | None) -> None:
        """Name handlers: as written, rendered, and with the role in front (`svc : restart`)."""
        renderer = self.world.variables.renderer()
        variables = self.world.variables.of_play(self.scope.batch[0], self.scope)
        group = self.handlers[-1].group + 1 if self.handlers else 0
        for node in walk(tuple(nodes)):
            names = {str(node.name)} if node.name else set()
            if node.name:
                try:
                    names.add(str(renderer.render(node.name, variables)))
                except CleanslateError as error:
                    self.world.warning(f'the name of handler "{node.name}" cannot be rendered: {error}', node.origin)
            if role is not None:
                names |= {f"{role.name} : {name}" for name in names}
            self.handlers.append(Handler(node, frozenset(names), len(self.handlers), group))

    def selected(self, step: Step) -> bool:
        """Whether --tags, --skip-tags, --start-at-task and --step let a step run."""
        return self._choice.selected(step)

    # ------------------------------------------------------------------ includes and meta

    def include_tasks(self, step: Step, asked: Asked, frame: Frame, *, handler: bool) -> tuple[tuple[Node, ...], Frame]:
        """Load an included file; all hosts that include it here get the same steps, so that they run together."""
        return self._includes.tasks(step, asked, frame, handler=handler)

    def include_role(self, step: Step, asked: Asked, frame: Frame) -> tuple[Role, Frame]:
        """Load an included role; its handlers join the play's, and with `public` its variables do too."""
        return self._includes.role(step, asked, frame)

    def end_play(self, scope: str) -> None:
        """Every host of the batch is done; `end_play` also skips the batches that follow."""
        self.play_ended = self.play_ended or scope == "end_play"
        self.batch_ended = True

    def ended(self) -> bool:
        """Whether every host of the batch is done."""
        return self.batch_ended

    def do_meta(self, state: HostState, action: str, position: tuple[int, ...]) -> None:
        """The meta actions that change no order."""
        if action == "clear_facts":
            state.forget_facts()
        elif action == "clear_host_errors":
            for other in self.world.variables.states.values():
                other.failed = other.unreachable = False
                other.failure = None
        elif action == "reset_connection":
            from cleanslate.runner.reach import address_for

            seen = self.world.variables.of_play(state.name, self.scope)
            self.world.connections.reset(address_for(self.world, self.scope, self.play.keywords, seen, state.name))
        elif action == "refresh_inventory":
            self.world.inventory_changes.refresh((id(self), position))
            if state.name in self.world.inventory_changes.gone:
                raise HostEnded

    def rescued(self, state: HostState, position: tuple[int, ...]) -> None:
        """Count a rescue; the failure that led to it is no longer one, as in Ansible's recap."""
        state.recap["rescued"] += 1
        state.recap["failed"] = max(0, state.recap["failed"] - 1)
        self.world.bus.emit("host.rescued", host=state.name, position=position)

    def cut(self, program: HostProgram, work: Work, why: str) -> None:
        """Tell that a host goes no further on its way, through no fault of its own."""
        self.world.bus.emit("host.stopped", host=program.state.name, position=work.position, why=why)

    # ------------------------------------------------------------------ the executor

    @property
    def stopping(self) -> bool:
        """Whether the run was asked to stop."""
        return self.world.stop_requested.is_set()

    def must_drain(self) -> bool:
        """True once, after the run was asked to stop."""
        if not self.stopping or self.world.draining:
            return False
        self.world.drain()
        return True

    def execute(self, host: str, work: Work) -> Done:
        """Run work on one host and never raise for what a host does."""
        replay = self.world.settings.replay
        done = None
        if replay is not None:
            others = self.scope.batch if self.runs_once(host, work) else ()
            done = replay.done(self.world, host, work.step, others)
        if done is None:
            from cleanslate.runner.execute import StepRun

            done = StepRun(self.world, self.scope, work.step, work.frame, host).run()
        if lost_lease(done.result):
            self.world.lease_lost = True
        return done

    @property
    def lease_lost(self) -> bool:
        """Whether a machine of the run is somebody else's now."""
        return self.world.lease_lost

    def announce(self, work: Work, hosts: list[str]) -> None:
        """Tell that a step starts."""
        step = work.step
        if self.world.leases is not None:
            self.world.leases.at(step.title)
        if not self.world.draining:
            self.world.last_step = f"{step.title} ({step.origin})"
        self.world.bus.emit(
            "step.started",
            step=self.world.step_id(step),
            name=self._title(work, hosts[0]),
            type=step.type,
            origin=str(step.origin),
            role=step.role.name if step.role else None,
            digest=digest_of(step),
            section=work.section,
            handler=work.handler,
            hosts=hosts,
        )

    def _title(self, work: Work, host: str) -> str:
        """The step's name with its templates rendered where that can be done, as written otherwise."""
        step = work.step
        if step.name is None or "{" not in step.name:
            return step.title
        variables = self.world.variables.of_step(host, self.scope, step, work.frame)
        try:
            return str(self.world.variables.renderer(step, work.frame).render(step.name, variables))
        except CleanslateError:
            return step.title

    def finished(self, program: HostProgram, work: Work, done: Done) -> None:
        """Settle what became of work on a host."""
        state, result = program.state, done.result
        with self._lock:
            if result.failed and not done.ignored:
                self.results.append(result)
            if not done.resumed:
                state.count(result.status, ignored=done.ignored)
            for name in program.notify(done.notified):
                self.world.warning(f'nobody answers to the handler "{name}"', work.step.origin)
            for asked in done.asked:
                if isinstance(asked.flow, AddHost):
                    self.world.inventory_changes.add_host(asked.flow)
        hidden = done.no_log
        self.world.bus.emit(
            "host.finished",
            step=self.world.step_id(work.step),
            host=state.name,
            delegate=done.delegate,
            status=result.status.value,
            ignored=done.ignored,
            seconds=round(result.seconds, 4),
            result={**CENSORED, "changed": result.data.get("changed", False)} if hidden else result.data,
            diffs=[] if hidden else diffs_of(result.diffs),
            changes=[] if hidden else done.changes,
            fix=result.fix,
            warnings=done.warnings,
            args=None if hidden else done.arguments,
            notified=done.notified,
            position=work.position,
            **({"resumed": True} if done.resumed else {}),
        )

    def throttle(self, work: Work) -> int | None:
        """The step's throttle."""
        value = work.step.keywords.throttle
        if value is None:
            return None
        rendered = self.world.variables.renderer().render(
            value, self.world.variables.of_play(self.scope.batch[0], self.scope)
        )
        return int(rendered) or None

    def fatal(self, work: Work) -> bool:
        """any_errors_fatal of the step (inherited from its block or play)."""
        words: Keywords = work.step.keywords
        value = words.any_errors_fatal if words.any_errors_fatal is not None else self.play.any_errors_fatal
        return bool(as_flag(self._of_play(value)))

    def fatal_play(self) -> bool:
        """any_errors_fatal of the play itself."""
        return bool(as_flag(self._of_play(self.play.any_errors_fatal)))

    def over_limit(self, failed: int) -> bool:
        """Whether so many failed hosts are more of the batch than max_fail_percentage lets."""
        if self.play.max_fail_percentage is None or not failed:
            return False
        return failed / len(self.scope.batch) * 100 > float(self._of_play(self.play.max_fail_percentage))

    def _of_play(self, value: Any) -> Any:
        """What a keyword says that is the same for every host, as the batch's first host sees it."""
        if not isinstance(value, str):
            return value
        return self.world.variables.renderer().render(
            value, self.world.variables.of_play(self.scope.batch[0], self.scope)
        )

    def runs_once(self, host: str, work: Work) -> bool:
        """run_once, and step types that run once for all (pause, add_host), under a strategy that goes together."""
        if step_type(work.step.type).once:
            return True
        value = work.step.keywords.run_once
        if value is None or isinstance(value, bool):
            return bool(value)
        variables = self.world.variables.of_step(host, self.scope, work.step, work.frame)
        return bool(self.world.variables.renderer(work.step, work.frame).render(value, variables))

    def share(self, done: Done, work: Work, others: list[str]) -> None:
        """A step that ran once gives its result, and its facts, to every host that would have run it."""
        for name in others:
            state = self.world.variables.state(name)
            if work.step.keywords.register:
                state.register(work.step.keywords.register, done.result)
            for asked in done.asked:
                if isinstance(asked.flow, SetFacts):
                    state.keep(asked.flow)
            facts = done.result.data.get("ansible_facts")
            if isinstance(facts, dict) and not any(isinstance(asked.flow, SetFacts) for asked in done.asked):
                state.learn(facts)
