"""What is written beside a step type (when, delegate_to, environment, until ...), rendered for one host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cleanslate.errors import CleanslateError, StepFailed
from cleanslate.model import Result, SourceText, Status, Step
from cleanslate.render import OMIT, free_names
from cleanslate.runner.outcome import lost_lease
from cleanslate.runner.scope import Frame, PlayScope
from cleanslate.steps.registry import names_of
from cleanslate.steps.spellings import as_flag

if TYPE_CHECKING:
    from cleanslate.render import Variables
    from cleanslate.runner.world import World
    from cleanslate.steps.contract import StepType


class StepWords:
    """The keywords and arguments of one step as one host sees them. `warn` takes what should be known besides."""

    def __init__(
        self,
        world: World,
        scope: PlayScope,
        step: Step,
        frame: Frame,
        host: str,
        kind: StepType,
        warn: Callable[[str], None],
    ) -> None:
        self.world = world
        self.scope = scope
        self.step = step
        self.frame = frame
        self.host = host
        self.type = kind
        self.keywords = step.keywords
        self.renderer = world.variables.renderer(step, frame)
        self._warn = warn

    def variables(self, extra: Mapping[str, Any] | None = None) -> Variables:
        """The variables that the step sees, with what is given above them."""
        layers = [extra] if extra else []
        return self.world.variables.of_step(self.host, self.scope, self.step, self.frame, layers)

    def name(self) -> str:
        """The step's name as its events tell it."""
        if self.step.name is None or "{" not in self.step.name:
            return self.step.title
        try:
            return str(self.renderer.render(self.step.name, self.variables()))
        except CleanslateError:
            return self.step.title

    def flag(self, value: Any, variables: Variables) -> bool:
        """A keyword that is yes or no; None is no. StepFailed for anything else."""
        if value is None:
            return False
        rendered = self.renderer.render(value, variables)
        found = as_flag(rendered)
        if not isinstance(found, bool):
            raise StepFailed(f"{rendered!r} is neither true nor false", fix="write yes or no")
        return found

    def number(self, value: Any, variables: Variables, default: float) -> float:
        """A keyword that is a number."""
        return default if value is None else float(self.renderer.render(value, variables) or 0)

    def quiet_flag(self, value: Any) -> bool:
        """A flag that is looked at after the step is over: a template that cannot be rendered counts as false."""
        if value is None or isinstance(value, bool):
            return bool(value)
        try:
            return self.flag(value, self.variables())
        except CleanslateError as error:
            self._warn(str(error))
            return False

    def check(self, variables: Variables) -> bool:
        """Whether this step only foretells."""
        if self.keywords.check_mode is None:
            return self.world.check
        return self.flag(self.keywords.check_mode, variables)

    def diff(self, variables: Variables) -> bool:
        """Whether what changes is to be shown."""
        if self.keywords.diff is None:
            return self.world.settings.diff
        return self.flag(self.keywords.diff, variables)

    def when(self, variables: Variables) -> bool:
        """Whether the conditions hold."""
        return self.renderer.condition(list(self.keywords.when), variables)

    def false_condition(self, variables: Variables) -> Any:
        """The first condition that does not hold, as written."""
        for condition in self.keywords.when:
            if not self.renderer.condition(condition, variables):
                return str(condition)
        return None

    def delegate(self, variables: Variables) -> str | None:
        """The machine that the step is delegated to."""
        if self.keywords.delegate_to is None:
            return None
        name = self.renderer.render(self.keywords.delegate_to, variables)
        if name is OMIT or name is None or name == "":
            return None
        return str(name)

    def environment(self, variables: Variables) -> dict[str, str]:
        """The environment variables of play, block and step."""
        merged: dict[str, str] = {}
        for layer in self.keywords.environment:
            found = self.renderer.render(layer, variables)
            if found is None or found is OMIT:
                continue
            if not isinstance(found, Mapping):
                raise StepFailed(f"environment must be a mapping of names to values, not {found!r:.60}")
            merged |= {str(name): "" if value is None else str(value) for name, value in found.items()}
        return merged

    def arguments(self, variables: Variables) -> dict[str, Any]:
        """The step's arguments, rendered; those that are `omit` left out; module_defaults below, `**` merged in."""
        merged: dict[str, Any] = {}
        for layer in self.keywords.module_defaults:
            defaults = self.renderer.render(layer, variables)
            grouped = any(str(name).startswith("group/") for name in defaults or ())
            for name in (*(self.type.groups() if grouped else ()), *names_of(self.type)):
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

    def attempts(self, variables: Variables) -> int:
        """How often the step may be tried: `retries: 2` is three tries; `until` alone is four, as in Ansible."""
        if self.keywords.retries is None:
            return 4 if self.keywords.until else 1
        return max(0, int(self.renderer.render(self.keywords.retries, variables))) + 1

    def delay(self, variables: Variables) -> float:
        """Seconds between two tries."""
        return float(self.renderer.render(5 if self.keywords.delay is None else self.keywords.delay, variables))

    def again(self, result: Result, extra: Mapping[str, Any] | None) -> bool:
        """Whether the step is to be tried once more after this result."""
        if result.status in (Status.UNKNOWN, Status.SKIPPED) or lost_lease(result):
            return False
        if not self.keywords.until:
            return result.failed and self.keywords.retries is not None
        return not self.renderer.condition(list(self.keywords.until), self.seeing(result, extra))

    def seeing(self, result: Result, extra: Mapping[str, Any] | None) -> Variables:
        """The variables with this result registered, as changed_when, failed_when and until see them."""
        layer = dict(extra or {})
        if self.keywords.register:
            layer[self.keywords.register] = result.data
        return self.variables(layer)

    def judge(self, result: Result, extra: Mapping[str, Any] | None) -> None:
        """Let changed_when and failed_when have their say."""
        if result.status in (Status.UNREACHABLE, Status.UNKNOWN, Status.SKIPPED):
            if result.status is Status.UNKNOWN and self.keywords.changed_when == (False,):
                result.data["changed"] = False
            return
        if self.keywords.changed_when is not None:
            changed = self.renderer.condition(list(self.keywords.changed_when), self.seeing(result, extra))
            result.data["changed"] = changed
            if not result.failed:
                result.status = Status.CHANGED if changed else Status.OK
        if self.keywords.failed_when is not None:
            failed = self.renderer.condition(list(self.keywords.failed_when), self.seeing(result, extra))
            result.data["failed_when_result"] = failed
            result.data["failed"] = failed
            if failed:
                result.status = Status.FAILED
            elif result.status is Status.FAILED:
                result.status = Status.CHANGED if result.data.get("changed") else Status.OK

    def names_used(self) -> set[str]:
        """Every variable that the step names."""
        words = self.keywords
        names = free_names(self.step.args) | free_names(words.loop) | free_names(list(words.vars))
        for conditions in (words.when, words.until, words.changed_when or (), words.failed_when or ()):
            for condition in conditions:
                names |= free_names(condition, condition=True)
        for name in self.type.unrendered:
            names |= free_names(self.step.args.get(name), condition=True)
        return names
