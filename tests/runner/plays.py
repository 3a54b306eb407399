"""Runs a playbook given as text, on this machine, through everything but the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cleanslate.connect.connections import RunConnections
from cleanslate.errors import Problems
from cleanslate.inventory import load_inventory
from cleanslate.model import Event, SourceMap
from cleanslate.playbook import check_playbook, load_playbook
from cleanslate.redaction import Secrets
from cleanslate.runner.run import RunOutcome, run_playbook
from cleanslate.runner.settings import RunSettings

INVENTORY = "[all]\nalpha\nbeta\n[all:vars]\nansible_connection=local\n"


@dataclass
class Ran:
    """What a run did: its outcome, and every event."""

    outcome: RunOutcome
    events: list[Event] = field(default_factory=list)

    @property
    def statuses(self) -> list[tuple[str, str, str]]:
        """(step, host, status) in the order in which hosts finished steps; gathering facts left out."""
        names = {event.data["step"]: event.data["name"] for event in self.events if event.kind == "step.started"}
        done = [event.data for event in self.events if event.kind == "host.finished"]
        return [(names[one["step"]], one["host"], one["status"]) for one in done]

    def results(self, step: str) -> dict[str, dict[str, Any]]:
        """Each host's result of a step."""
        names = {event.data["step"]: event.data["name"] for event in self.events if event.kind == "step.started"}
        done = [event.data for event in self.events if event.kind == "host.finished"]
        return {one["host"]: one["result"] for one in done if names[one["step"]] == step}

    def messages(self) -> list[str]:
        """Every warning of the run."""
        return [event.data["text"] for event in self.events if event.kind == "run.warning"]


def run_play(
    folder: Path, text: str, *, inventory: str = INVENTORY, files: dict[str, str] | None = None, **settings
) -> Ran:
    """Write the files, load and check them as `inv play` does, and run."""
    for name, content in {"play.yml": text, "hosts.ini": inventory, **(files or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    problems = Problems()
    found = load_inventory([str(folder / "hosts.ini")], base=folder)
    playbook = load_playbook(folder / "play.yml", problems=problems)
    extra = SourceMap(settings.pop("extra_vars", {"workdir": str(folder)}))
    check_playbook(playbook, found, extra_vars=extra, problems=problems)
    problems.raise_if_any()
    events: list[Event] = []
    connections = RunConnections()
    try:
        outcome = run_playbook(
            playbook,
            found,
            RunSettings(
                base=folder,
                extra_vars=extra,
                reload=lambda: load_inventory([str(folder / "hosts.ini")], base=folder),
                **settings,
            ),
            connections,
            secrets=Secrets(),
            listeners=[events.append],
            run_id="test",
        )
    finally:
        connections.close()
    return Ran(outcome, events)
