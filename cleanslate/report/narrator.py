"""What each event says to a person, as lines of styled text: no terminal, no stream, so that it can be tested.

A line is a list of (style, text); the styles are names (`ok`, `changed`, `failed`, `dim`, ...), see writers.py.
`summary`, `item` and `place` mark what may be shortened where a line is wider than the terminal.
"""

from __future__ import annotations

import difflib
import functools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.model import Event

Segment = tuple[str, str]
Line = list[Segment]

_TAIL = 20  # the last lines of a failed command's output that are shown
_QUIET_KINDS = frozenset({"run.started", "run.finished", "run.warning"})
_HIDDEN = frozenset({"changed", "failed", "_ansible_item_label", "ansible_loop_var"})


@dataclass
class Narrator:
    """Keeps what is needed to tell an event in context: which step it belongs to, and when its heading was told."""

    verbosity: int = 0
    show_diff: bool = False
    quiet: bool = False
    steps: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    _headed: int | None = None
    _several: bool = False
    _kept: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    _items: dict[tuple[int, str], int] = field(default_factory=dict)
    _tellers: dict[str, Callable[[Mapping[str, Any]], Iterator[Line]] | None] = field(default_factory=dict)

    def tell(self, event: Event) -> list[Line]:
        """The lines for an event; none for one that people need not see."""
        kind = event.kind
        if kind not in self._tellers:
            self._tellers[kind] = getattr(self, "_" + kind.replace(".", "_"), None)
        method = self._tellers[kind]
        if method is None:
            return []
        if self.quiet and event.kind not in _QUIET_KINDS and not _bad(event):
            if event.kind == "step.started":
                self.steps[event.data["step"]] = event.data
            elif event.kind == "host.kept":
                method(event.data)
            return []
        return list(method(event.data))

    # ------------------------------------------------------------------ the run and its plays

    def _run_started(self, data: Mapping[str, Any]) -> Iterator[Line]:
        if self.quiet:
            return
        how = " (check: nothing is changed)" if data.get("check") else ""
        yield [("dim", f"run {data['run']}{how}")]

    def _run_warning(self, data: Mapping[str, Any]) -> Iterator[Line]:
        where = f"{_short_path(data['origin'])}: " if data.get("origin") else ""
        yield [("warning", "warning: "), ("", f"{where}{data['text']}")]

    def _play_started(self, data: Mapping[str, Any]) -> Iterator[Line]:
        hosts = data["hosts"]
        count = f"{len(hosts)} host{'' if len(hosts) == 1 else 's'}"
        named = ", ".join(hosts) if len(hosts) <= 4 else f"{', '.join(hosts[:3])}, ..."
        yield []
        yield [("title", f"PLAY {data['name']}"), ("dim", f"  {count}: {named}" if hosts else "  no hosts")]

    def _play_empty(self, data: Mapping[str, Any]) -> Iterator[Line]:
        yield [("dim", "  no host matches, nothing to do")]

    def _run_finished(self, data: Mapping[str, Any]) -> Iterator[Line]:
        style = "ok" if data["exit_code"] == 0 else "failed"
        yield []
        yield [("title", "RECAP "), (style, str(data["outcome"])), ("dim", f"  in {_seconds(data['seconds'])}")]
        recap: Mapping[str, Mapping[str, int]] = data["recap"]
        width = max((len(name) for name in recap), default=0)
        for name, counts in recap.items():
            yield [(_host_style(counts), f"  {name:<{width}}"), *_counts(counts)]
        if data.get("stopped_at"):
            yield [("warning", f"  stopped at: {data['stopped_at']}")]
        yield [("dim", f"  run {data['run']}  (see: inv show {data['run']})")]

    # ------------------------------------------------------------------ steps

    def _step_started(self, data: Mapping[str, Any]) -> Iterator[Line]:
        self.steps[data["step"]] = data
        if self.quiet:
            return
        yield from self._heading(data["step"])

    def _heading(self, step: int) -> Iterator[Line]:
        data = self.steps[step]
        self._headed = step
        role = f"{data['role']} : " if data.get("role") else ""
        kind = "HANDLER" if data.get("handler") else "STEP"
        yield []
        yield [("title", f"{kind} {role}{data['name']}"), ("dim", "  "), ("place", _short_path(data["origin"]))]

    def _host_kept(self, data: Mapping[str, Any]) -> Iterator[Line]:
        if data.get("file"):
            self._kept.setdefault((data["step"], data["host"]), []).append(data["file"])
        return iter(())

    def _host_retry(self, data: Mapping[str, Any]) -> Iterator[Line]:
        text = f": {_first_line(data['text'])}" if data.get("text") else ""
        tries = f"not yet, try {data['attempt']} of {data['retries'] + 1}"
        yield [("dim", f"  ...         {data['host']}  {tries}{text}")]

    def _item_finished(self, data: Mapping[str, Any]) -> Iterator[Line]:
        yield from self._outcome(data, data["item"])

    def _host_finished(self, data: Mapping[str, Any]) -> Iterator[Line]:
        step = self.steps.get(data["step"])
        if step is not None and self._headed != data["step"] and not self.quiet:
            yield from self._heading(data["step"])
        loop = "results" in data["result"] and isinstance(data["result"]["results"], list)
        if loop and data["result"]["results"] and not self.quiet:
            yield from self._warnings(data)
            if data["status"] in ("failed", "unreachable"):
                yield self._status_line(data, None)
            return
        yield from self._outcome(data, None)

    def _outcome(self, data: Mapping[str, Any], item: str | None) -> Iterator[Line]:
        result: Mapping[str, Any] = data["result"]
        yield self._status_line(data, item)
        if data["status"] in ("failed", "unreachable") and not data.get("ignored"):
            yield from self._failure(data)
        elif self.verbosity:
            yield from self._verbose(result)
        else:
            yield from self._message(data)
        for diff in (data.get("diffs") or ()) if self.show_diff else ():
            yield from diff_lines(diff)
        if data.get("warnings"):
            yield from self._warnings(data)

    def _status_line(self, data: Mapping[str, Any], item: str | None) -> Line:
        status = data["status"]
        shown = "ignored" if data.get("ignored") else status
        where = data["host"] + (f" -> {data['delegate']}" if data.get("delegate") else "")
        line: Line = [(shown, f"  {shown:<12}"), ("", where)]
        if item is not None:
            line += [("dim", "  ("), ("item", item), ("dim", ")")]
        if data.get("resumed"):
            line.append(("dim", "  done before"))
        elif data["seconds"] >= 0.05:
            line.append(("dim", f"  {_seconds(data['seconds'])}"))
        summary = self._summary(data)
        if summary:
            line += [("", "  "), ("summary", summary)]
        return line

    def _summary(self, data: Mapping[str, Any]) -> str:
        """A few words behind the status: what was changed, why it was skipped, what a failure was that does no harm."""
        result = data["result"]
        status = data["status"]
        if data.get("ignored"):
            return _in_one_line(result)
        if status == "skipped" and result.get("false_condition") is not None and self.verbosity:
            return f"because not: {result['false_condition']}"
        if status in ("changed", "unknown") and data.get("changes"):
            changes = data["changes"]
            more = f" (+{len(changes) - 1} more)" if len(changes) > 1 else ""
            return _first_line(changes[0]) + more
        return ""

    def _message(self, data: Mapping[str, Any]) -> Iterator[Line]:
        """What the step itself has to say: debug's message, and our own steps' one sentence."""
        step = self.steps.get(data["step"], {})
        result = data["result"]
        if step.get("type") == "debug" and data["status"] != "skipped":
            shown = {key: value for key, value in result.items() if key not in _HIDDEN}
            shown.pop("item", None)
            message = shown["msg"] if set(shown) == {"msg"} else shown
            yield from _indented(message if isinstance(message, str) else json.dumps(message, indent=2))
        elif result.get("said"):
            yield from _indented(str(result["said"]))
        elif data["status"] == "unknown" and result.get("msg") and not data.get("changes"):
            yield from _indented(str(result["msg"]))

    def _verbose(self, result: Mapping[str, Any]) -> Iterator[Line]:
        shown = {key: value for key, value in result.items() if key not in ("stdout_lines", "stderr_lines")}
        yield from _indented(json.dumps(shown, indent=2, ensure_ascii=False))

    def _failure(self, data: Mapping[str, Any]) -> Iterator[Line]:
        """Everything a tired person needs: where, which command, what it said last, what to do."""
        result = data["result"]
        step = self.steps.get(data["step"], {})
        yield [("dim", "    step     "), ("", f"{step.get('name', '?')}  {_short_path(step.get('origin', ''))}")]
        reason = _reason(result)
        if reason:
            yield from _field("why", reason, "failed")
        elif result.get("failed_when_result") is True:
            yield from _field("why", "what failed_when says is true", "failed")
        command = result.get("cmd")
        if command:
            text = " ".join(map(str, command)) if isinstance(command, list) else str(command)
            yield from _field("command", text)
        if result.get("rc") not in (None, 0):
            yield from _field("exit", str(result["rc"]))
        for stream in ("stdout", "stderr", "log_tail", "module_stderr"):
            if result.get(stream):
                yield from _tail(stream, result[stream])
        if data.get("fix"):
            yield from _field("do", str(data["fix"]), "fix")
        for file in self._kept.pop((data["step"], data["host"]), ()):
            yield from _field("kept", f"{file} (in the record)")

    def _warnings(self, data: Mapping[str, Any]) -> Iterator[Line]:
        for text in data.get("warnings") or []:
            yield [("warning", "    warning: "), ("", text)]


def diff_lines(diff: Mapping[str, Any]) -> Iterator[Line]:
    """A diff in the unified form."""
    before, after = diff["before"], diff["after"]
    names = (
        diff["header"] if before is not None else "/dev/null",
        diff["header"] if after is not None else "/dev/null",
    )
    old, new = (before or "").splitlines(), (after or "").splitlines()
    for text in difflib.unified_diff(old, new, f"{names[0]} (before)", f"{names[1]} (after)", lineterm="", n=3):
        style = {"+": "added", "-": "removed", "@": "hunk"}.get(text[:1], "")
        if text.startswith(("+++", "---")):
            style = "dim"
        yield [(style, f"    {text}")]
    if (before or "").endswith("\n") != (after or "").endswith("\n") and before and after:
        yield [("dim", "    (only one of the two ends with a newline)")]


def progress_text(data: Mapping[str, Any]) -> str:
    """One line for a progress report."""
    item = f" ({data['item']})" if data.get("item") else ""
    return f"{data['host']}{item}  {data['text']}"


def _reason(result: Mapping[str, Any]) -> str:
    """What a failed step says of it; nothing where that is only that a command failed."""
    message = result.get("msg")
    if message in (None, "", "non-zero return code"):
        return ""
    return message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)


def _in_one_line(result: Mapping[str, Any]) -> str:
    """What went wrong: what the step says, else how the command ended and its last word."""
    reason = _reason(result)
    if reason:
        return _first_line(reason)
    if result.get("rc") in (None, 0):
        return ""
    last = str(result.get("stderr") or result.get("stdout") or "").strip().rpartition("\n")[2]
    return f"exit {result['rc']}" + (f": {_first_line(last)}" if last else "")


def _bad(event: Event) -> bool:
    return event.data.get("status") in ("failed", "unreachable") and not event.data.get("ignored")


def _host_style(counts: Mapping[str, int]) -> str:
    if counts.get("failed") or counts.get("unreachable"):
        return "failed"
    return "changed" if counts.get("changed") else "ok"


def _counts(counts: Mapping[str, int]) -> Iterator[Segment]:
    """Only what is not zero, and always ok and changed: what people compare from run to run."""
    for key, count in counts.items():
        if count or key in ("ok", "changed"):
            yield (key if count else "dim", f"  {key}={count}")


def _field(name: str, text: str, style: str = "") -> Iterator[Line]:
    first, *rest = text.splitlines() or [""]
    yield [("dim", f"    {name:<9}"), (style, first)]
    for line in rest:
        yield [("", " " * 13), (style, line)]


def _tail(name: str, text: Any) -> Iterator[Line]:
    lines = [str(line) for line in text] if isinstance(text, list) else str(text).splitlines()
    cut = len(lines) - _TAIL
    label = f"{name}, last {_TAIL} of {len(lines)} lines" if cut > 0 else name
    yield [("dim", f"    {label}:")]
    for line in lines[max(0, cut) :]:
        yield [("dim", "      | "), ("", line)]


def _indented(text: str) -> Iterator[Line]:
    for line in text.splitlines() or [""]:
        yield [("", f"    {line}")]


def _first_line(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else ""
    return line if len(line) <= 160 else line[:157] + "..."


def _seconds(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.2f}s" if seconds < 10 else f"{seconds:.1f}s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m{rest:02d}s" if hours else f"{minutes}m{rest:02d}s"


def _short_path(origin: str) -> str:
    """An origin relative to where the person is, when that is shorter."""
    path, colon, rest = origin.partition(":")
    try:
        return _short_from(path, os.getcwd()) + colon + rest  # noqa: PTH109 - asked for each step: as a text it is quick
    except OSError:
        return origin


@functools.lru_cache(maxsize=256)
def _short_from(path: str, here: str) -> str:
    try:
        short = str(Path(path).resolve().relative_to(here))
    except (ValueError, OSError):
        return path
    return short if len(short) < len(path) else path
