"""One step on one host: condition, loop, retries, delegation, and what the result means."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cleanslate.errors import CleanslateError, InputError, RenderError, StepFailed
from cleanslate.model import Result, Status, Step
from cleanslate.runner.apply import Applied, apply_step, validate
from cleanslate.runner.background import apply_async
from cleanslate.runner.context import RunContext
from cleanslate.runner.hidden import hide
from cleanslate.runner.loop import Loop
from cleanslate.runner.outcome import Asked, Done, combine, failed, lost_lease, skipped
from cleanslate.runner.reach import target_of
from cleanslate.runner.scope import Frame, PlayScope
from cleanslate.runner.words import StepWords
from cleanslate.steps.behaviour import SetFacts
from cleanslate.steps.registry import step_type

if TYPE_CHECKING:
    from cleanslate.connect.target import Target
    from cleanslate.render import Variables
    from cleanslate.runner.leases import Leases
    from cleanslate.runner.world import World
    from cleanslate.steps.contract import StepType


class StepRun:
    """Runs one step on one host. Made anew for each; `run` gives what became of it and never raises for a host."""

    def __init__(self, world: World, scope: PlayScope, step: Step, frame: Frame, host: str) -> None:
        self.world = world
        self.scope = scope
        self.step = step
        self.host = host
        self.keywords = step.keywords
        self.state = world.variables.state(host)
        self.type: StepType = step_type(step.type)
        self.done = Done(Result(Status.OK))
        self.words = StepWords(world, scope, step, frame, host, self.type, self.done.warnings.append)
        self.loop = Loop(self.words) if step.keywords.loop is not None else None
        self.item_label: str | None = None

    # ------------------------------------------------------------------ the whole step

    def run(self) -> Done:
        """Run the step, every item of its loop, and settle status, `register` and notifications."""
        began = time.monotonic()
        done = self.done
        try:
            variables = self.words.variables()
            done.no_log = self.words.flag(self.keywords.no_log, variables)
            done.result = self._run_loop(self.loop, variables) if self.loop else self._run_item(variables)
            done.arguments = None if self.loop else done.arguments  # its items have told theirs
        except RenderError as error:
            done.result = self._render_failure(error)
        except CleanslateError as error:
            done.result = failed(error)
        done.result.seconds = time.monotonic() - began
        done.result.data.pop("invocation", None)  # as in Ansible, where only the items of loops keep theirs
        self._settle(done)
        return done

    def _settle(self, done: Done) -> None:
        result = done.result
        if self.keywords.register:
            self.state.register(self.keywords.register, result)
        if result.status is Status.UNREACHABLE:
            done.ignored = self.words.quiet_flag(self.keywords.ignore_unreachable)
        elif result.status is Status.FAILED:
            done.ignored = self.words.quiet_flag(self.keywords.ignore_errors) and not lost_lease(result)
        if result.status in (Status.CHANGED, Status.UNKNOWN):
            if self.world.check:
                self._foretell(done)
            if result.status is Status.CHANGED or self.world.check:
                done.notified = self._notified(result)

    def _foretell(self, done: Done) -> None:
        if not self.type.on_target:
            return
        self.state.foretold.add(self.type.name)
        if done.delegate:
            self.world.variables.state(done.delegate).foretold.add(self.type.name)

    def _notified(self, result: Result) -> list[str]:
        names: list[str] = []
        items = result.data.get("results") if self.loop else None
        for entry in self.keywords.notify:
            scopes: Sequence[Mapping[str, Any]] = [{}]
            if self.loop and items:
                loop_var = self.loop.variable
                scopes = [{loop_var: item.get(loop_var)} for item in items if item.get("changed")]
            for extra in scopes:
                found = self.words.renderer.render(entry, self.words.variables(extra))
                names += [str(name) for name in (found if isinstance(found, list) else [found])]
        return list(dict.fromkeys(names))

    def _render_failure(self, error: RenderError) -> Result:
        """In check mode, what depends on something that could not be foretold is itself unknown, not failed."""
        if self.world.check and self.state.unknown:
            used = self.words.names_used() & self.state.unknown
            if used:
                names = ", ".join(sorted(used))
                text = f"depends on {names}, which check mode cannot foretell"
                return Result(Status.UNKNOWN, {"changed": False, "failed": False, "skipped": True, "msg": text})
        return failed(error)

    # ------------------------------------------------------------------ loops

    def _run_loop(self, loop: Loop, variables: Variables) -> Result:
        try:
            items = loop.items(variables)
        except RenderError:
            if self.keywords.when and not self.words.when(variables):
                return skipped(self.words.false_condition(variables))
            raise
        results: list[Result] = []
        for extra, label in loop.scopes(items, variables):
            result = self._run_one_item(extra, label)
            results.append(result)
            if loop.ends(extra, result):
                break
        return combine(results)

    def _run_one_item(self, extra: dict[str, Any], label: str) -> Result:
        began = time.monotonic()
        self.item_label = label
        try:
            result = self._run_item(self.words.variables(extra), extra)
        except RenderError as error:
            result = self._render_failure(error)
        except CleanslateError as error:
            result = failed(error)
        result.seconds = time.monotonic() - began
        shown = {key: value for key, value in extra.items() if key != "ansible_loop"}
        result.data = {**result.data, **shown, "_ansible_item_label": label}
        if "ansible_loop" in extra:
            result.data["ansible_loop"] = extra["ansible_loop"]
        self.world.item_finished(self, label, result)
        return result

    # ------------------------------------------------------------------ one item

    def _run_item(self, variables: Variables, extra: Mapping[str, Any] | None = None) -> Result:
        if self.keywords.when and not self.words.when(variables):
            return skipped(self.words.false_condition(variables))
        if self.world.check and self.type.observes and self.state.foretold:
            text = "not looked at: the steps before would have changed what it observes"
            return Result(Status.UNKNOWN, {"changed": False, "failed": False, "skipped": True, "msg": text})
        delegate = self.words.delegate(variables)
        if delegate is not None:
            self.done.delegate = delegate
            theirs = {delegate: self.world.variables.of_play(delegate, self.scope)}
            variables = self.words.variables({**(extra or {}), "ansible_delegated_vars": theirs})
        arguments = self.words.arguments(variables)
        environment = self.words.environment(variables)
        self._keep(arguments, environment)
        attempts = self.words.attempts(variables)
        for attempt in range(1, attempts + 1):
            applied = self._apply(variables, arguments, environment, delegate)
            result = applied.result
            if attempts > 1:
                result.data["attempts"] = attempt
            self.words.judge(result, extra)
            if not self.words.again(result, extra):
                break
            if attempt == attempts:
                self._give_up(result, attempts)
                break
            delay = self.words.delay(variables)
            self.world.retrying(self, attempt, attempts, delay, result)
            self.world.sleep(delay)
        if self.done.no_log:
            hide(self.world.secrets, self.step.type, arguments, result.data)
        self._take(applied, extra or {}, delegate)
        return result

    def _keep(self, arguments: dict[str, Any], environment: Mapping[str, str]) -> None:
        """Keep what the step was called with, for the record; what stands under a secret's name is a secret."""
        self.done.arguments = {key: value for key, value in arguments.items() if key not in self.type.unrendered}
        for values in (arguments, environment):
            self.world.secrets.learn(values)

    def _give_up(self, result: Result, attempts: int) -> None:
        """The tries are used up: a step with `until` has failed, whatever its last try said."""
        result.data["attempts"] = max(1, attempts - 1)
        result.status = Status.FAILED if result.status is not Status.UNREACHABLE else result.status
        result.data["failed"] = True
        result.data.setdefault("msg", f"`until` still did not hold after {attempts} tries")

    def _take(self, applied: Applied, item: Mapping[str, Any], delegate: str | None) -> None:
        """Keep what the step found out and asked for."""
        owner = self.state
        if delegate and self.words.quiet_flag(self.keywords.delegate_facts):
            owner = self.world.variables.state(delegate)
        if applied.flow is not None and not applied.result.failed:
            self.done.asked.append(Asked(applied.flow, item))
            if isinstance(applied.flow, SetFacts):
                owner.keep(applied.flow)  # at once: the next item of a loop builds on it
        if applied.facts and not applied.result.failed:
            owner.learn(applied.facts)
        self.done.changes += applied.changes

    def _apply(
        self, variables: Variables, arguments: Mapping[str, Any], environment: dict[str, str], delegate: str | None
    ) -> Applied:
        check = self.words.check(variables)

        @functools.cache  # worked out once, and only by steps that work on one
        def reach() -> Target:
            return target_of(self.world, self.scope, self.keywords, variables, delegate or self.host, bool(delegate))

        if self.world.leases is not None and self.type.on_target:
            self._mind_leases(self.world.leases, reach, delegate, check=check)
        context = self._context(variables, environment, reach)
        try:
            valid = validate(self.type, arguments)

            def apply(target: Target | None) -> Applied:
                return apply_step(self.type, valid, context, target, check=check)

            target = reach() if self.type.on_target else None
            seconds = 0 if target is None or check else self.words.number(self.keywords.async_seconds, variables, 0)
            if target is not None and seconds > 0:
                poll = self.words.number(self.keywords.poll, variables, 15)
                applied = apply_async(apply, target, seconds, poll, environment, self.world.sleep)
            else:
                applied = apply(target)
        except InputError as error:
            raise StepFailed(error.what, fix=error.fix) from None
        if target is not None and self.world.sampling is not None:
            self.world.sampling.see(delegate or self.host, target)
        self.done.warnings += [text for text in context.warnings if text not in self.done.warnings]
        return applied

    def _mind_leases(self, leases: Leases, reach: Callable[[], Target], delegate: str | None, *, check: bool) -> None:
        """Hold the machine that is worked on; tell at once where it could not be reached when it was to be held."""
        trouble = leases.trouble(delegate or self.host)
        if trouble is not None and self.step.type != "wait_for_connection":
            raise trouble
        if not check:
            leases.want(self.scope.play, self.type, reach())

    def _context(self, variables: Variables, environment: dict[str, str], reach: Callable[[], Target]) -> RunContext:
        timeout = self.keywords.timeout
        deadline = self.world.settings.step_deadline
        if timeout is not None:
            deadline = float(self.words.renderer.render(timeout, variables)) or deadline
        elif self.keywords.async_seconds is not None:
            deadline = float(self.words.renderer.render(self.keywords.async_seconds, variables)) or deadline
        return RunContext(
            self.host,
            variables,
            self.words.renderer,
            environment=environment,
            deadline=deadline,
            settings=self.world.settings,
            target=reach,
            on_progress=lambda text, facts: self.world.progress(self, text, facts),
            folders=self.world.variables.search_folders(self.step, self.words.frame),
            secret=self.world.secrets.add,
            keep=lambda name, text: self.world.keep(self, name, text),
            sleep=self.world.sleep,
            step=(self.words.name(), self.type.name),
            foretold=self.state.foretold,
            diff=self.words.diff(variables),
            no_log=self.done.no_log,
        )
