"""Every step with what it gave on each host: messages, changes, diffs, ends of logs, arguments and results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cleanslate.report.html.markup import Html, chip, seconds, tag, text
from cleanslate.report.narrator import diff_lines
from cleanslate.report.story import BAD, HostStory, RunStory, StepStory

TAILS = ("stdout", "stderr", "log_tail", "module_stdout", "module_stderr")
_TAIL = 30  # lines
_LINE = 2000  # characters of a line of a log
_JSON = 20_000  # characters of a result
_MOST_HOSTS = 25  # of a step that are told in full
_MOST_DIFF = 400  # lines
_HIDDEN = frozenset((*TAILS, "stdout_lines", "stderr_lines", "_ansible_item_label"))


def steps(story: RunStory) -> Html:
    """All steps; those that failed are open."""
    told = [_step(number, step, story) for number, step in enumerate(story.steps)]
    return tag("section", tag("h2", "Steps"), told)


def _step(number: int, step: StepStory, story: RunStory) -> Html:
    statuses = list(dict.fromkeys(one.shown_status for one in step.hosts.values()))
    worst = next(
        (one for one in ("failed", "unreachable", "running", "rescued", "unknown", "changed") if one in statuses), None
    )
    took = max((one.seconds for one in step.hosts.values()), default=0.0)
    name = f"{step.role} : {step.name}" if step.role else step.name
    kind = "handler, " if step.handler else ""
    summary = tag(
        "summary",
        chip(worst or (statuses[0] if statuses else "skipped")),
        tag("span", name, " ", tag("span", f"{kind}{step.type}  {step.origin}", class_="where")),
        tag("span", seconds(took), class_="took soft"),
    )
    return tag("details", summary, list(_hosts(step, story)), class_="step", id=f"s{number}", open=step.failed)


def _hosts(step: StepStory, story: RunStory) -> Iterator[Html]:
    order = sorted(step.hosts.values(), key=lambda one: _RANK.get(one.shown_status, 3))
    # A host that was skipped, or of which there is nothing to say, is named and no more.
    full = [one for one in order if one.shown_status in BAD or _has_more(one)]
    for one in full[:_MOST_HOSTS]:
        yield host(one)
    rest = [one for one in order if one not in full[:_MOST_HOSTS]]
    for status in dict.fromkeys(one.shown_status for one in rest):
        names = [one.host for one in rest if one.shown_status == status]
        yield tag("p", chip(status), " ", ", ".join(names))
    if len(full) > _MOST_HOSTS:
        yield tag("p", f"more of them: inv show {story.facts.get('id')} --step {step.number}", class_="soft")


_RANK = {"failed": 0, "unreachable": 1, "running": 2, "changed": 3, "unknown": 3}


def _has_more(one: HostStory) -> bool:
    return one.shown_status != "skipped" and bool(one.result or one.diffs or one.changes or one.warnings or one.items)


def host(one: HostStory) -> Html:
    """What a step gave on one host."""
    where = f"{one.host} → {one.delegate}" if one.delegate else one.host
    took = "done by the run that this one goes on with" if one.resumed else seconds(one.seconds)
    head = tag("p", chip(one.shown_status), " ", tag("b", where), " ", tag("span", took, class_="soft"))
    return tag("div", head, list(_body(one)), class_=f"host {one.shown_status}")


def _body(one: HostStory) -> Iterator[Html]:
    message = one.result.get("msg")
    if message and not one.items:
        yield tag("p", message if isinstance(message, str) else json.dumps(message, ensure_ascii=False))
    if one.fix:
        yield tag("p", tag("b", "To do: "), one.fix)
    if one.changes:
        yield tag("ul", [tag("li", change) for change in one.changes[:50]], class_="plain")
    if one.kept:
        yield tag("p", tag("b", "Kept in the record: "), ", ".join(one.kept))
    for warning in one.warnings:
        yield tag("p", chip("unknown", "warning"), " ", warning)
    if one.items:
        yield tag("ul", [_item(item) for item in one.items[:200]], class_="plain")
    command = one.result.get("cmd")
    if command:
        shown = " ".join(map(str, command)) if isinstance(command, list) else str(command)
        code = f"  exit code {one.result['rc']}" if one.result.get("rc") is not None else ""
        yield tag("p", tag("code", shown), tag("span", code, class_="soft"))
    for diff in one.diffs:
        yield _diff(diff)
    yield from tails(one.result)
    if one.told:
        yield _fold(f"progress, {len(one.told)} reports", tag("pre", "\n".join(_told(one))), raw=True)
    if one.args:
        yield _fold("arguments", _json(one.args), raw=True)
    rest = {key: value for key, value in one.result.items() if key not in _HIDDEN}
    if rest:
        yield _fold("result", _json(rest), raw=True)


def _item(item: Mapping[str, Any]) -> Html:
    message = item["result"].get("msg") if isinstance(item.get("result"), Mapping) else None
    words = f"  {message}" if isinstance(message, str) and item["status"] in BAD else ""
    return tag("li", chip(str(item["status"])), " ", item.get("item"), tag("span", words, class_="soft"))


def _told(one: HostStory) -> Iterator[str]:
    for at, words in one.told[-200:]:
        yield f"{at - one.started:8.1f} s  {words}"


def _diff(diff: Mapping[str, Any]) -> Html:
    lines = list(diff_lines(diff))
    shown = [
        tag("span", "".join(words for _, words in line)[4:], class_=f"line {line[0][0]}") for line in lines[:_MOST_DIFF]
    ]
    more = len(lines) - len(shown)
    return tag("pre", shown, tag("span", f"({more} more lines)", class_="line dim") if more > 0 else None)


def tails(result: Mapping[str, Any]) -> Iterator[Html]:
    """The last lines of each output of a result."""
    for name in TAILS:
        value = result.get(name)
        lines = [str(line) for line in value] if isinstance(value, list) else str(value or "").splitlines()
        if not lines:
            continue
        cut = len(lines) - _TAIL
        title = f"{name}, last {_TAIL} of {len(lines)} lines" if cut > 0 else name
        yield tag("p", title, class_="soft")
        yield tag("pre", "\n".join(_cut(line) for line in lines[max(0, cut) :]))


def _cut(line: str) -> str:
    return line if len(line) <= _LINE else f"{line[:_LINE]}... ({len(line)} characters)"


def _fold(title: str, content: Html, *, raw: bool = False) -> Html:
    return tag("details", tag("summary", title), content, class_="raw" if raw else None)


def _json(value: Any) -> Html:
    shown = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    more = f"\n... ({len(shown)} characters)" if len(shown) > _JSON else ""
    return tag("pre", text(shown[:_JSON] + more))


def failures(story: RunStory) -> Sequence[tuple[int, StepStory, HostStory]]:
    """What failed and was not ignored, with the number of the step in the report."""
    return [(number, step, one) for number, step in enumerate(story.steps) for one in step.hosts.values() if one.bad]
