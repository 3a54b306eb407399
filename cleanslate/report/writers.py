"""Puts told lines on a stream: plain lines anywhere, live progress in place on a terminal."""

from __future__ import annotations

import os
import shutil
import threading
import time
from typing import TextIO

from cleanslate.model import Event
from cleanslate.report.escapes import visible
from cleanslate.report.narrator import Line, Narrator, progress_text

_STYLES = {
    "title": "1",
    "dim": "2",
    "place": "2",
    "item": "2",
    "ok": "32",
    "changed": "33",
    "unknown": "35",
    "skipped": "36",
    "failed": "31;1",
    "unreachable": "31;1",
    "ignored": "36",
    "rescued": "36",
    "warning": "35",
    "fix": "1",
    "added": "32",
    "removed": "31",
    "hunk": "36",
}
_PLAIN_EVERY = 10.0  # seconds between progress lines of one host where they cannot be shown in place
_LIVE_EVERY = 0.1
_LIVE_LINES = 8


def wants_color(stream: TextIO) -> bool:
    """Colors on a terminal, unless NO_COLOR is set or TERM is dumb; CLICOLOR_FORCE asks for them anywhere."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("CLICOLOR_FORCE", "0") != "0":
        return True
    return stream.isatty() and os.environ.get("TERM", "") != "dumb"


def styled(line: Line, *, color: bool) -> str:
    """A line as text, with escape codes if wanted. Control characters from hosts are shown, never obeyed."""
    if not color:
        return visible("".join([text for _, text in line]), but="\t").rstrip()
    parts = []
    for style, text in line:
        safe = visible(text, but="\t")
        code = _STYLES.get(style)
        parts.append(f"\x1b[{code}m{safe}\x1b[0m" if code and safe else safe)
    return "".join(parts).rstrip()


_FITTING = ("summary", "item", "place")  # what is shortened first
_LEAST = 12  # characters that are left of a shortened part: fewer say nothing


def fitted(line: Line, width: int) -> Line:
    """A line that fits, by shortening what only summarises; what a failure says is never shortened."""
    line = list(line)
    for style in _FITTING:
        over = sum(len(text) for _, text in line) - width
        for index, (name, text) in enumerate(line):
            if over > 0 and name == style and len(text) > _LEAST:
                keep = max(_LEAST, len(text) - over)
                # The end of a place (file:line) tells more than its start; of other texts the start does.
                short = "…" + text[-(keep - 1) :] if style == "place" else text[: keep - 1] + "…"
                over -= len(text) - len(short)
                line[index] = (name, short)
    return line


class PlainWriter:
    """Plain lines, in order; long waits say something every ten seconds."""

    def __init__(self, stream: TextIO, narrator: Narrator, *, color: bool) -> None:
        self._stream = stream
        self._narrator = narrator
        self._color = color
        self._told_at: dict[str, float] = {}
        self._told: dict[str, str] = {}

    def __call__(self, event: Event) -> None:
        """Write what an event says."""
        if event.kind == "host.progress":
            self._progress(event)
            return
        if event.kind == "host.finished" and self._told_at:
            self._told.pop(str(event.data["host"]), None)
            self._told_at.pop(str(event.data["host"]), None)
        lines = self._narrator.tell(event)
        if lines:
            self._stream.write("".join([styled(line, color=self._color) + "\n" for line in lines]))
            self._stream.flush()

    def _progress(self, event: Event) -> None:
        host, text = str(event.data["host"]), progress_text(event.data)
        if self._narrator.quiet or not event.data["text"]:
            return
        since = event.at - self._told_at.setdefault(host, event.at - _PLAIN_EVERY + 1.0)
        if text != self._told.get(host) and since >= _PLAIN_EVERY:
            self._told[host], self._told_at[host] = text, event.at
            self._stream.write(styled([("dim", f"  ...         {text}")], color=self._color) + "\n")
            self._stream.flush()


class TerminalWriter:
    """Lines that stay, and below them what each host is doing now, rewritten in place."""

    def __init__(self, stream: TextIO, narrator: Narrator, *, color: bool) -> None:
        self._stream = stream
        self._narrator = narrator
        self._color = color
        self._live: dict[str, str] = {}
        self._shown = 0
        self._drawn_at = 0.0
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        """Write what an event says, and renew the live lines."""
        with self._lock:
            lines = self._narrator.tell(event)
            if event.kind == "host.progress" and not self._narrator.quiet:
                if event.data["text"]:
                    self._live[str(event.data["host"])] = progress_text(event.data)
            elif event.kind == "host.finished":
                self._live.pop(str(event.data["host"]), None)
            elif event.kind == "run.finished":
                self._live.clear()
            if lines:
                width = shutil.get_terminal_size().columns - 1
                self._draw([styled(fitted(line, width), color=self._color) for line in lines])
            elif time.monotonic() - self._drawn_at >= _LIVE_EVERY or not self._live:
                self._draw([])

    def _draw(self, lasting: list[str]) -> None:
        size = shutil.get_terminal_size()
        parts = [f"\x1b[{self._shown}A\x1b[J" if self._shown else ""]
        parts += [line + "\n" for line in lasting]
        live = list(self._live.values())[: min(_LIVE_LINES, max(1, size.lines - 2))]
        for text in live:
            shown = f"  ...         {text}"
            shown = shown if len(shown) < size.columns else shown[: size.columns - 2] + "…"
            parts.append(styled([("dim", shown)], color=self._color) + "\n")
        hidden = len(self._live) - len(live)
        if hidden:
            parts.append(styled([("dim", f"  ...         and {hidden} more hosts")], color=self._color) + "\n")
        self._shown = len(live) + bool(hidden)
        self._drawn_at = time.monotonic()
        self._stream.write("".join(parts))
        self._stream.flush()
