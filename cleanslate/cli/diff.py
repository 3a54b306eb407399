"""`inv diff A B`: what two runs did not share, for people and for programs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from cleanslate.cli.settings import Settings
from cleanslate.record import find_run, read_run
from cleanslate.record.compare import compare
from cleanslate.record.differences import Comparison, Difference

_LONG = 100  # characters of a value that are shown
_METRIC = 0.01  # a smaller change of a measure is not told to people


def show_diff(settings: Settings, before: str, after: str, *, as_json: bool) -> int:
    """Print the comparison of two runs; 0 whether they differ or not."""
    folders = find_run(settings.runs, before), find_run(settings.runs, after)
    found = compare(*folders, repository=settings.root)
    facts = [read_run(folder) for folder in folders]
    if as_json:
        named = [{key: one.get(key) for key in ("id", "playbook", "started_at", "user", "outcome")} for one in facts]
        print(json.dumps({"before": named[0], "after": named[1], **found.as_json()}, indent=2, ensure_ascii=False))
        return 0
    for name, one in zip(("before", "after "), facts, strict=True):
        print(f"{name}  {_head(one)}")
    for line in lines_of(found):
        print(line)
    return 0


def _head(facts: dict[str, Any]) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(facts.get("started_at") or 0))
    who = f"{facts.get('user')} on {facts.get('controller')}"
    return f"{facts['id']}  {when}  {facts.get('outcome') or 'not ended'}  {who}"


def lines_of(found: Comparison) -> Iterator[str]:
    """The comparison as lines."""
    sections = (
        ("What was different", found.causes),
        ("What followed from it", found.follows),
        ("What came of it", found.outcome),
    )
    for title, differences in sections:
        if differences or title == "What was different":
            yield ""
            yield title
        for one in differences:
            yield from _lines(one)
        if title == "What was different" and not differences:
            yield "  nothing that the records know of"
    numbers = [*(_timing(one) for one in found.timings), *(_metric(one) for one in found.metrics if _differs(one))]
    if numbers:
        yield ""
        yield "In numbers"
        yield from numbers


def _lines(one: Difference) -> Iterator[str]:
    where = f"  ({', '.join(one.hosts)})" if one.hosts else ""
    before, after = (_short(value, one.kind) for value in (one.before, one.after))
    name = (
        ""
        if one.kind in ("commit", "uncommitted", "playbook", "outcome") and one.name.startswith(one.kind)
        else one.name
    )
    label = f"  {one.kind:<11} " + (f"{name}: " if name else "")
    if len(label) + len(before) + len(after) + len(where) > 150:
        yield f"{label.rstrip()}{where}"
        yield f"{'':<14}- {before}"
        yield f"{'':<14}+ {after}"
    else:
        yield f"{label}{before} -> {after}{where}"
    for note in one.notes:
        yield f"{'':<14}{note}"


def _short(value: Any, kind: str) -> str:
    if kind in ("commit", "uncommitted", "file") and isinstance(value, str) and " " not in value:
        return value[:12]
    if kind == "outcome" and value is None:
        return "not ended"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONG else f"{text[: _LONG - 3]}..."


def _timing(one: dict[str, Any]) -> str:
    where = f"  ({one['host']})" if one["host"] else ""
    return f"  time        {one['name']}: {one['before']:.1f} s -> {one['after']:.1f} s{where}"


def _differs(one: dict[str, Any]) -> bool:
    return bool(abs(one["after"] - one["before"]) > _METRIC * max(abs(one["before"]), abs(one["after"])))


def _metric(one: dict[str, Any]) -> str:
    part = f" ({(one['after'] / one['before'] - 1) * 100:+.1f} %)" if one["before"] else ""
    return f"  measure     {one['name']}: {one['before']:g} -> {one['after']:g}{part}  ({one['host']})"
