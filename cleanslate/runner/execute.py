"""One step on one host: condition, loop, retries, delegation, and what the result means."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cleanslate.errors import CleanslateError, InputError, Interrupted, LeaseHeld, Origin, RenderError, StepFailed
from cleanslate.model import Result, SourceText, Status, Step
from cleanslate.render import OMIT, free_names, with_items
from cleanslate.runner.apply import Applied, apply_step, validate
from cleanslate.runner.background import apply_async
from cleanslate.runner.context import RunContext
from cleanslate.runner.reach import target_of
from cleanslate.runner.variables import Frame, PlayScope
from cleanslate.steps.contract import Flow, SetFacts, StepType
from cleanslate.steps.registry import step_type

if TYPE_CHECKING:
    from cleanslate.connect.target import Target
    from cleanslate.render import Variables
    from cleanslate.runner.leases import Leases
    from cleanslate.runner.world import World


@dataclass
class Asked:
    """Something only the runner can do, asked for by a step (or one item of its loop)."""

    flow: Flow
    item: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Done:
    """What became of a step on a host."""

    result: Result
    ignored: bool = False
    asked: list[Asked] = field(default_factory=list)
    notified: list[str] = field(default_factory=list)
    no_log: bool = False
    delegate: str | None = None
    warnings: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    arguments: dict[str, Any] | None = None  # rendered; of the last item in a loop
    resumed: bool = False  # done by the run that this one goes on with, and not again


class StepRun:
    """Runs one step on one host. Made anew for each; `run` gives what became of it and never raises for a host."""

    def __init__(self, world: World, scope: PlayScope, step: Step, frame: Frame, host: str) -> None:
        self.world = world
        self.scope = scope
        self.step = step
        self.frame = frame
        self.host = host
        self.words = step.keywords
        self.state = world.variables.state(host)
        self.renderer = world.variables.renderer(step, frame)
        self.type: StepType = step_type(step.type)
        self.done = Done(Result(Status.OK))
        self.item_label: str | None = None

    # ------------------------------------------------------------------ the whole step

    def run(self) -> Done:
        """Run the step, every item of its loop, and settle status, `register` and notifications."""
        began = time.monotonic()
        done = self.done
        try:
            variables = self._variables()
            done.no_log = self._flag(self.words.no_log, variables)
            done.result = self._run_loop(variables) if self._loops() else self._run_item(variables)
            done.arguments = None if self._loops() else done.arguments  # its items have told theirs
        except RenderError as error:
            done.result = self._render_failure(error)
        except CleanslateError as error:
            done.result = _failed(error)
        done.result.seconds = time.monotonic() - began
        self._settle(done)
        return done

    def _settle(self, done: Done) -> None:
        result = done.result
        if self.words.register:
            self.state.register(self.words.register, result)
        if result.status is Status.UNREACHABLE:
            done.ignored = self._quiet_flag(self.words.ignore_unreachable)
        elif result.status is Status.FAILED:
            done.ignored = self._quiet_flag(self.words.ignore_errors) and not lost_lease(result)
        if result.status in (Status.CHANGED, Status.UNKNOWN):
            if self.world.check:
                self._foretell(done)
            if result.status is Status.CHANGED or self.world.check:
                done.notified = self._notified(result)

    def _foretell(self, done: Done) -> None:
        if not self.type.on_target:
            return
        self.state.foretold = True
        if done.delegate:
            self.world.variables.state(done.delegate).foretold = True

    def _notified(self, result: Result) -> list[str]:
        names: list[str] = []
        items = result.data.get("results") if self._loops() else None
        for entry in self.words.notify:
            scopes: Sequence[Mapping[str, Any]] = [{}]
            if items:
                loop_var = self._loop_var()
                scopes = [{loop_var: item.get(loop_var)} for item in items if item.get("changed")]
            for extra in scopes:
                found = self.renderer.render(entry, self._variables(extra))
                names += [str(name) for name in (found if isinstance(found, list) else [found])]
        return list(dict.fromkeys(names))

    def _render_failure(self, error: RenderError) -> Result:
        """In check mode, what depends on something that could not be foretold is itself unknown, not failed."""
        if self.world.check and self.state.unknown:
            used = self._names_used() & self.state.unknown
            if used:
                names = ", ".join(sorted(used))
                text = f"depends on {names}, which check mode cannot foretell"
                return Result(Status.UNKNOWN, {"changed": False, "failed": False, "skipped": True, "msg": text})
        return _failed(error)

    def _names_used(self) -> set[str]:
        words = self.words
        names = free_names(self.step.args) | free_names(words.loop) | free_names(list(words.vars))
        for conditions in (words.when, words.until, words.changed_when or (), words.failed_when or ()):
            for condition in conditions:
                names |= free_names(condition, condition=True)
        for name in self.type.unrendered:
            names |= free_names(self.step.args.get(name), condition=True)
        return names

    # ------------------------------------------------------------------ loops

    def _loops(self) -> bool:
        return self.words.loop is not None

    def _loop_var(self) -> str:
        control: Mapping[Any, Any] = self.words.loop_control or {}
        return str(control.get("loop_var", "item"))

    def _items(self, variables: Variables) -> list[Any]:
        if self.words.loop_with is not None:
            return with_items(self.words.loop_with, self.words.loop, variables, self.renderer)
        items = self.renderer.render(self.words.loop, variables)
        if isinstance(items, str | bytes | Mapping) or not hasattr(items, "__iter__"):
            kind = type(items).__name__
            raise StepFailed(
                f"loop needs a list, and this is {kind}: {items!r:.80}", fix="a mapping wants `| dict2items`"
            )
        return [item for item in items if item is not OMIT]

    def _run_loop(self, variables: Variables) -> Result:
        try:
            items = self._items(variables)
        except RenderError:
            if self.words.when and not self._when(variables):
                return _skipped(self._false_condition(variables))
            raise
        results: list[Result] = []
        for extra, label in self._item_scopes(items, variables):
            result = self._run_one_item(extra, label)
            results.append(result)
            if self._break(extra, result):
                break
        return _combine(results)

    def _item_scopes(self, items: list[Any], variables: Variables) -> Iterator[tuple[dict[str, Any], str]]:
        control: Mapping[Any, Any] = self.words.loop_control or {}
        loop_var, index_var = self._loop_var(), control.get("index_var")
        pause = float(self.renderer.render(control.get("pause", 0), variables) or 0)
        for index, item in enumerate(items):
            if index and pause:
                time.sleep(pause)
            extra: dict[str, Any] = {loop_var: item, "ansible_loop_var": loop_var}
            if index_var:
                extra |= {str(index_var): index, "ansible_index_var": str(index_var)}
            if control.get("extended"):
                extra["ansible_loop"] = _extended(items, index)
            label: Any = item
            if "label" in control:
                label = self.renderer.render(control["label"], self._variables(extra))
            yield extra, _short(label)

    def _run_one_item(self, extra: dict[str, Any], label: str) -> Result:
        began = time.monotonic()
        self.item_label = label
        try:
            result = self._run_item(self._variables(extra), extra)
        except RenderError as error:
            result = self._render_failure(error)
        except CleanslateError as error:
            result = _failed(error)
        result.seconds = time.monotonic() - began
        shown = {key: value for key, value in extra.items() if key != "ansible_loop"}
        result.data = {**result.data, **shown, "_ansible_item_label": label}
        if "ansible_loop" in extra:
            result.data["ansible_loop"] = extra["ansible_loop"]
        self.world.item_finished(self, label, result)
        return result

    def _break(self, extra: Mapping[str, Any], result: Result) -> bool:
        control: Mapping[Any, Any] = self.words.loop_control or {}
        condition = control.get("break_when")
        if condition is None:
            return False
        conditions = condition if isinstance(condition, list) else [condition]
        seen = {**extra, self.words.register: result.data} if self.words.register else extra
        return self.renderer.condition(list(conditions), self._variables(seen))

    # ------------------------------------------------------------------ one item

    def _run_item(self, variables: Variables, extra: Mapping[str, Any] | None = None) -> Result:
        if self.words.when and not self._when(variables):
            return _skipped(self._false_condition(variables))
        if self.world.check and self.type.observes and self.state.foretold:
            text = "not looked at: the steps before would have changed what it observes"
            return Result(Status.UNKNOWN, {"changed": False, "failed": False, "skipped": True, "msg": text})
        delegate = self._delegate(variables)
        if delegate is not None:
            theirs = {delegate: self.world.variables.of_play(delegate, self.scope)}
            variables = self._variables({**(extra or {}), "ansible_delegated_vars": theirs})
        arguments = self._arguments(variables)
        environment = self._environment(variables)
        self._keep(arguments, environment)
        attempts = self._attempts(variables)
        for attempt in range(1, attempts + 1):
            applied = self._apply(variables, arguments, environment, delegate)
            result = applied.result
            if attempts > 1:
                result.data["attempts"] = attempt
            self._judge(result, extra)
            if not self._again(result, extra):
                break
            if attempt == attempts:
                self._give_up(result, attempts)
                break
            delay = float(self.renderer.render(5 if self.words.delay is None else self.words.delay, variables))
            self.world.retrying(self, attempt, attempts, delay, result)
            self.world.sleep(delay)
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
        if delegate and self._quiet_flag(self.words.delegate_facts):
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
        check = self._check(variables)
        if self.world.leases is not None and self.type.on_target:
            self._mind_leases(self.world.leases, variables, delegate, check=check)
        context = self._context(variables, environment, delegate)
        try:
            valid = validate(self.type, arguments)

            def apply(target: Target | None) -> Applied:
                return apply_step(self.type, valid, context, target, check=check)

            target = self._target(variables, delegate) if self.type.on_target else None
            seconds = 0 if target is None or check else self._number(self.words.async_seconds, variables, 0)
            if target is not None and seconds > 0:
                poll = self._number(self.words.poll, variables, 15)
                applied = apply_async(apply, target, seconds, poll, environment, self.world.sleep)
            else:
                applied = apply(target)
        except InputError as error:
            raise StepFailed(error.what, fix=error.fix) from None
        self.done.warnings += [text for text in context.warnings if text not in self.done.warnings]
        return applied

    def _mind_leases(self, leases: Leases, variables: Variables, delegate: str | None, *, check: bool) -> None:
        """Hold the machine that is worked on; tell at once where it could not be reached when it was to be held."""
        trouble = leases.trouble(delegate or self.host)
        if trouble is not None and self.step.type != "wait_for_connection":
            raise trouble
        if not check:
            leases.want(self.scope.play, self.type, self._target(variables, delegate))

    def _context(self, variables: Variables, environment: dict[str, str], delegate: str | None) -> RunContext:
        timeout = self.words.timeout
        deadline = self.world.settings.step_deadline
        if timeout is not None:
            deadline = float(self.renderer.render(timeout, variables)) or deadline
        elif self.words.async_seconds is not None:
            deadline = float(self.renderer.render(self.words.async_seconds, variables)) or deadline
        return RunContext(
            self.host,
            variables,
            self.renderer,
            environment=environment,
            deadline=deadline,
            settings=self.world.settings,
            target=lambda: self._target(variables, delegate),
            on_progress=lambda text, facts: self.world.progress(self, text, facts),
            folders=self.world.variables.search_folders(self.step, self.frame),
            secret=self.world.secrets.add,
            sleep=self.world.sleep,
            step=(self._name(), self.type.name),
        )

    def _name(self) -> str:
        """The step's name as its events tell it."""
        if self.step.name is None or "{" not in self.step.name:
            return self.step.title
        try:
            return str(self.renderer.render(self.step.name, self._variables()))
        except CleanslateError:
            return self.step.title

    def _target(self, variables: Variables, delegate: str | None) -> Target:
        return target_of(self.world, self.scope, self.words, variables, delegate or self.host, delegate is not None)

    # ------------------------------------------------------------------ what is written beside the step type

    def _variables(self, extra: Mapping[str, Any] | None = None) -> Variables:
        layers = [extra] if extra else []
        return self.world.variables.of_step(self.host, self.scope, self.step, self.frame, layers)

    def _flag(self, value: Any, variables: Variables) -> bool:
        from cleanslate.steps.contract import as_flag

        if value is None:
            return False
        rendered = self.renderer.render(value, variables)
        found = as_flag(rendered)
        if not isinstance(found, bool):
            raise StepFailed(f"{rendered!r} is neither true nor false", fix="write yes or no")
        return found

    def _number(self, value: Any, variables: Variables, default: float) -> float:
        return default if value is None else float(self.renderer.render(value, variables) or 0)

    def _quiet_flag(self, value: Any) -> bool:
        """A flag that is looked at after the step is over: a template that cannot be rendered counts as false."""
        if value is None or isinstance(value, bool):
            return bool(value)
        try:
            return self._flag(value, self._variables())
        except CleanslateError as error:
            self.done.warnings.append(str(error))
            return False

    def _check(self, variables: Variables) -> bool:
        if self.words.check_mode is None:
            return self.world.check
        return self._flag(self.words.check_mode, variables)

    def _when(self, variables: Variables) -> bool:
        return self.renderer.condition(list(self.words.when), variables)

    def _false_condition(self, variables: Variables) -> Any:
        for condition in self.words.when:
            if not self.renderer.condition(condition, variables):
                return str(condition)
        return None

    def _delegate(self, variables: Variables) -> str | None:
        if self.words.delegate_to is None:
            return None
        name = self.renderer.render(self.words.delegate_to, variables)
        if name is OMIT or name is None or name == "":
            return None
        self.done.delegate = str(name)
        return str(name)

    def _environment(self, variables: Variables) -> dict[str, str]:
        merged: dict[str, str] = {}
        for layer in self.words.environment:
            found = self.renderer.render(layer, variables)
            if found is None or found is OMIT:
                continue
            if not isinstance(found, Mapping):
                raise StepFailed(f"environment must be a mapping of names to values, not {found!r:.60}")
            merged |= {str(name): "" if value is None else str(value) for name, value in found.items()}
        return merged

    def _arguments(self, variables: Variables) -> dict[str, Any]:
        """The step's arguments, rendered; those that are `omit` left out; module_defaults below, `**` merged in."""
        merged: dict[str, Any] = {}
        for layer in self.words.module_defaults:
            defaults = self.renderer.render(layer, variables)
            for name in (self.step.type, f"ansible.builtin.{self.step.type}"):
                merged |= dict((defaults or {}).get(name) or {})
        whole = self.renderer.render(self.step.args.get("**"), variables)
        if isinstance(whole, Mapping):
            merged |= dict(whole)
        elif whole is not None:
            raise StepFailed(f"args must come out as a mapping, not {whole!r:.60}")
        for name, value in self.step.args.items():
            if name == "**":
                continue
            if "{" in name:  # set_fact's names may be templates
                name = self.renderer.render(SourceText(name, self.step.origin), variables)
            merged[name] = value if name in self.type.unrendered else self.renderer.render(value, variables)
        return {str(name): value for name, value in merged.items() if value is not OMIT}

    def _attempts(self, variables: Variables) -> int:
        """How often the step may be tried: `retries: 2` is three tries; `until` alone is four, as in Ansible."""
        if self.words.retries is None:
            return 4 if self.words.until else 1
        return max(0, int(self.renderer.render(self.words.retries, variables))) + 1

    def _again(self, result: Result, extra: Mapping[str, Any] | None) -> bool:
        if result.status in (Status.UNKNOWN, Status.SKIPPED) or lost_lease(result):
            return False
        if not self.words.until:
            return result.failed and self.words.retries is not None
        return not self.renderer.condition(list(self.words.until), self._seeing(result, extra))

    def _seeing(self, result: Result, extra: Mapping[str, Any] | None) -> Variables:
        """The variables with this result registered, as changed_when, failed_when and until see them."""
        layer = dict(extra or {})
        if self.words.register:
            layer[self.words.register] = result.data
        return self._variables(layer)

    def _judge(self, result: Result, extra: Mapping[str, Any] | None) -> None:
        """Let changed_when and failed_when have their say."""
        if result.status in (Status.UNREACHABLE, Status.UNKNOWN, Status.SKIPPED):
            if result.status is Status.UNKNOWN and self.words.changed_when == (False,):
                result.data["changed"] = False
            return
        if self.words.changed_when is not None:
            changed = self.renderer.condition(list(self.words.changed_when), self._seeing(result, extra))
            result.data["changed"] = changed
            if not result.failed:
                result.status = Status.CHANGED if changed else Status.OK
        if self.words.failed_when is not None:
            failed = self.renderer.condition(list(self.words.failed_when), self._seeing(result, extra))
            result.data["failed_when_result"] = failed
            result.data["failed"] = failed
            if failed:
                result.status = Status.FAILED
            elif result.status is Status.FAILED:
                result.status = Status.CHANGED if result.data.get("changed") else Status.OK


def lost_lease(result: Result) -> bool:
    """Whether a step was refused because somebody else holds the machine."""
    return result.failed and result.exit_code == LeaseHeld.exit_code


def _skipped(condition: Any) -> Result:
    data: dict[str, Any] = {"changed": False, "skipped": True, "skip_reason": "Conditional result was False"}
    if condition is not None:
        data["false_condition"] = condition
    return Result(Status.SKIPPED, data)


def _failed(error: CleanslateError) -> Result:
    data: dict[str, Any] = {"failed": True, "changed": False, "msg": error.what}
    if isinstance(error, StepFailed):
        data |= error.data
    if isinstance(error.origin, Origin):
        data["origin"] = str(error.origin)
    status = Status.FAILED
    if isinstance(error, Interrupted):
        data["interrupted"] = True
    if error.exit_code == 4:
        status, data["unreachable"] = Status.UNREACHABLE, True
    return Result(status, data, exit_code=error.exit_code if error.exit_code != 64 else 2, fix=error.fix)


def _combine(results: list[Result]) -> Result:
    """One result for a loop, with Ansible's fields."""
    data: dict[str, Any] = {
        "results": [result.data for result in results],
        "changed": any(result.data.get("changed") for result in results),
    }
    failures = [result for result in results if result.failed]
    unknown = [result for result in results if result.status is Status.UNKNOWN]
    skipped = [result for result in results if result.status is Status.SKIPPED]
    diffs = [diff for result in results for diff in result.diffs]
    if failures:
        data |= {"failed": True, "msg": "One or more items failed"}
        lost = next((one for one in failures if one.status is Status.UNREACHABLE), None)
        worst = lost or failures[0]
        if lost:
            data["unreachable"] = True
        return Result(worst.status, data, diffs, exit_code=max(one.exit_code for one in failures), fix=worst.fix)
    data["msg"] = "All items completed"
    if unknown:
        return Result(Status.UNKNOWN, data, diffs)
    if len(skipped) == len(results):
        data |= {"skipped": True, "msg": "All items skipped" if results else "No items in the list"}
        if not results:
            data["skipped_reason"] = data["msg"]
        return Result(Status.SKIPPED, data, diffs)
    data["skipped"] = False
    return Result(Status.CHANGED if data["changed"] else Status.OK, data, diffs)


def _extended(items: list[Any], index: int) -> dict[str, Any]:
    """`ansible_loop` of loop_control's extended."""
    last = len(items) - 1
    found: dict[str, Any] = {
        "allitems": items,
        "index": index + 1,
        "index0": index,
        "revindex": last - index + 1,
        "revindex0": last - index,
        "first": index == 0,
        "last": index == last,
        "length": len(items),
    }
    if index:
        found["previtem"] = items[index - 1]
    if index < last:
        found["nextitem"] = items[index + 1]
    return found


def _short(label: Any) -> str:
    """A loop item as one line of at most 100 characters."""
    text = str(label).replace("\n", "\\n")
    return text if len(text) <= 100 else text[:97] + "..."
