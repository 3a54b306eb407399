"""Compares what two runs did: arguments and outcomes of steps, times, measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cleanslate.record.differences import MISSING, Comparison, Difference, Roots, grouped, parts
from cleanslate.record.observing import observe
from cleanslate.record.reading import read_events

_SLOWER = 1.25  # how many times as long a step must take before that is told
_SECONDS = 0.5  # and how much longer at least
_Key = tuple[Any, ...]


def compare_outcomes(
    found: Comparison, left: dict[str, Any], right: dict[str, Any], before: Path, after: Path, roots: Roots
) -> None:
    """Add what followed in arguments, and what came of it, to a comparison."""
    steps = [_steps(facts, folder) for facts, folder in ((left, before), (right, after))]
    called = [_arguments(folder, roots) for folder in (before, after)]
    found.follows += grouped(list(_arguments_differ(*called)))
    found.outcome += _runs_differ(left, right)
    found.outcome += _steps_differ(*steps)
    found.timings = sorted(_timings(left, right, *steps), key=lambda one: -abs(one["after"] - one["before"]))
    found.metrics = list(_metrics(left, right, before, after))


def _steps(facts: dict[str, Any], folder: Path) -> dict[_Key, dict[str, Any]]:
    """The steps of a run by what they are, not where they stand: a line more above makes no other step."""
    steps = facts.get("steps")
    if steps is None:
        steps = observe(read_events(folder, whole=False)).steps
    seen: Counter[_Key] = Counter()
    found = {}
    for step in steps:
        key = _key(step, seen)
        found[key] = step
    return found


def _key(step: Mapping[str, Any], seen: Counter[_Key]) -> _Key:
    key = tuple(step.get(name) for name in ("role", "section", "type", "name"))
    seen[key] += 1
    return (*key, seen[key])


def _arguments(folder: Path, roots: Roots) -> dict[tuple[_Key, str, Any], Any]:
    """(step, host, item) -> arguments as rendered."""
    seen: Counter[_Key] = Counter()
    keys: dict[int, _Key] = {}
    found = {}
    for event in read_events(folder, whole=False):
        data = event.data
        if event.kind == "step.started":
            keys[data["step"]] = _key(data, seen)
        elif event.kind in ("host.finished", "item.finished") and data.get("args") and data["step"] in keys:
            place = (keys[data["step"]], str(data["host"]), roots.without(data.get("item")))
            found[place] = roots.without(data["args"])
    return found


def _arguments_differ(
    before: Mapping[tuple[_Key, str, Any], Any], after: Mapping[tuple[_Key, str, Any], Any]
) -> Iterator[tuple[str, str, Difference]]:
    for place, args in before.items():
        if place in after:
            key, host, item = place
            where = f"{key[3]} ({item})" if item is not None else str(key[3])
            for path, old, new in parts(args, after[place]):
                name = f"{where}: {path}"
                yield host, name, Difference("argument", name, old, new)


def _runs_differ(left: dict[str, Any], right: dict[str, Any]) -> Iterator[Difference]:
    if left.get("outcome") != right.get("outcome"):
        yield Difference("outcome", "outcome", left.get("outcome"), right.get("outcome"))
    hosts = [set(facts.get("hosts") or facts.get("recap") or ()) for facts in (left, right)]
    for name in sorted(hosts[0] ^ hosts[1]):
        was, now = ("took part" if name in side else MISSING for side in hosts)
        yield Difference("outcome", f"host {name}", was, now)


def _steps_differ(before: Mapping[_Key, Any], after: Mapping[_Key, Any]) -> Iterator[Difference]:
    """Steps that only one run had, and hosts on which a step ended otherwise."""
    found: list[tuple[str, str, Difference]] = []
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        if old is None or new is None:
            yield Difference("step", str(key[3]), MISSING if old is None else "run", MISSING if new is None else "run")
            continue
        for host in sorted({*old["hosts"], *new["hosts"]}):
            was, now = (side["hosts"].get(host, {}).get("status", MISSING) for side in (old, new))
            if was != now:
                found.append((host, str(key), Difference("status", str(key[3]), was, now)))
    yield from grouped(found)


def _timings(
    left: dict[str, Any], right: dict[str, Any], before: Mapping[_Key, Any], after: Mapping[_Key, Any]
) -> Iterator[dict[str, Any]]:
    """The whole run always, and the steps that took notably longer or shorter."""
    if left.get("seconds") is not None and right.get("seconds") is not None:
        yield {"name": "the whole run", "host": None, "before": left["seconds"], "after": right["seconds"]}
    for key, old in before.items():
        for host, was in old["hosts"].items():
            now = after.get(key, {}).get("hosts", {}).get(host)
            if now is None:
                continue
            low, high = sorted((was["seconds"], now["seconds"]))
            if high - low >= _SECONDS and high >= low * _SLOWER:
                yield {"name": key[3], "host": host, "before": was["seconds"], "after": now["seconds"]}


def _metrics(left: dict[str, Any], right: dict[str, Any], before: Path, after: Path) -> Iterator[dict[str, Any]]:
    measured = []
    for facts, folder in ((left, before), (right, after)):
        kept = facts.get("metrics")
        measured.append(observe(read_events(folder, whole=False)).metrics if kept is None else kept)
    for host, numbers in measured[0].items():
        for name, was in numbers.items():
            now = measured[1].get(host, {}).get(name)
            if now is not None:
                yield {"name": name, "host": host, "before": was, "after": now}
