"""`inv runs` and `inv show`: what was done, from the records."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from cleanslate.cli.settings import Settings
from cleanslate.record import find_run, list_runs, read_events, read_run


def show_runs(settings: Settings, count: int, *, as_json: bool) -> int:
    """List runs, the newest first."""
    found = list_runs(settings.runs)[: count if count > 0 else None]
    if as_json:
        print(json.dumps([{**asdict(one), "folder": str(one.folder)} for one in found], indent=2))
        return 0
    if not found:
        print(f"there are no runs in {settings.runs}")
        return 0
    width = max(len(one.id) for one in found)
    for one in found:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(one.started_at))
        outcome = one.outcome or "not ended"
        took = f"{one.seconds:8.1f}s" if one.seconds is not None else " " * 9
        how = "  check" if one.check else ""
        print(f"{one.id:<{width}}  {when}  {took}  {outcome:<11}  {Path(one.playbook).stem}  {one.user}{how}")
    return 0


def show_run(settings: Settings, wanted: str, *, as_json: bool, verbosity: int) -> int:
    """Show one run again; as JSON, its facts and all of its events."""
    folder = find_run(settings.runs, wanted)
    facts = read_run(folder)
    if as_json:
        events = [{"at": event.at, "kind": event.kind, **event.data} for event in read_events(folder)]
        print(json.dumps({"run": facts, "events": events}, indent=2, ensure_ascii=False))
        return 0
    from cleanslate.report import reporter

    print(f"{facts['playbook']}  by {facts.get('user')} on {facts.get('controller')}")
    commit = facts.get("commit")
    if commit:
        changed = " with uncommitted changes" if facts.get("uncommitted") else ""
        print(f"commit {commit}{changed}")
    tell = reporter("plain", sys.stdout, verbosity=verbosity, show_diff=True)
    for event in read_events(folder):
        if event.kind != "host.progress":
            tell(event)
    if facts.get("outcome") is None:
        print("\nthis run has not ended in order: it is still going, or its controller was killed")
    return 0
