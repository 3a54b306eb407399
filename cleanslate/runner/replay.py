"""Goes over what an earlier run has done without doing it again, so that the run goes on where that one stopped."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cleanslate.errors import InputError
from cleanslate.model import Result, Status, Step
from cleanslate.redaction import MASK
from cleanslate.runner.outcome import Done
from cleanslate.runner.past import Entry, HostPast, digest_of
from cleanslate.steps.behaviour import SetFacts
from cleanslate.steps.registry import step_type

if TYPE_CHECKING:
    from cleanslate.runner.state import HostState
    from cleanslate.runner.world import World

_RECORDED = ("pause", "set_fact")  # of what runs on the controller: not to be waited for or worked out a second time


class Replay:
    """The rest of every host's past. `settled` are open steps that the person says were done (host, digest)."""

    def __init__(
        self, past: Mapping[str, HostPast], *, force: bool = False, settled: Sequence[tuple[str, str]] = ()
    ) -> None:
        self._left: dict[str, list[Entry]] = {host: list(one.done) for host, one in past.items()}
        self._settled = set(settled)
        self._force = force
        self._lock = threading.Lock()

    def done(self, world: World, host: str, step: Step, others: Sequence[str]) -> Done | None:
        """What became of the step then; None when it is to be run now. `others` share the result of a step run once."""
        digest = digest_of(step)
        entry = self._take(host, digest, others)
        if entry is None:
            if (host, digest) in self._settled:
                self._settled.discard((host, digest))
                data = {"changed": True, "msg": "taken as done, as you said"}
                return _remember(world, host, step, Done(Result(Status.CHANGED, data), resumed=True))
            self._mind_edits(world, host, step)
            return None
        kind = step_type(step.type)
        if entry.again or (not kind.on_target and step.type not in _RECORDED):
            return None
        if MASK in str(entry.data["result"]) or "censored" in entry.data["result"]:
            if kind.only_reads or not kind.on_target:
                return None  # the record does not hold secrets; to read again costs nothing
            if step.keywords.register:
                text = (
                    f'what "{step.title}" gave held secrets, which the record does not keep: {step.keywords.register}'
                )
                world.warning(f"{text} has {MASK} in their place", step.origin)
        return _remember(world, host, step, _as_done(entry))

    def _take(self, host: str, digest: str, others: Sequence[str]) -> Entry | None:
        with self._lock:
            for name in (host, *others):
                left = self._left.get(name, [])
                found = next((entry for entry in left if entry.step.digest == digest), None)
                if found is not None:
                    left.remove(found)
                    return found
        return None

    def _mind_edits(self, world: World, host: str, step: Step) -> None:
        """A step that was not done stands before one that was: the playbook, or what it was given, is another one."""
        left = [entry for entry in self._left.get(host, []) if entry.step.type not in ("meta",)]
        if not left:
            return
        text = f'{host}: step "{step.title}" was not run before, and "{left[0].step.name}" after it was'
        if not self._force:
            raise InputError(text, origin=step.origin, fix="--force runs it, and goes on from there")
        world.warning(text, step.origin)


def _as_done(entry: Entry) -> Done:
    data = entry.data
    return Done(
        Result(Status(data["status"]), dict(data["result"]), exit_code=2, fix=data.get("fix")),
        ignored=bool(data["ignored"]),
        notified=list(data.get("notified") or ()),
        delegate=data.get("delegate"),
        changes=list(data.get("changes") or ()),
        arguments=data.get("args"),
        resumed=True,
    )


def _remember(world: World, host: str, step: Step, done: Done) -> Done:
    """Take over what the step had registered and found out."""
    state = world.variables.state(host)
    if step.keywords.register:
        state.register(step.keywords.register, done.result)
    results: list[Any] = done.result.data.get("results") or [done.result.data]
    for one in results:
        facts = one.get("ansible_facts") if isinstance(one, Mapping) else None
        if isinstance(facts, Mapping):
            _learn(world, state, step, done, facts)
    return done


def _learn(world: World, state: HostState, step: Step, done: Done, facts: Mapping[str, Any]) -> None:
    if step.type == "set_fact":
        state.keep(SetFacts(dict(facts), "facts"))
    elif done.delegate and step.keywords.delegate_facts:
        world.variables.state(done.delegate).learn(facts)
    else:
        state.learn(facts)
