"""What events tell of targets, times and measures; of a killed run it is worked out again from its events."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cleanslate.model import Event

_SYSTEM = {
    "os": ("distribution", "distribution_version"),
    "kernel": ("kernel",),
    "machine": ("architecture",),
    "python": ("python_version",),
}
_FROM_LOG = {
    "tok/s": re.compile(r"gen throughput \(token/s\): ([\d.]+)"),
    "accept length": re.compile(r"accept len: ([\d.]+)"),
}
_MOST_METRICS = 200
_TELLING = frozenset({"ansible_facts", "driver", "kernel_driver", "gpus", "engine", "metrics"})
"""Fields of results from which something is learnt; most results have none of them."""


class Observed:
    """A listener that sums up a run.

    `targets`: host -> os, kernel, driver, gpus (index, name, uuid, total_mib), engines. `steps`: what was run, when,
    how long, and on each host with which outcome. `metrics`: host -> name -> number, the last one counts.
    """

    def __init__(self) -> None:
        self.targets: dict[str, dict[str, Any]] = {}
        self.steps: list[dict[str, Any]] = []
        self.metrics: dict[str, dict[str, float]] = {}
        self._play = -1
        self._open: dict[int, dict[str, Any]] = {}

    def __call__(self, event: Event) -> None:
        """Take what an event tells."""
        data = event.data
        if event.kind == "play.started":
            self._play = int(data["play"])
        elif event.kind == "step.started":
            self._step_started(event)
        elif event.kind == "host.finished":
            self._host_finished(event)
        elif event.kind == "host.gpus":
            self._learn_gpus(str(data["host"]), data)
        elif event.kind == "item.finished":
            self._learn(str(data["host"]), data["step"], data["result"])

    def facts(self) -> dict[str, Any]:
        """What goes into run.json."""
        return {"targets": self.targets, "steps": self.steps, "metrics": self.metrics}

    def _step_started(self, event: Event) -> None:
        data = event.data
        get = data.get
        # A step that runs in several batches, or once more in a loop of includes, is one entry for each time.
        step = self._open[data["step"]] = {
            "step": get("step"),
            "name": get("name"),
            "type": get("type"),
            "origin": get("origin"),
            "role": get("role"),
            "section": get("section"),
            "play": self._play,
            "started_at": event.at,
            "seconds": 0.0,
            "hosts": {},
        }
        self.steps.append(step)

    def _host_finished(self, event: Event) -> None:
        data = event.data
        step = self._open.get(data["step"])
        if step is not None:
            status = "ignored" if data.get("ignored") else data["status"]
            step["hosts"][data["host"]] = {"status": status, "seconds": data["seconds"]}
            step["seconds"] = round(max(0.0, event.at - step["started_at"]), 3)
        if not isinstance(data["result"].get("results"), list):
            self._learn(str(data.get("delegate") or data["host"]), data["step"], data["result"])

    def _learn(self, host: str, step: int, result: Any) -> None:
        known = self._open.get(step) or {}
        if not isinstance(result, dict) or (_TELLING.isdisjoint(result) and known.get("type") != "wait_healthy"):
            return
        self._learn_system(host, result)
        self._learn_gpus(host, result)
        if isinstance(result.get("engine"), str) and result["engine"]:
            engines = self._target(host).setdefault("engines", {})
            version = result.get("engine_version")
            engines.setdefault(result["engine"], version)
            engines[result["engine"]] = version or engines[result["engine"]]
        numbers = _metrics(known, result)
        if numbers:
            so_far = self.metrics.setdefault(host, {})
            so_far.update(numbers if len(so_far) < _MOST_METRICS else {})

    def _learn_system(self, host: str, result: Mapping[str, Any]) -> None:
        facts = result.get("ansible_facts")
        if not isinstance(facts, Mapping):
            return
        for key, names in _SYSTEM.items():
            found = [str(facts[key]) for name in names for key in (f"ansible_{name}", name) if facts.get(key)]
            if found:
                self._target(host)[key] = " ".join(dict.fromkeys(found))

    def _learn_gpus(self, host: str, result: Mapping[str, Any]) -> None:
        for key in ("driver", "kernel_driver"):
            if isinstance(result.get(key), str):
                self._target(host)[key] = result[key]
        gpus = result.get("gpus")
        if isinstance(gpus, list) and gpus and all(isinstance(gpu, Mapping) and gpu.get("uuid") for gpu in gpus):
            keys = ("index", "name", "uuid", "total_mib")
            self._target(host)["gpus"] = [{key: gpu.get(key) for key in keys} for gpu in gpus]

    def _target(self, host: str) -> dict[str, Any]:
        return self.targets.setdefault(host, {})


def _flat(given: Any, before: str = "") -> Iterator[tuple[str, float]]:
    """Numbers by name, of mappings within mappings; of a measure that knows its median, that."""
    if isinstance(given, Mapping) and _is_number(given.get("median")):
        yield before, given["median"]
    elif isinstance(given, Mapping):
        for name, value in given.items():
            words = str(name).replace("_", " ")
            yield from _flat(value, f"{words} at {before}" if before else words)
    elif _is_number(given):
        yield before, given


def _metrics(step: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, float]:
    """The numbers by which runs are compared: `metrics` of any result, and what wait_healthy saw."""
    found: dict[str, float] = {}
    given = result.get("metrics")
    if isinstance(given, Mapping):
        found |= {f"{step.get('name')}: {name}": value for name, value in _flat(given.get("levels", given))}
    step_type = step.get("type")
    if step_type == "wait_healthy" and not result.get("failed"):
        if _is_number(result.get("seconds")):
            found["start-up, seconds"] = result["seconds"]
        found |= {f"start-up {name}, seconds": seconds for name, seconds in phases_of(result)}
        line = str(result.get("last_line") or "")
        found |= {name: float(match[1]) for name, pattern in _FROM_LOG.items() if (match := pattern.search(line))}
    return found


def phases_of(result: Mapping[str, Any]) -> list[tuple[str, float]]:
    """The start-up phases of a wait_healthy result: name and seconds."""
    phases = result.get("phases")
    if not isinstance(phases, list):
        return []
    return [
        (str(phase.get("name")), float(phase["seconds"]))
        for phase in phases
        if isinstance(phase, Mapping) and _is_number(phase.get("seconds"))
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def observe(events: Iterable[Event]) -> Observed:
    """Sum up the events of a record."""
    seen = Observed()
    for event in events:
        seen(event)
    return seen
