"""`inv report`: a run as a page for people, or as JUnit XML for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cleanslate.cli.settings import Settings
from cleanslate.errors import InputError
from cleanslate.record import find_run, read_events, read_run, walk_runs
from cleanslate.record.compare import compare
from cleanslate.record.differences import Difference
from cleanslate.record.observing import observe
from cleanslate.report.html import LastGood, html_report
from cleanslate.report.junit import junit_report
from cleanslate.report.story import tell_story

_LONG = 200  # characters of a value in the page's table


def report(settings: Settings, wanted: str, *, html: str | None, junit: str | None) -> int:
    """Write the reports that were asked for; `-` is standard output."""
    if not (html or junit):
        raise InputError("nothing to write", fix="say --html FILE or --junit FILE; - is standard output")
    folder = find_run(settings.runs, wanted)
    facts = read_run(folder)
    if "steps" not in facts:  # it goes on, or its controller was killed
        facts |= observe(read_events(folder, whole=False)).facts()
    story = tell_story(facts, read_events(folder))
    if html:
        _write(html, html_report(story, _last_good(settings, folder, facts)))
    if junit:
        _write(junit, junit_report(story))
    return 0


def _write(place: str, text: str) -> None:
    if place == "-":
        sys.stdout.write(text)
        return
    path = Path(place).expanduser()
    try:
        path.write_text(text, "utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {(error.strerror or str(error)).lower()}") from None
    print(path)


def _last_good(settings: Settings, folder: Path, facts: Mapping[str, Any]) -> LastGood | None:
    """The newest run of the same playbook before this one that went well, and how this one differs from it."""
    for run in walk_runs(settings.runs):
        earlier = run.order < float(facts.get("order") or facts.get("started_at") or 0) and run.folder != folder
        if earlier and run.outcome == "ok" and not run.check and run.name == Path(str(facts["playbook"])).stem:
            found = compare(run.folder, folder, repository=settings.root)
            return LastGood(
                id=run.id,
                started_at=run.started_at,
                seconds=run.seconds,
                differences=[_words(one) for one in found.causes],
                measures=[(one["name"], one["host"], one["before"], one["after"]) for one in found.metrics],
            )
    return None


def _words(one: Difference) -> tuple[str, str, str, str]:
    hosts = f" ({', '.join(one.hosts)})" if one.hosts else ""
    notes = f": {'; '.join(one.notes)}" if one.notes else ""
    short = 12 if one.kind in ("commit", "uncommitted", "file") else _LONG
    values = [
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in (one.before, one.after)
    ]
    before, after = (_cut(value, short) for value in values)
    return one.kind, f"{one.name}{hosts}{notes}", before, after


def _cut(text: str, most: int) -> str:
    if most < _LONG:
        return text if " " in text else text[:most]
    return text if len(text) <= most else f"{text[:most]}..."
