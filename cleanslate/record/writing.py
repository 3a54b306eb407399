"""Writes one run's record, event by event."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cleanslate.errors import InputError
from cleanslate.model import Event, event_line
from cleanslate.record.order import place_of
from cleanslate.record.outputs import LONG, Outputs

VERSION = 1
"""The version of the record's form; readers refuse a higher one."""

SUMMARY = (
    *("id", "playbook", "started_at", "order", "outcome", "exit_code", "seconds", "check"),
    *("user", "controller", "hosts", "rerun_of", "resume_of"),
)
"""What lists show; it stands in the first line of run.json, so that a list need not read the rest."""


_MOST_KEPT = 20 * 1024**2  # bytes of diagnostics in one record


def new_run_id(playbook: str, runs: Path) -> str:
    """An id that sorts by local time and names the playbook: 20260131-221530-restart-eagle3-3f9a.

    Its time is now, or that of the newest of `runs`, if the clock was ahead then: ids go on, whatever the clock does.
    """
    when = time.strftime("%Y%m%d-%H%M%S", time.localtime(place_of(runs, time.time())))
    name = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in playbook)[:40].strip("-")
    return f"{when}-{name or 'run'}-{os.urandom(2).hex()}"


class RunRecord:
    """A listener that keeps everything. Nobody but the owner may read it: it holds what hosts answered.

    Once something cannot be written (a full disk) nothing more is: `trouble` says why, `on_trouble` is told, and the
    record ends with the last whole event, as if the run had been killed there. InputError where none can be made.
    """

    def __init__(self, runs: Path, run_id: str, facts: Mapping[str, Any]) -> None:
        self.run_id = run_id
        self.folder = runs / run_id
        self.trouble: str | None = None
        self.on_trouble: Callable[[str], None] = lambda _: None
        try:
            self._begin(run_id, facts)
        except OSError as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise InputError(
                f"no record can be kept in {runs}: {(error.strerror or str(error)).lower()}",
                fix="make room, or name another folder: `runs` in invoke.yaml",
            ) from None

    def _begin(self, run_id: str, facts: Mapping[str, Any]) -> None:
        self.folder.mkdir(parents=True, mode=0o700)
        self._lock = threading.RLock()
        self._facts: dict[str, Any] = {"version": VERSION, "id": run_id, **facts, "outcome": None}
        self._outputs = Outputs(self.folder)
        self._kept = 0
        self._size = 0  # of the events that are written whole
        self._write_facts()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL | os.O_CLOEXEC
        self._events = os.open(self.folder / "events.jsonl", flags, 0o600)

    def __call__(self, event: Event) -> None:
        """Append one event in one write; a reader, or a crash, never sees half of an earlier one."""
        if self.trouble is None:
            try:
                self._append(event)
            except OSError as error:
                self._give_up(error)

    def _append(self, event: Event) -> None:
        if event.kind == "host.kept":
            event = Event(event.kind, self._keep(event.data), event.at)
        line = event_line(event)
        if len(line) > LONG:
            line = event_line(Event(event.kind, self._outputs.taken_out(event.data), event.at))
        _write_all(self._events, line)
        self._size += len(line)
        if event.kind == "play.started":
            known = self._facts.get("hosts") or []
            if not set(event.data["hosts"]) <= set(known):
                self.note(hosts=list(dict.fromkeys([*known, *event.data["hosts"]])))
        elif event.kind == "run.finished":
            ended = {key: event.data[key] for key in ("outcome", "exit_code", "seconds", "recap", "stopped_at")}
            self.note(**ended, ended_at=event.at)

    def _keep(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Write what a step gave for the record into its file; gives what the event says of it then."""
        told = {key: value for key, value in data.items() if key != "text"}
        text = str(data["text"]).encode("utf-8", "surrogatepass")
        self._kept += len(text)
        place = self.folder / str(data["file"])
        if self._kept > _MOST_KEPT or place.parts[-3] != "diagnostics":
            return {**told, "file": None, "why": "the run has kept too much already"}
        place.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            _write_all(descriptor, text)
        finally:
            os.close(descriptor)
        return {**told, "bytes": len(text)}

    def note(self, *, write: bool = True, **facts: Any) -> None:
        """Add facts that became known while the run went (GPU names, versions); from any thread.

        Without `write` they are written with the next ones.
        """
        failure = None
        with self._lock:
            self._facts |= facts
            if write and self.trouble is None:
                try:
                    self._write_facts()
                except OSError as error:
                    failure = error
        if failure is not None:
            self._give_up(failure)

    def _give_up(self, error: OSError) -> None:
        """Write no more; half an event is taken back."""
        with self._lock:
            if self.trouble is not None:
                return
            self.trouble = f"the record in {self.folder} cannot be written: {(error.strerror or str(error)).lower()}"
            with contextlib.suppress(OSError):
                os.ftruncate(self._events, self._size)
                (self.folder / ".run.json.part").unlink(missing_ok=True)
        self.on_trouble(self.trouble)

    def close(self) -> None:
        """Close the event file."""
        if self._events >= 0:
            os.close(self._events)
            self._events = -1

    def _write_facts(self) -> None:
        """Replace run.json as a whole, so that it is never half written."""
        part = self.folder / ".run.json.part"
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _write_all(descriptor, facts_text(self._facts).encode("utf-8", "backslashreplace"))
        finally:
            os.close(descriptor)
        part.replace(self.folder / "run.json")


def facts_text(facts: Mapping[str, Any]) -> str:
    """run.json: the summary in the first line, then one fact a line."""
    summary = {key: facts.get(key) for key in SUMMARY}
    rest = (f"{json.dumps(key)}: {_json(value)}" for key, value in facts.items())
    return ",\n".join(['{"summary": ' + _json(summary), *rest]) + "\n}\n"


_json = json.JSONEncoder(ensure_ascii=False, check_circular=False, default=str).encode  # blanks and all: people read it


def _write_all(descriptor: int, data: bytes) -> None:
    """Write everything, also where the system takes only a part at a time."""
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, data[written:])
