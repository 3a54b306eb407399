"""Finds what a step gave in an earlier run, for steps that compare with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cleanslate.record.reading import find_run, read_events, read_run, walk_runs

_FARTHEST = 500  # runs that are looked through, the newest first


def earlier_result(
    runs: Path, wanted: str, step: str, kind: str, host: str, *, besides: str
) -> tuple[str, Mapping[str, Any]] | None:
    """(run id, result fields) of the last time that a step of this name and type ended well on a host, or None.

    `last` and `last-good` mean the newest run (that ended well) which has it; any other reference one run, and
    InputError where there is none. `besides` is the run that asks; runs in check mode measured nothing.
    """
    for folder in _candidates(runs, wanted, besides, host):
        found = _result(folder, step, kind, host)
        if found is not None:
            return folder.name, found
    return None


def _candidates(runs: Path, wanted: str, besides: str, host: str) -> Iterator[Path]:
    if wanted not in ("last", "last-good"):
        yield find_run(runs, wanted)
        return
    for looked, run in enumerate(walk_runs(runs)):
        if looked >= _FARTHEST:
            return
        if run.id == besides or (run.hosts and host not in run.hosts):
            continue
        if (wanted == "last" or run.outcome == "ok") and not read_run(run.folder).get("check"):
            yield run.folder


def _result(folder: Path, step: str, kind: str, host: str) -> Mapping[str, Any] | None:
    """The result of the step in one run; of several of this name, the last one."""
    meant: set[Any] = set()
    found = None
    ended_well = ((host, "ok"), (host, "changed"))
    for event in read_events(folder):
        data = event.data
        if event.kind == "step.started":  # a step that is included again has its number again, and another name
            is_it = (data.get("name"), data.get("type")) == (step, kind)
            (meant.add if is_it else meant.discard)(data.get("step"))
        elif event.kind == "host.finished" and (data.get("host"), data.get("status")) in ended_well:
            found = data.get("result") if data.get("step") in meant else found
    return found
