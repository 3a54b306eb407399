"""What a step leads to on a host: its result, what it asks of the runner, and how errors and loops become results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import CleanslateError, Interrupted, LeaseHeld, Origin, StepFailed
from cleanslate.model import Result, Status
from cleanslate.steps.behaviour import Flow


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


def lost_lease(result: Result) -> bool:
    """Whether a step was refused because somebody else holds the machine."""
    return result.failed and result.exit_code == LeaseHeld.exit_code


def skipped(condition: Any) -> Result:
    """A step whose condition does not hold."""
    data: dict[str, Any] = {"changed": False, "skipped": True, "skip_reason": "Conditional result was False"}
    if condition is not None:
        data["false_condition"] = condition
    return Result(Status.SKIPPED, data)


def failed(error: CleanslateError) -> Result:
    """A step that an error ended."""
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


def combine(results: list[Result]) -> Result:
    """One result for a loop, with Ansible's fields."""
    data: dict[str, Any] = {
        "results": [result.data for result in results],
        "changed": any(result.data.get("changed") for result in results),
    }
    failures = [result for result in results if result.failed]
    unknown = [result for result in results if result.status is Status.UNKNOWN]
    left_out = [result for result in results if result.status is Status.SKIPPED]
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
    if len(left_out) == len(results):
        data |= {"skipped": True, "msg": "All items skipped" if results else "No items in the list"}
        if not results:
            data["skipped_reason"] = data["msg"]
        return Result(Status.SKIPPED, data, diffs)
    data["skipped"] = False
    return Result(Status.CHANGED if data["changed"] else Status.OK, data, diffs)
