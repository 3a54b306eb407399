"""A run put together from its events, for reports that are read afterwards: who did what when, with which outcome."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.model import Event

BAD = ("failed", "unreachable")
_BLOCK = 0  # of a block's position: its block part; 1 is rescue, 2 always
RUNNING = "running"
"""The status of what had not ended when the last event was written."""


@dataclass
class HostStory:
    """A step on one host. Times are seconds since the epoch; `items` are those of a loop, `told` its progress."""

    host: str
    started: float
    ended: float
    status: str = RUNNING
    delegate: str | None = None
    ignored: bool = False
    rescued: bool = False
    resumed: bool = False
    position: list[int] = field(default_factory=list)
    result: Mapping[str, Any] = field(default_factory=dict)
    args: Mapping[str, Any] | None = None
    diffs: list[Mapping[str, Any]] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    fix: str | None = None
    items: list[Mapping[str, Any]] = field(default_factory=list)
    told: list[tuple[float, str]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)  # files in the record

    @property
    def shown_status(self) -> str:
        """What people read: an ignored failure is `ignored`, one that a block rescued is `rescued`."""
        return "ignored" if self.ignored else "rescued" if self.rescued else self.status

    @property
    def bad(self) -> bool:
        """Whether it failed, and nothing took that back."""
        return self.status in BAD and not (self.ignored or self.rescued)

    @property
    def seconds(self) -> float:
        """How long it took."""
        return max(0.0, self.ended - self.started)


@dataclass
class StepStory:
    """One start of a step, on the hosts that went together."""

    number: int
    name: str
    type: str
    origin: str
    role: str | None
    play: int
    handler: bool
    started: float
    hosts: dict[str, HostStory] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether it failed on a host."""
        return any(one.bad for one in self.hosts.values())


Reading = tuple[float, float]
"""When (seconds since the epoch), and how many MiB were in use."""


@dataclass
class GpuMachine:
    """The GPUs of one machine, seen from one host or several (a container and its hypervisor).

    `series`: GPU index -> readings in order; index None is the sum of all GPUs. `totals`: index -> MiB that it has.
    `unread`: when a reading failed, and why.
    """

    hosts: list[str]
    uuids: set[str] = field(default_factory=set)
    series: dict[int | None, list[Reading]] = field(default_factory=dict)
    totals: dict[int, float] = field(default_factory=dict)
    unread: list[tuple[float, str]] = field(default_factory=list)


@dataclass
class RunStory:
    """The whole run."""

    facts: Mapping[str, Any]
    started: float = 0.0
    ended: float = 0.0
    plays: list[str] = field(default_factory=list)
    steps: list[StepStory] = field(default_factory=list)
    warnings: list[tuple[str, str | None]] = field(default_factory=list)
    machines: list[GpuMachine] = field(default_factory=list)

    @property
    def hosts(self) -> list[str]:
        """The hosts that did anything, in the order in which they began."""
        return list(dict.fromkeys(host for step in self.steps for host in step.hosts))

    def of_host(self, host: str) -> Iterator[tuple[StepStory, HostStory]]:
        """What a host did, in order."""
        for step in self.steps:
            if host in step.hosts:
                yield step, step.hosts[host]


def tell_story(facts: Mapping[str, Any], events: Iterable[Event]) -> RunStory:
    """Put a run together; `facts` are those of its run.json."""
    story = RunStory(facts, started=float(facts.get("started_at") or 0))
    current: dict[int, StepStory] = {}
    for event in events:
        if story.ended == 0.0 and event.kind == "run.started":
            story.started = event.at
        story.ended = max(story.ended, event.at)
        _take(story, current, event)
    for step in story.steps:
        for one in step.hosts.values():
            if one.status == RUNNING:
                one.ended = story.ended
    return story


def _take(story: RunStory, current: dict[int, StepStory], event: Event) -> None:
    data = event.data
    if event.kind == "play.started":
        story.plays.append(str(data["name"]))
    elif event.kind == "run.warning":
        story.warnings.append((str(data["text"]), data.get("origin")))
    elif event.kind == "step.started":
        current[data["step"]] = _step(data, len(story.plays) - 1, event.at)
        story.steps.append(current[data["step"]])
    elif event.kind == "host.rescued":
        _rescue(story, str(data["host"]), [*data["position"], _BLOCK])
    elif event.kind == "host.gpus":
        _sample(story, str(data["host"]), data.get("gpus"), event.at)
        if data.get("failed"):
            _machine(story, str(data["host"]), set()).unread.append((event.at, str(data["failed"])))
    elif data.get("step") in current and "host" in data:
        step = current[data["step"]]
        one = step.hosts.setdefault(str(data["host"]), HostStory(str(data["host"]), step.started, event.at))
        _take_of_host(story, one, event)


def _rescue(story: RunStory, host: str, below: list[int]) -> None:
    """A block has rescued the failures in it."""
    for step, one in story.of_host(host):
        if step.play == len(story.plays) - 1 and one.status in BAD and one.position[: len(below)] == below:
            one.rescued = True


def _step(data: Mapping[str, Any], play: int, at: float) -> StepStory:
    step = StepStory(
        number=data["step"],
        name=str(data["name"]),
        type=str(data["type"]),
        origin=str(data["origin"]),
        role=data.get("role"),
        play=play,
        handler=bool(data.get("handler")),
        started=at,
    )
    step.hosts = {str(host): HostStory(str(host), at, at) for host in data["hosts"]}
    return step


def _take_of_host(story: RunStory, one: HostStory, event: Event) -> None:
    data = event.data
    if event.kind == "host.progress":
        if data.get("text"):
            one.told.append((event.at, str(data["text"])))
        _sample_of_facts(story, one.host, data.get("facts") or {}, event.at)
    elif event.kind == "host.retry":
        one.told.append((event.at, f"try {data.get('attempt')}: {data.get('text')}"))
    elif event.kind == "host.kept" and data.get("file"):
        one.kept.append(str(data["file"]))
    elif event.kind == "item.finished":
        one.items.append(data)
        one.diffs += data.get("diffs") or []
    elif event.kind == "host.finished":
        _end(one, data, event.at)
        _sample(story, str(data.get("delegate") or one.host), one.result.get("gpus"), event.at)


def _end(one: HostStory, data: Mapping[str, Any], at: float) -> None:
    one.status, one.ended = str(data["status"]), at
    one.started = max(one.started, at - float(data.get("seconds") or 0.0))
    one.delegate, one.ignored, one.fix = data.get("delegate"), bool(data.get("ignored")), data.get("fix")
    one.position, one.resumed = list(data.get("position") or ()), bool(data.get("resumed"))
    one.result, one.args = data.get("result") or {}, data.get("args")
    one.diffs = list(data.get("diffs") or ()) or one.diffs
    one.changes = [str(text) for text in data.get("changes") or ()]
    one.warnings = [str(text) for text in data.get("warnings") or ()]


def _machine(story: RunStory, host: str, uuids: set[str]) -> GpuMachine:
    """The machine whose GPUs a host sees; a reading of the same GPUs from another host belongs to it too."""
    for machine in story.machines:
        if host in machine.hosts or uuids & machine.uuids:
            break
    else:
        machine = GpuMachine([])
        story.machines.append(machine)
    machine.uuids |= uuids
    if host not in machine.hosts:
        machine.hosts.append(host)
    return machine


def _sample(story: RunStory, host: str, gpus: Any, at: float) -> None:
    """Take what a step, or a sample, says of GPU memory."""
    if not isinstance(gpus, list):
        return
    read = [gpu for gpu in gpus if isinstance(gpu, Mapping) and isinstance(gpu.get("index"), int)]
    if not read:
        return
    machine = _machine(story, host, {str(gpu["uuid"]) for gpu in read if gpu.get("uuid")})
    for gpu in read:
        if _is_number(gpu.get("used_mib")):
            machine.series.setdefault(gpu["index"], []).append((at, float(gpu["used_mib"])))
        if _is_number(gpu.get("total_mib")):
            machine.totals[gpu["index"]] = float(gpu["total_mib"])


def _sample_of_facts(story: RunStory, host: str, facts: Mapping[str, Any], at: float) -> None:
    """Take what a wait says of GPU memory: of single GPUs, or of all together."""
    if _is_number(facts.get("gpu_mib")):
        _machine(story, host, set()).series.setdefault(None, []).append((at, float(facts["gpu_mib"])))
    used = facts.get("used_mib")
    if isinstance(used, Mapping):
        for index, mib in used.items():
            if str(index).isdigit() and _is_number(mib):
                _machine(story, host, set()).series.setdefault(int(index), []).append((at, float(mib)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
