"""Completes a record while its run goes: files as they are used, variables as plays see them, sums of the events.

The work is done in a thread of its own, so that a run does not wait for it.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cleanslate
from cleanslate.model import Event
from cleanslate.record.observing import Observed
from cleanslate.record.provenance import Provenance, code_digest
from cleanslate.record.variables import HostVariables
from cleanslate.record.writing import RunRecord
from cleanslate.redaction import Secrets

if TYPE_CHECKING:
    from cleanslate.runner.world import World

_WRITE_EVERY = 1.0  # seconds between two writes of run.json while there is news
_MOST_SECONDS = 20.0  # that the end of a run waits for what is still being read


class Collector:
    """A listener beside the record. Give `used` to the run's settings, `watch` to run_playbook, and close it."""

    def __init__(self, record: RunRecord, known: Provenance, secrets: Secrets) -> None:
        self._record = record
        self._known = known
        self._secrets = secrets
        self._observed = Observed()
        self._variables = HostVariables(secrets, known.files)
        self._world: World | None = None
        self._facts: dict[str, Any] = {}
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="cleanslate-record", daemon=True)
        self._thread.start()
        if not Path(cleanslate.__file__).resolve().is_relative_to(known.files.root.resolve()):
            self._jobs.put(self._take_code)  # code inside of the repository is known by its commit

    def watch(self, world: World) -> None:
        """Take the world of the run, through which variables are seen."""
        self._world = world

    def used(self, path: Path) -> None:
        """A file of the controller takes part."""
        if self._known.files.is_new(path):
            self._jobs.put(lambda: self._take_file(path))

    def __call__(self, event: Event) -> None:
        """Take what an event tells; the first step of a play on a host brings the host's variables."""
        self._observed(event)
        if event.kind == "step.started":
            self._want_variables(event.data["hosts"])
        elif event.kind == "run.finished":
            self._record.note(write=False, **self._observed.facts())  # the record writes when it takes this event

    def close(self) -> None:
        """Finish what was begun, and write it."""
        self._jobs.put(None)
        self._thread.join(_MOST_SECONDS)

    def _want_variables(self, hosts: list[str]) -> None:
        world = self._world
        scope = world.scope if world else None
        if world is None or scope is None:
            return
        new = self._variables.missing(scope, hosts)
        if new:
            self._jobs.put(lambda: self._variables.add(world, scope, new))

    def _work(self) -> None:
        """Do the jobs, and write what came of them after a moment of quiet."""
        news, written = False, time.monotonic()
        while True:
            try:
                job = self._jobs.get(timeout=_WRITE_EVERY if news else None)
            except queue.Empty:
                self._write()
                news, written = False, time.monotonic()
                continue
            if job is None:
                break
            try:
                job()
            except Exception as error:  # noqa: BLE001 - a record that is not complete must not end a run
                self._facts.setdefault("not_recorded", []).append(self._secrets.redact_text(repr(error)))
            news = True
            if time.monotonic() - written > _WRITE_EVERY:
                self._write()
                news, written = False, time.monotonic()
        if news:
            self._write()

    def _take_file(self, path: Path) -> None:
        self._known.files.add([path])

    def _take_code(self) -> None:
        self._facts["versions"] = {**self._known.facts["versions"], "cleanslate code": code_digest()[:16]}

    def _write(self) -> None:
        files, checkout = self._known.files, self._known.checkout
        facts = {**self._facts, "variables": self._variables.facts()}
        if set(files.digests) != set(self._known.facts["files"]):
            self._known.facts["files"] = dict(files.digests)
            facts["files"] = dict(files.digests)
            facts["kept"] = files.kept(checkout.top if checkout else None, self._secrets)
        self._record.note(**facts)
