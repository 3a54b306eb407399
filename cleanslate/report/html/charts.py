"""Bars over time and plots of memory, as plain HTML and SVG that scale with the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cleanslate.dataclass import dataclass
from cleanslate.report.html.markup import Html, chip, gib, join, seconds, tag
from cleanslate.report.story import GpuMachine, Reading, RunStory

_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
_MOST_TICKS = 7
_MOST_HOSTS = 30  # that get bars; those with a failure come first
_MOST_UNREAD = 5  # failed readings that are told
_MOST_MARKS = 40  # readings that are shown as points
_WIDTH, _HEIGHT = 300.0, 60.0


@dataclass(frozen=True)
class Bar:
    """One row: what, from when to when (seconds from the axis' start), and how it ended."""

    what: str
    begin: float
    end: float
    status: str
    target: str | None = None
    """The id of the element with more about it."""
    end_words: Html | None = None


def bars(rows: Sequence[Bar], length: float) -> Html:
    """Rows of bars below one axis of `length` seconds."""
    length = max(length, 0.001)
    tick = next((one for one in _TICKS if length / one <= _MOST_TICKS), _TICKS[-1])
    shown = (
        tag("span", _at(place), class_="at", style=f"left:{place / length * 100:.2f}%")
        for place in _places(length, tick)
    )
    axis = tag(
        "div",
        tag("span", class_="what"),
        tag("div", *shown, class_="lane"),
        tag("span", class_="end"),
        class_="row axis",
    )
    return tag(
        "div", axis, [_row(row, length) for row in rows], class_="gantt", style=f"--tick:{tick / length * 100:.3f}%"
    )


def _places(length: float, tick: float) -> Iterator[float]:
    place = 0.0
    while place <= length * 0.97:
        yield place
        place += tick


def _at(place: float) -> str:
    if place < 60:
        return f"{place:g} s"
    minutes, rest = divmod(round(place), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02d} h"
    return f"{minutes}:{rest:02d}" if rest else f"{minutes} min"


def _row(row: Bar, length: float) -> Html:
    left = min(max(0.0, row.begin / length * 100), 100.0)
    width = max(0.0, min(row.end / length * 100, 100.0) - left)
    told = f"{row.what}: {row.status}, {seconds(row.end - row.begin)}, from {seconds(row.begin)}"
    bar = tag("span", class_=f"bar {row.status}", style=f"left:{left:.2f}%;width:{width:.2f}%", title=told)
    name = tag("a", row.what, href=f"#{row.target}", class_="what", title=row.what) if row.target else None
    name = name or tag("span", row.what, class_="what", title=row.what)
    return tag("div", name, tag("div", bar, class_="lane"), row.end_words or _end(row), class_="row")


def _end(row: Bar) -> Html:
    return tag("span", tag("span", seconds(row.end - row.begin), class_="took"), chip(row.status), class_="end")


def timeline(story: RunStory) -> Html:
    """The steps of each host as bars."""
    length = story.ended - story.started
    numbers = {id(step): number for number, step in enumerate(story.steps)}
    hosts = sorted(story.hosts, key=lambda host: not any(one.bad for _, one in story.of_host(host)))
    parts: list[Html] = []
    for host in hosts[:_MOST_HOSTS]:
        rows = [
            Bar(
                step.name,
                one.started - story.started,
                one.ended - story.started,
                one.shown_status,
                f"s{numbers[id(step)]}",
            )
            for step, one in story.of_host(host)
            if one.shown_status != "skipped"
        ]
        skipped = sum(one.shown_status == "skipped" for _, one in story.of_host(host))
        more = f", {skipped} skipped" if skipped else ""
        parts.append(tag("h3", host, " ", tag("small", f"{len(rows)} step{'' if len(rows) == 1 else 's'}{more}")))
        parts.append(bars(rows, length))
    if len(hosts) > _MOST_HOSTS:
        parts.append(tag("p", f"and {len(hosts) - _MOST_HOSTS} more hosts without a failure here", class_="soft"))
    return tag("section", tag("h2", "Timeline"), parts)


def gpu_memory(story: RunStory) -> Html | None:
    """Memory of each GPU over the run, as far as steps and samples have read it."""
    parts: list[Html] = []
    for machine in story.machines:
        if not machine.series and not machine.unread:
            continue
        readings = max((len(points) for points in machine.series.values()), default=0)
        times = "one reading" if readings == 1 else f"up to {readings} readings"
        parts.append(tag("h3", ", ".join(machine.hosts), " ", tag("small", times)))
        parts.append(tag("div", list(_plots(story, machine)), class_="plots"))
        parts += [
            tag("p", f"not read at {seconds(at - story.started)}: {why}", class_="soft")
            for at, why in machine.unread[:_MOST_UNREAD]
        ]
    return tag("section", tag("h2", "GPU memory"), parts) if parts else None


def _plots(story: RunStory, machine: GpuMachine) -> Iterator[Html]:
    """All GPUs together where only that was read, then each on one scale."""
    single = [mib for index, points in machine.series.items() if index is not None for _, mib in points]
    top = max((*machine.totals.values(), *single, 1.0))
    last = max((points[-1][0] for index, points in machine.series.items() if index is not None), default=0.0)
    for index in sorted(machine.series, key=lambda one: (one is not None, one or 0)):
        points = machine.series[index]
        if index is None and points[-1][0] <= last:
            continue
        whole = index is None
        total = sum(machine.totals.values()) if whole else machine.totals.get(index or 0)
        yield _plot(story, index, points, total, max(total or 1.0, *(mib for _, mib in points)) if whole else top)


def _plot(story: RunStory, index: int | None, points: Sequence[Reading], total: float | None, top: float) -> Html:
    length = max(story.ended - story.started, 0.001)
    places = [
        ((at - story.started) / length * _WIDTH, _HEIGHT - 1 - mib / max(top, 1.0) * (_HEIGHT - 5))
        for at, mib in points
    ]
    line = f"M{places[0][0]:.1f} {places[0][1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in places[1:])
    area = f"{line}V{_HEIGHT:.1f}H{places[0][0]:.1f}Z"
    marks = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places) if len(places) <= _MOST_MARKS else ""
    most = max(mib for _, mib in points)
    name = "all GPUs" if index is None else f"GPU {index}"
    of = f" of {gib(total)}" if total else ""
    svg = tag(
        "svg",
        tag("path", d=area, class_="area"),
        tag("path", d=line, class_="edge", vector_effect="non-scaling-stroke"),
        tag("path", d=marks, class_="mark", vector_effect="non-scaling-stroke") if marks else None,
        viewBox=f"0 0 {_WIDTH:.0f} {_HEIGHT:.0f}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"{name}: at most {gib(most)}{of}, at the end {gib(points[-1][1])}",
    )
    caption = tag("figcaption", tag("b", name), tag("span", f"at most {gib(most)}{of}", class_="soft"))
    end = tag("span", tag("span", "0 s"), tag("span", seconds(length)), class_="end")
    return tag("figure", caption, svg, end, class_="plot")


def start_up(story: RunStory) -> Html | None:
    """The phases of servers that were waited for."""
    parts: list[Html] = []
    for step in story.steps:
        for one in step.hosts.values():
            phases = _phases(one.result.get("phases"))
            if not phases:
                continue
            length = sum(took for _, took in phases)
            rows, begin = [], 0.0
            for name, took in phases:
                words = tag("span", tag("span", seconds(took), class_="took"), class_="end")
                rows.append(Bar(name, begin, begin + took, "phase", None, words))
                begin += took
            parts.append(tag("h3", one.host, " ", tag("small", join([step.name, f" ({seconds(length)})"]))))
            parts.append(bars(rows, length))
    return tag("section", tag("h2", "Server start-up"), parts) if parts else None


def _phases(given: object) -> list[tuple[str, float]]:
    if not isinstance(given, list):
        return []
    found = [(str(one.get("name")), one.get("seconds")) for one in given if isinstance(one, dict)]
    return [(name, float(took)) for name, took in found if isinstance(took, int | float)]
