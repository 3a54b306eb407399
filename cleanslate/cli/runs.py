"""`inv runs` and `inv show`: what was done, from the records."""

from __future__ import annotations

import fnmatch
import json
import re
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from cleanslate.cli.settings import Settings
from cleanslate.errors import InputError, suggest
from cleanslate.model import Event
from cleanslate.record import RunSummary, Wanted, find_run, list_runs, read_events, read_run

_END = {
    "going": "is still going; see inv attach",
    "not ended": "has not ended in order: its controller was killed, or it goes on another one; see inv resume",
}
_POINTS_TO = {"rerun_of": "again", "resume_of": "goes on with"}
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def show_runs(settings: Settings, wanted: Wanted, count: int, *, as_json: bool) -> int:
    """List runs, the newest first."""
    found = list_runs(settings.runs, wanted, count=count if count > 0 else None)
    if as_json:
        print(json.dumps([{**one.facts, "folder": str(one.folder)} for one in found], indent=2))
        return 0
    if not found:
        print(f"there are no {'such ' if wanted != Wanted() else ''}runs in {settings.runs}")
        return 0
    width = max(len(one.id) for one in found)
    print("\n".join(_row(one, width) for one in found))
    return 0


def _row(run: RunSummary, width: int) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.started_at))
    took = f"{run.seconds:8.1f}s" if run.seconds is not None else " " * 9
    hosts = ",".join(run.hosts[:2]) + (f",+{len(run.hosts) - 2}" if len(run.hosts) > 2 else "")
    outcome = run.outcome or _unended(run.folder)
    more = ["check"] if run.check else []
    more += [f"{words} {run.facts[key]}" for key, words in _POINTS_TO.items() if run.facts.get(key)]
    return f"{run.id:<{width}}  {when}  {took}  {outcome:<11}  " + "  ".join([hosts, run.user, *more])


def _unended(folder: Path) -> str:
    """How it is with a run that has no outcome."""
    from cleanslate.cli.resume import is_going

    return "going" if is_going(read_run(folder)) else "not ended"


def since_when(text: str, now: datetime | None = None) -> float:
    """Seconds since the epoch for `3h`, `2d`, `today`, `2026-01-31`, `2026-01-31 14:00`; InputError otherwise."""
    now = now or datetime.now()
    back = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip())
    if back:
        return now.timestamp() - float(back[1]) * _UNITS[back[2]]
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    days = {"today": midnight, "yesterday": midnight - timedelta(days=1)}
    try:
        return (days.get(text.strip()) or datetime.fromisoformat(text.strip())).timestamp()
    except ValueError:
        raise InputError(f'"{text}" is no time', fix='write 3h, 2d, today, 2026-01-31 or "2026-01-31 14:00"') from None


def show_run(
    settings: Settings, wanted: str, *, step: str | None, host: str | None, as_json: bool, verbosity: int
) -> int:
    """Show one run again, or some of its steps and hosts; as JSON, its facts and these events."""
    folder = find_run(settings.runs, wanted)
    facts = read_run(folder)
    events = list(chosen_events(read_events(folder), step, host))
    if as_json:
        told = [{"at": event.at, "kind": event.kind, **event.data} for event in events]
        print(json.dumps({"run": facts, "events": told}, indent=2, ensure_ascii=False))
        return 0
    from cleanslate.report import reporter

    if not (step or host):
        _print_head(facts)
    # Who asks for one step wants to see what it gave.
    tell = reporter("plain", sys.stdout, verbosity=max(verbosity, 1) if step else verbosity, show_diff=True)
    for event in events:
        if event.kind != "host.progress":
            tell(event)
        if step and event.data.get("args"):
            print(f"    called with {json.dumps(event.data['args'], ensure_ascii=False)}")
    if facts.get("outcome") is None:
        print(f"\nthis run {_END[_unended(folder)]}")
    return 0


def _print_head(facts: dict[str, Any]) -> None:
    print(f"{facts['playbook']}  by {facts.get('user')} on {facts.get('controller')}")
    commit = facts.get("commit")
    if commit:
        changed = " with uncommitted changes" if facts.get("uncommitted") else ""
        print(f"commit {commit}{changed}")
    for key, words in (("rerun_of", "the same again as"), ("resume_of", "goes on with")):
        if facts.get(key):
            print(f"{words} {facts[key]}")


def chosen_events(events: Iterator[Event], step: str | None, host: str | None) -> Iterator[Event]:
    """The events of steps (a number, a name, or a pattern) and hosts (a pattern); InputError where there are none."""
    names: dict[int, str] = {}
    hosts: set[str] = set()
    found = not (step or host)
    for event in events:
        data = event.data
        if event.kind == "step.started":
            names[data["step"]] = str(data["name"])
            hosts.update(data["hosts"])
        if not (step or host):
            yield event
        elif "step" in data and _is_step(step, data["step"], names) and _is_host(host, data):
            found = found or event.kind != "step.started"
            yield event
    if not found:
        _refuse(step, host, names, hosts)


def _is_step(wanted: str | None, number: int, names: dict[int, str]) -> bool:
    name = names.get(number, "")
    return wanted is None or wanted in (str(number), name) or fnmatch.fnmatchcase(name.lower(), wanted.lower())


def _is_host(wanted: str | None, data: Any) -> bool:
    told = [data["host"]] if "host" in data else data.get("hosts", ())
    return wanted is None or any(fnmatch.fnmatchcase(str(name), wanted) for name in told)


def _refuse(step: str | None, host: str | None, names: dict[int, str], hosts: set[str]) -> None:
    if step and not any(_is_step(step, number, names) for number in names):
        listed = "; ".join(f"{number} {name}" for number, name in list(names.items())[:20])
        raise InputError(
            f'the run has no step "{step}"', fix=suggest(step, names.values()) or f"it has: {listed or 'none'}"
        )
    known = sorted(hosts)
    fix = suggest(host or "", known) or f"it has: {', '.join(known[:20]) or 'none'}"
    raise InputError(f'the run has nothing of host "{host}" there', fix=fix)


def export_run(settings: Settings, wanted: str, file: str) -> int:
    """Write a run into one file, and say how to use it."""
    from cleanslate.record.export import ENDING, export_record

    folder = find_run(settings.runs, wanted)
    path = Path(file or f"{read_run(folder)['id']}{ENDING}").expanduser()
    export_record(folder, settings.root, path)
    print(f"{path}  (in another checkout: inv rerun {path.name})")
    return 0
