"""Runs one step type's generator on one target: makes its changes, or in check mode foretells them."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Mapping
from dataclasses import field
from typing import Any, BinaryIO

from cleanslate.connect.target import Target
from cleanslate.dataclass import dataclass
from cleanslate.errors import (
    CallFailed,
    CleanslateError,
    DeadlinePassed,
    InputError,
    Interrupted,
    NoPython,
    OutcomeUnknown,
    StepFailed,
)
from cleanslate.errors import Unreachable as UnreachableError
from cleanslate.model import Answer, Diff, Result, Status
from cleanslate.steps.behaviour import Change, Flow, Outcome, SetFacts, StepContext
from cleanslate.steps.contract import StepArguments, StepType, WrongArguments, accept

_LOSSES = 3  # connections that are lost during one step before it gives up
_RACES = 20  # as many hosts may edit one file at once before the last of them gives up


@dataclass
class Applied:
    """A step's result, and what it asked the runner to do."""

    result: Result
    flow: Flow | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)


def validate(step_type: StepType, values: Mapping[str, Any]) -> StepArguments:
    """Give the frozen arguments for rendered values; InputError names every wrong one."""
    try:
        return accept(step_type.arguments, values)
    except WrongArguments as error:
        problems = [_sentence(step_type.name, detail) for detail in error.details]
        raise InputError("; ".join(problems)) from None


def _sentence(step: str, detail: Any) -> str:
    """One sentence a person can act on, for one of pydantic's findings."""
    where = ".".join(str(part) for part in detail["loc"] if not str(part).startswith("function-"))
    if detail["type"] == "missing":
        return f'{step} needs the argument "{where}"'
    if detail["type"] == "extra_forbidden":
        return f'{step} has no argument "{where}"'
    message = str(detail["msg"]).removeprefix("Value error, ")
    shown = repr(detail.get("input"))
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return f'{step}: argument "{where}" is {shown}: {message[:1].lower()}{message[1:]}'


def apply_step(
    step_type: StepType,
    arguments: StepArguments,
    context: StepContext,
    target: Target | None,
    *,
    check: bool,
) -> Applied:
    """Drive the generator to its end. Every failure becomes a result; only programming errors pass through.

    A write that was refused because the file changed after it was read (another host's step, delegated to the same
    machine) is tried again from the reading on: nothing was done yet, and the second look sees the other's change.
    So is a change whose outcome is unknown, since the connection was lost, where the step type finds out by its second
    look what came of the first; what had been under way has ended before that look (connect/agent_target.py).
    """
    lost: list[Change] = []
    for again in reversed(range(_RACES)):
        tried = _Tried(altered=any(change.alters for change in lost))
        try:
            return _with_lost(_drive(step_type, arguments, context, target, tried, check=check), lost)
        except CallFailed as error:
            if error.kind != "changed" or tried.altered or not again:
                return _with_lost(Applied(_failure(error, tried, check=check), changes=tried.summaries), lost)
        except OutcomeUnknown as error:
            if check or not step_type.repeatable or len(lost) >= _LOSSES or not tried.changes:
                return _with_lost(Applied(_failure(error, tried, check=check), changes=tried.summaries), lost)
            lost.append(tried.changes[-1])
            context.warn(f"{error.what}: looked again what has become of it ({tried.changes[-1].summary})")
        except CleanslateError as error:
            return _with_lost(Applied(_failure(error, tried, check=check), changes=tried.summaries), lost)
    raise AssertionError("the last try always returns")


def _with_lost(applied: Applied, lost: list[Change]) -> Applied:
    """What was under way when the connection was lost may well have been done: then the step has changed something."""
    result, altering = applied.result, [change for change in lost if change.alters]
    if altering:
        result.data["changed"] = True
        result.status = Status.CHANGED if result.status is Status.OK else result.status
        result.diffs = result.diffs or [diff for change in altering for diff in change.diffs]
        applied.changes = list(dict.fromkeys([*(change.summary for change in altering), *applied.changes]))
    return applied


@dataclass
class _Tried:
    """The changes that were asked for; `altered` once one of them may really have been made."""

    changes: list[Change] = field(default_factory=list)
    altered: bool = False

    @property
    def summaries(self) -> list[str]:
        """What was asked for, for people."""
        return [change.summary for change in self.changes]

    def add(self, change: Change, failure: CleanslateError | None) -> None:
        """Note a change and how its call ended: what the agent refused or could not be reached for was not made."""
        self.changes.append(change)
        if change.alters and not isinstance(failure, CallFailed | UnreachableError | NoPython):
            self.altered = True


def _drive(
    step_type: StepType,
    arguments: StepArguments,
    context: StepContext,
    target: Target | None,
    tried: _Tried,
    *,
    check: bool,
) -> Applied:
    behaviour = step_type.behave(arguments, context)
    answer: Answer | None = None
    failure: CleanslateError | None = None
    try:
        while True:
            change = behaviour.throw(failure) if failure else behaviour.send(answer)  # type: ignore[arg-type]
            failure = None
            foretold = _foretold(change) if check else None
            if check and foretold is None:
                changes = [*tried.changes, change]
                return Applied(_unknown(changes), changes=[c.summary for c in changes])
            try:
                answer = Answer(dict(foretold or {})) if check else _make(change, context, target)
            except CleanslateError as error:
                failure = error  # the generator may know better; if not, it comes straight back out
            tried.add(change, failure)
    except StopIteration as stop:
        outcome: Outcome = stop.value
    finally:
        behaviour.close()
    return _finish(outcome, tried)


def _foretold(change: Change) -> Mapping[str, Any] | None:
    return change.predicted() if callable(change.predicted) else change.predicted


def _make(change: Change, context: StepContext, target: Target | None) -> Answer:
    assert target is not None, "a step that runs on the controller only cannot change a target"
    deadline = change.deadline or context.deadline
    if change.call:
        try:
            return _call(change, context, target, deadline)
        except NoPython:
            if change.plain is None:
                raise
    assert change.plain is not None, "a change needs a call or a plain command line"
    return target.plain(change.plain, deadline=deadline, stdin=change.blob or b"")


def _call(change: Change, context: StepContext, target: Target, deadline: float) -> Answer:
    def call(sink: BinaryIO | None = None) -> Answer:
        return target.call(
            change.call,
            change.arguments,
            deadline=deadline,
            blob=change.blob,
            sink=sink,
            on_progress=lambda facts: context.progress(**{"text": "", **facts}),
            parts=change.parts,
        )

    if change.save is None:
        return call()
    part = change.save.with_name(f".{change.save.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        change.save.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as sink:
            answer = call(sink)
        part.replace(change.save)
    except OSError as error:
        raise StepFailed(f"{change.save} cannot be written here: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):  # it is gone already, or its folder never was one
            part.unlink()
    return answer


def _finish(outcome: Outcome, tried: _Tried) -> Applied:
    changes = tried.changes
    changed = tried.altered if outcome.changed is None else outcome.changed
    data = {"changed": changed, "failed": outcome.failed, **outcome.data}
    status = Status.CHANGED if changed else Status.OK
    if outcome.skipped:
        status, data["skipped"] = Status.SKIPPED, True
    if outcome.failed:
        status = Status.FAILED
    diffs: list[Diff] = [diff for change in changes for diff in change.diffs] + list(outcome.diffs)
    facts = dict(outcome.facts)
    if isinstance(outcome.flow, SetFacts) and outcome.flow.layer == "facts":
        data.setdefault("ansible_facts", dict(outcome.flow.variables))
    elif facts:
        data.setdefault("ansible_facts", facts)
    return Applied(Result(status, data, diffs), outcome.flow, facts, [change.summary for change in changes])


def _unknown(changes: list[Change]) -> Result:
    """Check mode met a change whose outcome it cannot foretell: say so, and what would have been done."""
    said = f"cannot be foretold: {changes[-1].summary}"
    data = {"changed": False, "failed": False, "skipped": True, "msg": said, **changes[-1].unforetold}
    return Result(Status.UNKNOWN, data, [diff for change in changes for diff in change.diffs])


def _failure(error: CleanslateError, tried: _Tried, *, check: bool) -> Result:
    data: dict[str, Any] = {"failed": True, "msg": error.what}
    data["changed"] = tried.altered and not check
    status = Status.FAILED
    if isinstance(error, UnreachableError | OutcomeUnknown):
        status, data["unreachable"] = Status.UNREACHABLE, True
    if isinstance(error, OutcomeUnknown):
        data["outcome_unknown"] = True
    elif isinstance(error, Interrupted):
        data["interrupted"] = True
    elif isinstance(error, DeadlinePassed):
        data["timedout"] = True
    elif isinstance(error, CallFailed):
        data.update({"kind": error.kind, **error.details})
    elif isinstance(error, StepFailed):
        data.update(error.data)
    diffs = [diff for change in tried.changes for diff in change.diffs]
    return Result(status, data, diffs, exit_code=error.exit_code, fix=error.fix)
