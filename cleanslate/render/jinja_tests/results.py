"""Tests of what a step registered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleanslate.errors import RenderError


def _result(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise RenderError(
            f'"is {name}" asks about a registered result, and this is {type(value).__name__}',
            fix="write the name given to register:, without .stdout or the like",
        )
    return value


def failed(value: Any) -> bool:
    """Whether the step failed."""
    return bool(_result(value, "failed").get("failed", False))


def succeeded(value: Any) -> bool:
    """Whether the step did not fail (skipped ones did not)."""
    return not _result(value, "success").get("failed", False)


def changed(value: Any) -> bool:
    """Whether the step, or one item of its loop, changed something."""
    result = _result(value, "changed")
    if "changed" not in result and isinstance(items := result.get("results"), list):
        return any(bool(item.get("changed", False)) for item in items if isinstance(item, Mapping))
    return bool(result.get("changed", False))


def skipped(value: Any) -> bool:
    """Whether the step was skipped."""
    return bool(_result(value, "skipped").get("skipped", False))


def unreachable(value: Any) -> bool:
    """Whether the host could not be reached."""
    return bool(_result(value, "unreachable").get("unreachable", False))


def reachable(value: Any) -> bool:
    """Whether the host could be reached."""
    return not _result(value, "reachable").get("unreachable", False)


def timedout(value: Any) -> bool:
    """Whether the step's time ran out."""
    limit = _result(value, "timedout").get("timedout", False)
    return bool(limit.get("period", False) if isinstance(limit, Mapping) else limit)


def started(value: Any) -> bool:
    """Whether an asynchronous job has started."""
    return bool(_result(value, "started").get("started", 1))


def finished(value: Any) -> bool:
    """Whether an asynchronous job has ended; what was never asynchronous has."""
    return bool(_result(value, "finished").get("finished", 1))


FUNCTIONS = {
    "change": changed,
    "changed": changed,
    "failed": failed,
    "failure": failed,
    "finished": finished,
    "reachable": reachable,
    "skip": skipped,
    "skipped": skipped,
    "started": started,
    "succeeded": succeeded,
    "success": succeeded,
    "successful": succeeded,
    "timedout": timedout,
    "unreachable": unreachable,
}
