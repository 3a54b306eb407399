"""A run as one self-contained page: for a colleague, a ticket, or paper; nothing in it is loaded from elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path, PurePosixPath
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.report.html.charts import gpu_memory, start_up, timeline
from cleanslate.report.html.details import failures, host, steps
from cleanslate.report.html.markup import Html, chip, seconds, tag, text
from cleanslate.report.story import HostStory, RunStory, StepStory

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_MOST_FAILURES = 10
_MOST_DIFFERENCES = 60


@dataclass(frozen=True)
class LastGood:
    """The last run of the same playbook that went well, compared with this one.

    `differences` are (kind, what, before, after); `measures` are (name, host, before, now).
    """

    id: str
    started_at: float
    seconds: float | None
    differences: Sequence[tuple[str, str, str, str]] = ()
    measures: Sequence[tuple[str, str, float, float]] = field(default_factory=tuple)


def html_report(story: RunStory, last_good: LastGood | None = None) -> str:
    """The page. Everything that came from hosts or sources is escaped."""
    facts = story.facts
    name = PurePosixPath(str(facts.get("playbook") or "run")).stem
    outcome = str(facts.get("outcome") or "not ended")
    parts = [
        _header(story, name, outcome),
        _went_wrong(story),
        _warnings(story),
        _recap(facts),
        timeline(story),
        gpu_memory(story),
        start_up(story),
        _measures(facts, last_good),
        _differences(last_good),
        steps(story),
        tag(
            "footer",
            f"made by cleanslate {facts.get('versions', {}).get('cleanslate', '')} from the record {facts.get('id')}",
        ),
    ]
    style = Path(__file__).with_name("page.css").read_text("utf-8")
    head = [
        Html('<meta charset="utf-8">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{text(_POLICY)}">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="referrer" content="no-referrer">'),
        tag("title", f"{outcome}: {name}, {_when(facts.get('started_at'))}"),
        Html(f"<style>{style}</style>"),
    ]
    page = tag("html", tag("head", head), tag("body", tag("main", parts)), lang="en")
    return f"<!doctype html>\n{page}\n"


def _when(at: Any) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(at or 0)))


def _header(story: RunStory, name: str, outcome: str) -> Html:
    facts = story.facts
    took = facts.get("seconds")
    ended = (
        f"took {seconds(took)}" if took is not None else f"last sign of it after {seconds(story.ended - story.started)}"
    )
    how = " (check: nothing was changed)" if facts.get("check") else ""
    status = outcome if outcome.isalpha() else "running"
    rows = list(_facts(facts))
    return tag(
        "header",
        tag("h1", name, " ", chip(status, outcome)),
        tag("p", f"{_when(facts.get('started_at'))}, {ended}{how}", class_="soft"),
        tag("dl", [(tag("dt", key), tag("dd", value)) for key, value in rows], class_="facts"),
    )


def _facts(facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "run", tag("code", facts.get("id"))
    yield "by", f"{facts.get('user')} on {facts.get('controller')}"
    if facts.get("argv"):
        yield "command", tag("code", " ".join(["inv", *map(str, facts["argv"])]))
    if facts.get("commit"):
        branch = f" ({facts['branch']})" if facts.get("branch") not in (None, "HEAD") else ""
        files = (facts.get("uncommitted") or {}).get("files")
        changed = f", with uncommitted changes in {', '.join(files[:5])}" if files else ""
        yield "commit", [tag("code", str(facts["commit"])[:12]), f"{branch}{changed}"]
    for key, words in (("rerun_of", "the same again as"), ("resume_of", "goes on with"), ("stopped_at", "stopped at")):
        if facts.get(key):
            yield words, tag("code", facts[key])
    for target, known in (facts.get("targets") or {}).items():
        shown = ", ".join(_target(known))
        if shown:
            yield target, shown


def _target(known: Mapping[str, Any]) -> Iterator[str]:
    if known.get("os"):
        yield str(known["os"])
    if known.get("kernel"):
        yield f"kernel {known['kernel']}"
    if known.get("driver"):
        yield f"driver {known['driver']}"
    names = [str(gpu.get("name")) for gpu in known.get("gpus") or ()]
    for name in dict.fromkeys(names):
        yield f"{names.count(name)} x {name}"
    for engine, version in (known.get("engines") or {}).items():
        yield f"{engine} {version}" if version else str(engine)


def _went_wrong(story: RunStory) -> Html | None:
    found = failures(story)
    if not found:
        return None
    cards = [_failure(number, step, one) for number, step, one in found[:_MOST_FAILURES]]
    more = len(found) - len(cards)
    rest = tag("p", f"and {more} more, among the steps below", class_="soft") if more > 0 else None
    return tag("section", tag("h2", "What went wrong"), cards, rest)


def _failure(number: int, step: StepStory, one: HostStory) -> Html:
    where = tag("p", tag("a", tag("b", step.name), href=f"#s{number}"), " ", tag("span", step.origin, class_="soft"))
    return tag("div", where, host(one), class_="card")


def _warnings(story: RunStory) -> Html | None:
    if not story.warnings:
        return None
    lines = [tag("li", words, " ", tag("span", origin, class_="soft")) for words, origin in story.warnings[:50]]
    return tag("section", tag("h2", "Warnings"), tag("ul", lines, class_="plain"))


def _recap(facts: Mapping[str, Any]) -> Html | None:
    recap = facts.get("recap")
    if not recap:
        return None
    keys = [
        key
        for key in next(iter(recap.values()))
        if key in ("ok", "changed") or any(one.get(key) for one in recap.values())
    ]
    head = tag("tr", tag("th", "host"), [tag("th", key, class_="n") for key in keys])
    rows = [
        tag(
            "tr",
            tag("td", name),
            [tag("td", counts.get(key, 0), class_="n" if counts.get(key) else "n zero") for key in keys],
        )
        for name, counts in recap.items()
    ]
    return tag("section", tag("h2", "Hosts"), tag("div", tag("table", head, rows), class_="wide"))


def _measures(facts: Mapping[str, Any], last_good: LastGood | None) -> Html | None:
    before = {(host_name, name): was for name, host_name, was, _ in (last_good.measures if last_good else ())}
    rows = []
    for host_name, numbers in (facts.get("metrics") or {}).items():
        for name, now in numbers.items():
            was = before.get((host_name, name))
            change = f"{(now / was - 1) * 100:+.1f} %" if was else ""
            cells = (f"{now:g}", "" if was is None else f"{was:g}", change)
            rows.append(
                tag("tr", tag("td", name), tag("td", host_name), [tag("td", cell, class_="n") for cell in cells])
            )
    if not rows:
        return None
    against = tag("small", f" against the last good run, {last_good.id}") if last_good and before else None
    titles = ("this run", "last good", "change")
    head = tag("tr", tag("th", "measure"), tag("th", "host"), [tag("th", title, class_="n") for title in titles])
    return tag("section", tag("h2", "Measures", against), tag("div", tag("table", head, rows), class_="wide"))


def _differences(last_good: LastGood | None) -> Html | None:
    if last_good is None:
        return None
    title = tag("h2", "Since the last good run", tag("small", f"  {last_good.id}, {_when(last_good.started_at)}"))
    if not last_good.differences:
        return tag("section", title, tag("p", "Nothing that the records know of was put in differently."))
    head = tag("tr", [tag("th", name) for name in ("", "what", "then", "now")])
    rows = [
        tag(
            "tr",
            tag("td", kind, class_="soft kind"),
            tag("td", what, class_="what"),
            [tag("td", cell) for cell in cells],
        )
        for kind, what, *cells in last_good.differences[:_MOST_DIFFERENCES]
    ]
    return tag("section", title, tag("div", tag("table", head, rows), class_="wide"))
