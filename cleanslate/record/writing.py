"""Writes one run's record, event by event."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from cleanslate.model import Event

VERSION = 1
"""The version of the record's form; readers refuse a higher one."""


def new_run_id(playbook: str, now: datetime | None = None) -> str:
    """An id that sorts by time and names the playbook: 20260131-221530-restart-eagle3-3f9a."""
    when = (now or datetime.now(timezone.utc)).astimezone().strftime("%Y%m%d-%H%M%S")
    name = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in playbook)[:40].strip("-")
    return f"{when}-{name or 'run'}-{secrets.token_hex(2)}"


class RunRecord:
    """A listener that keeps everything. Nobody but the owner may read it: it holds what hosts answered."""

    def __init__(self, runs: Path, run_id: str, facts: Mapping[str, Any]) -> None:
        self.run_id = run_id
        self.folder = runs / run_id
        self.folder.mkdir(parents=True, mode=0o700)
        self._facts: dict[str, Any] = {"version": VERSION, "id": run_id, **facts, "outcome": None}
        self._write_facts()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL | os.O_CLOEXEC
        self._events = os.open(self.folder / "events.jsonl", flags, 0o600)

    def __call__(self, event: Event) -> None:
        """Append one event in one write; a reader, or a crash, never sees half of an earlier one."""
        line = json.dumps({"at": round(event.at, 4), "kind": event.kind, **event.data}, ensure_ascii=False)
        _write_all(self._events, line.encode("utf-8", "backslashreplace") + b"\n")
        if event.kind == "run.finished":
            ended = {key: event.data[key] for key in ("outcome", "exit_code", "seconds", "recap", "stopped_at")}
            self._facts |= {**ended, "ended_at": event.at}
            self._write_facts()

    def note(self, **facts: Any) -> None:
        """Add facts that became known while the run went (GPU names, versions)."""
        self._facts |= facts
        self._write_facts()

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
            text = json.dumps(self._facts, indent=2, ensure_ascii=False, default=str)
            _write_all(descriptor, text.encode("utf-8", "backslashreplace") + b"\n")
        finally:
            os.close(descriptor)
        part.replace(self.folder / "run.json")


def _write_all(descriptor: int, data: bytes) -> None:
    """Write everything, also where the system takes only a part at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
