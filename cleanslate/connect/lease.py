"""What a run wants of a machine before it works there, and how a refusal reads. remote/leases.py holds it there."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import CallFailed, LeaseHeld

LEASE_KINDS = ("held", "robbed")
"""The kinds of a failed call that say that the machine is somebody else's now."""


@dataclass
class Where:
    """The step that a run is at; shared by all of its tickets."""

    step: str = ""


@dataclass
class Ticket:
    """One run's wish for one machine; sent along with the first call of each agent there.

    `facts` are run, who, from, playbook, since (seconds since the epoch), and succeeds: runs whose controllers are
    known to be gone, and which this one goes on with; what is left of them there is ended. `wait` is how many seconds
    the target waits for somebody else's lease to end. The step is told with every call, so that others see where the
    run is.
    """

    facts: Mapping[str, Any]
    resources: set[str] = field(default_factory=lambda: {"host"})
    wait: float = 0.0
    where: Where = field(default_factory=Where)

    def wanted(self, known: object) -> tuple[Mapping[str, Any], object]:
        """What to send to an agent that was last told `known`, and what it knows then."""
        told = frozenset(self.resources)
        if known == told:
            return {"step": self.where.step}, told
        return {**self.facts, "step": self.where.step, "resources": sorted(told), "wait": self.wait}, told


def refused(machine: str, failure: CallFailed) -> LeaseHeld:
    """The error for a call that was not made because the machine is somebody else's."""
    if failure.kind == "robbed":
        robber = failure.details.get("robber") or {}
        what = f"{machine}: {_person(robber, 'by')} took this run's lease away {when_text(robber.get('at'))}"
        return LeaseHeld(what, fix="talk to them; nothing more is done on this host")
    holder = failure.details.get("holder") or {}
    return LeaseHeld(
        f"{machine}: {holder_text(holder)}",
        fix=f"wait for it with --wait 10m, or see inv lease show {machine}",
    )


def holder_text(holder: Mapping[str, Any]) -> str:
    """Who holds a machine, since when, with which playbook, at which step."""
    step = f', at step "{holder["step"]}"' if holder.get("step") else ""
    resources = [one for one in holder.get("resources") or () if one != "host"]
    what = f" of {', '.join(resources)}" if resources else ""
    return (
        f"{_person(holder, 'who')} holds the lease{what} since {when_text(holder.get('since'))}: "
        f"playbook {holder.get('playbook') or '?'}{step} (run {holder.get('run') or '?'})"
    )


def _person(facts: Mapping[str, Any], key: str) -> str:
    return f"{facts.get(key) or 'somebody'} on {facts.get('from') or 'an unknown machine'}"


def when_text(at: Any) -> str:
    """A time of day, with the date where it is not today."""
    if not isinstance(at, int | float):
        return "an unknown time"
    shown = time.localtime(at)
    day = "" if shown[:3] == time.localtime()[:3] else "%Y-%m-%d "
    return time.strftime(f"{day}%H:%M:%S", shown)
