"""Finds and reads records, also of runs that were killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cleanslate.errors import InputError, suggest
from cleanslate.model import Event


@dataclass(frozen=True)
class RunSummary:
    """What `inv runs` lists of a run. `outcome` is None while it goes, or when it was killed."""

    id: str
    folder: Path
    playbook: str
    started_at: float
    outcome: str | None
    exit_code: int | None
    seconds: float | None
    check: bool
    user: str


def list_runs(runs: Path) -> list[RunSummary]:
    """All runs, the newest first; a folder that is no record is passed over."""
    if not runs.is_dir():
        return []
    found = [_summary(folder) for folder in sorted(runs.iterdir(), reverse=True) if (folder / "run.json").is_file()]
    return [summary for summary in found if summary is not None]


def _summary(folder: Path) -> RunSummary | None:
    try:
        facts = read_run(folder)
    except InputError:
        return None
    return RunSummary(
        id=str(facts.get("id", folder.name)),
        folder=folder,
        playbook=str(facts.get("playbook", "")),
        started_at=float(facts.get("started_at") or 0),
        outcome=facts.get("outcome"),
        exit_code=facts.get("exit_code"),
        seconds=facts.get("seconds"),
        check=bool(facts.get("check")),
        user=str(facts.get("user", "")),
    )


def read_run(folder: Path) -> dict[str, Any]:
    """The facts of a run. Raises InputError where run.json cannot be read."""
    path = folder / "run.json"
    try:
        facts = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    if not isinstance(facts, dict):
        raise InputError(f"{path} is not a run's record")
    return facts


def read_events(folder: Path) -> Iterator[Event]:
    """The events in order; a last line that was cut off by a crash ends them quietly."""
    with (folder / "events.jsonl").open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                data = json.loads(line)
            except ValueError:
                return
            yield Event(str(data.pop("kind")), data, float(data.pop("at")))


def find_run(runs: Path, wanted: str) -> Path:
    """The folder of a run: an id, a unique prefix of one, `last`, `last-good`, `last-failed`, or `PLAYBOOK@-N`."""
    summaries = list_runs(runs)
    if not summaries:
        raise InputError(f"there are no runs in {runs}")
    if "@" in wanted or wanted.startswith("last"):
        return _relative(summaries, wanted)
    exact = [summary for summary in summaries if summary.id == wanted]
    near = exact or [summary for summary in summaries if summary.id.startswith(wanted)]
    if len(near) == 1:
        return near[0].folder
    if near:
        ids = ", ".join(summary.id for summary in near[:3])
        raise InputError(f'"{wanted}" could be {len(near)} runs: {ids}{", ..." if len(near) > 3 else ""}')
    raise InputError(f'there is no run "{wanted}"', fix=suggest(wanted, [s.id for s in summaries]) or "see `inv runs`")


def _relative(summaries: list[RunSummary], wanted: str) -> Path:
    name, at, back = wanted.partition("@")
    chosen = summaries
    if at:
        if name:
            chosen = [summary for summary in summaries if Path(summary.playbook).stem == name]
        if not back.lstrip("-").isdigit():
            raise InputError(f'"{wanted}": after @ stands how far to go back, as in {name or "restart"}@-2')
        index = abs(int(back))
        index = index - 1 if index else 0
    else:
        keep = {"last": None, "last-good": True, "last-failed": False}
        if wanted not in keep:
            raise InputError(f'there is no run "{wanted}"', fix=suggest(wanted, keep))
        if keep[wanted] is not None:
            chosen = [one for one in summaries if one.outcome and (one.outcome == "ok") == keep[wanted]]
        index = 0
    if index >= len(chosen):
        raise InputError(f'there is no run "{wanted}": {len(chosen)} of the {len(summaries)} runs match')
    return chosen[index].folder
