"""What an earlier run has done on each host, from its events: up to the first step without a final result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any
from weakref import WeakKeyDictionary

from cleanslate.dataclass import dataclass
from cleanslate.model import Event, Play, Playbook, Role, Step, walk
from cleanslate.runner.bus import plain
from cleanslate.steps.registry import step_names, step_type

_UNCHANGING = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True)
class StepFacts:
    """A step of the earlier run: what its step.started event tells."""

    name: str
    type: str
    origin: str
    digest: str


@dataclass
class Entry:
    """What became of one step on one host. `again`: it observed the world, and must be looked at anew."""

    step: StepFacts
    data: Mapping[str, Any]
    again: bool = False

    @property
    def failed(self) -> bool:
        """Whether this ended the host's way, unless a block rescued it."""
        return self.data["status"] in ("failed", "unreachable") and not self.data["ignored"]


@dataclass
class HostPast:
    """One host's way: what is final, in order, and the step that was under way when nothing more was told."""

    done: list[Entry] = field(default_factory=list)
    open: StepFacts | None = None
    items: list[str] = field(default_factory=list)  # of the open step's loop, those that had been done
    alters: bool = False  # the open step may have changed something already
    why: str = ""  # what is known of the open step's end
    failed: bool = False  # it ended with a failure: what came after that is to be run again
    acted: bool = False  # it changed something itself, beside what an earlier run had done


class _Way:
    """Follows one host through the events."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.failures: list[tuple[int, tuple[int, ...]]] = []  # index of what was final before, and the place
        self.begun: StepFacts | None = None
        self.items: list[tuple[str, bool]] = []

    def fail(self, position: Iterable[int], before: int) -> None:
        self.failures.append((before, tuple(position)))

    def rescue(self, position: Iterable[int]) -> None:
        block = tuple(position)
        self.failures = [one for one in self.failures if one[1][: len(block)] != block]

    def enter(self, position: Iterable[int]) -> None:
        """A step of a block's rescue part has run: the failure that led there is settled, whatever becomes of it."""
        here = tuple(position)
        self.failures = [one for one in self.failures if not _in_rescue_of(here, one[1])]

    def past(self) -> HostPast:
        if not self.failures:
            past = HostPast(self.entries, self.begun, [label for label, _ in self.items])
            past.alters = self.begun is not None and not _looks_only(self.begun, {})
            past.why = "it was under way when the run was lost"
        else:
            end = min(before for before, _ in self.failures)
            past = HostPast(self.entries[:end], failed=True)
            if end < len(self.entries) and self.entries[end].failed:
                self._open(past, self.entries[end])
        past.acted = any(_has_changed(entry) for entry in self.entries if not entry.data.get("resumed"))
        _mark(past)
        return past

    @staticmethod
    def _open(past: HostPast, failed: Entry) -> None:
        result = failed.data["result"]
        past.items = [str(one.get("_ansible_item_label")) for one in result.get("results") or () if one.get("changed")]
        unknown = any(result.get(key) for key in ("outcome_unknown", "interrupted"))
        past.alters = not _looks_only(failed.step, failed.data) and (unknown or bool(result.get("changed")))
        if unknown or past.items:
            past.open = failed.step
            past.why = str(result.get("msg") or "how it ended is not known")


def _in_rescue_of(here: tuple[int, ...], failed: tuple[int, ...]) -> bool:
    """Whether a place is in the rescue part (1) of a block in whose first part (0) something failed."""
    for one, other in zip(here, failed, strict=False):
        if one != other:
            return (one, other) == (1, 0)
    return False


def past_of(events: Iterable[Event]) -> dict[str, HostPast]:
    """Every host's way through a run, from its events in order."""
    steps: dict[int, StepFacts] = {}
    ways: dict[str, _Way] = {}
    for event in events:
        data = event.data
        if event.kind == "step.started":
            facts = StepFacts(data["name"], data["type"], data["origin"], data.get("digest", ""))
            steps[data["step"]] = facts
            for host in data["hosts"]:
                way = ways.setdefault(host, _Way())
                way.begun, way.items = facts, []
        elif event.kind == "item.finished":
            ways.setdefault(data["host"], _Way()).items.append((data["item"], data["status"] == "changed"))
        elif event.kind == "host.finished":
            way = ways.setdefault(data["host"], _Way())
            entry = Entry(steps[data["step"]], data)
            way.enter(data.get("position") or ())
            if entry.failed:
                way.fail(data.get("position") or (), len(way.entries))
            way.entries.append(entry)
            way.begun, way.items = None, []
        elif event.kind == "host.stopped":
            way = ways.setdefault(data["host"], _Way())
            way.fail(data["position"], len(way.entries))
            way.begun = None
        elif event.kind == "host.rescued":
            ways.setdefault(data["host"], _Way()).rescue(data["position"])
    return {host: way.past() for host, way in ways.items()}


def joined(later: Mapping[str, HostPast], earlier: Mapping[str, HostPast]) -> dict[str, HostPast]:
    """What a run and the one that it went on with have done together.

    The later one may have been lost before it had gone over all that was done before: the rest of that still counts.
    """
    return {host: _join(later.get(host), earlier.get(host)) for host in dict.fromkeys((*later, *earlier))}


def _join(later: HostPast | None, earlier: HostPast | None) -> HostPast:
    if later is None or earlier is None:
        return later or earlier or HostPast()
    left = list(earlier.done)
    for entry in later.done:
        same = next((one for one in left if one.step.digest == entry.step.digest), None)
        if same is not None:
            left.remove(same)
    if not left and (later.failed or later.open is not None or len(later.done) > len(earlier.done)):
        return later
    if left and later.failed and later.acted:  # its rescue has changed what the rest of the earlier way was good for
        return later
    past = replace(earlier, done=[replace(entry, again=False) for entry in (*later.done, *left)])
    _mark(past)
    return past


def _mark(past: HostPast) -> None:
    """Mark what observed the world after the last change: that must be looked at again, all before it has served."""
    if past.alters:
        return
    for entry in reversed(past.done):
        if _has_changed(entry):
            return
        if step_type(entry.step.type).observes and entry.data["status"] == "ok":
            entry.again = _looks_only(entry.step, entry.data)


def _has_changed(entry: Entry) -> bool:
    return entry.data["status"] == "changed" and not _looks_only(entry.step, entry.data)


def _looks_only(step: StepFacts, data: Mapping[str, Any]) -> bool:
    """Whether a step changes nothing on its target."""
    if step.type not in step_names():
        return False
    kind = step_type(step.type)
    if step.type == "uri":
        return str((data.get("args") or {}).get("method", "GET")).upper() in _UNCHANGING
    return kind.only_reads or kind.observes or not kind.on_target


# --------------------------------------------------------------------------- which step is which


_digests: WeakKeyDictionary[Step, str] = WeakKeyDictionary()


def digest_of(step: Step) -> str:
    """What makes a step the same in two versions of a playbook: its type, name, arguments and keywords as written."""
    known = _digests.get(step)
    if known is not None:
        return known
    words = {key: value for key, value in vars(step.keywords).items() if value not in (None, ())}
    role = step.role.name if step.role else None
    text = json.dumps([step.type, step.name, role, plain(step.args), plain(words)], sort_keys=True, default=str)
    _digests[step] = digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return digest


def steps_of(playbook: Playbook) -> Iterator[Step]:
    """Every step that is known before the run, in the order in which plays come to them; handlers last in each."""
    for play in playbook.plays:
        yield from walk(play.pre_tasks)
        for role in play.roles:
            yield from _role_steps(role)
        yield from walk((*play.tasks, *play.post_tasks))
        yield from _handlers(play)


def _role_steps(role: Role) -> Iterator[Step]:
    for dependency in role.dependencies:
        yield from _role_steps(dependency)
    yield from walk(role.tasks)


def _handlers(play: Play) -> Iterator[Step]:
    waiting = list(play.roles)
    while waiting:
        role = waiting.pop()
        waiting += role.dependencies
        yield from walk(role.handlers)
    yield from walk(play.handlers)


def differences(past: Mapping[str, HostPast], before: Iterable[str], playbook: Playbook) -> list[str]:
    """What of the part that was done reads differently now, as sentences. `before`: the digests of its steps then."""
    known = set(before)
    now = list(steps_of(playbook))
    digests = [digest_of(step) for step in now]
    done = {entry.step.digest: entry.step for one in past.values() for entry in one.done if entry.step.digest in known}
    told = [
        f'step "{step.name}" ({step.origin}) was done, and has been changed or removed since'
        for digest, step in done.items()
        if digest not in digests
    ]
    last = max((index for index, digest in enumerate(digests) if digest in done), default=0)
    for step, digest in zip(now[:last], digests[:last], strict=True):
        if digest not in known and step.origin not in [handler.origin for handler in _all_handlers(playbook)]:
            told.append(f'step "{step.title}" ({step.origin}) is new or changed, and stands before what was done')
    return told


def _all_handlers(playbook: Playbook) -> list[Step]:
    return [step for play in playbook.plays for step in _handlers(play)]
