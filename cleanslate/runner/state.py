"""What a run knows of each host while it goes: facts, registered results, notified handlers, counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.model import Host, Result, Status
from cleanslate.steps.behaviour import SetFacts


@dataclass
class HostState:
    """The state of one host. The layers have Ansible's precedence (docs/variables.md)."""

    host: Host
    facts: dict[str, Any] = field(default_factory=dict)  # as ansible_facts shows them, without the prefix
    fact_variables: dict[str, Any] = field(default_factory=dict)  # the same, as variables: ansible_hostname ...
    set_facts: dict[str, Any] = field(default_factory=dict)  # set_fact and register
    include_vars: dict[str, Any] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)  # registered names whose value check mode could not foretell
    foretold: set[str] = field(default_factory=set)  # types of the steps that check mode foretold a change for here
    gathered: bool = False
    failed: bool = False
    unreachable: bool = False
    failure: Result | None = None  # what has put it out of the run
    recap: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        """The inventory name."""
        return self.host.name

    @property
    def active(self) -> bool:
        """Whether the host still takes part in the run."""
        return not (self.failed or self.unreachable)

    def put_out(self, failure: Result) -> None:
        """The host takes part no more, for this reason."""
        self.failure = failure
        if failure.status is Status.UNREACHABLE:
            self.unreachable = True
        else:
            self.failed = True

    def learn(self, facts: Mapping[str, Any]) -> None:
        """Take facts that a step found; `ansible_` is stripped under ansible_facts and kept for variables."""
        for name, value in facts.items():
            self.facts[name.removeprefix("ansible_")] = value
            self.fact_variables[name] = value

    def keep(self, asked: SetFacts) -> None:
        """Take variables that set_fact or include_vars made; cacheable ones are facts as well."""
        if asked.layer != "facts":
            self.include_vars |= asked.variables
            return
        self.set_facts |= asked.variables
        if asked.cacheable:
            self.learn(asked.variables)

    def forget_facts(self) -> None:
        """meta: clear_facts."""
        self.facts.clear()
        self.fact_variables.clear()
        self.gathered = False

    def register(self, name: str, result: Result) -> None:
        """Keep a step's result under its name, as a fact of the host; remember whether it is known."""
        self.set_facts[name] = result.data
        if result.status is Status.UNKNOWN:
            self.unknown.add(name)
        else:
            self.unknown.discard(name)

    def count(self, status: Status, *, ignored: bool) -> None:
        """Count a finished step for the recap as Ansible does: changed is also ok, an ignored failure is ok."""
        if ignored:
            self.recap.update(("ok", "ignored"))
        elif status is Status.CHANGED:
            self.recap.update(("ok", "changed"))
        else:
            self.recap[status.value] += 1


RECAP_KEYS = ("ok", "changed", "unknown", "skipped", "failed", "unreachable", "ignored", "rescued")
