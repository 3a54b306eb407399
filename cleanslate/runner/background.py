"""Steps with `async`: their change goes on by itself on the target, waited for here (poll) or asked for later."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from cleanslate.dataclass import dataclass
from cleanslate.errors import CallFailed, CleanslateError, DeadlinePassed, Unreachable
from cleanslate.model import Answer, Result, Status

if TYPE_CHECKING:
    from cleanslate.connect.target import Address, Target
    from cleanslate.runner.apply import Applied

DETACHABLE = frozenset({"command.run", "downloads.fetch", "modules.run"})
_PATIENCE = 60.0  # seconds for which a target may be lost while a job on it is waited for
_LOOK = 20.0  # seconds that the target waits for a job's end before it answers that it still runs


@dataclass
class Job:
    """One job: what identifies it, how long it may take, and what has become of it."""

    seconds: float
    environment: Mapping[str, str]
    id: str = field(default_factory=lambda: f"j{random.randrange(10**11, 10**12)}.{random.randrange(1000, 99999)}")
    place: str = ""
    started: threading.Event = field(default_factory=threading.Event)

    def said(self, *, finished: bool) -> dict[str, Any]:
        """The result fields that Ansible gives of a job."""
        return {
            "ansible_job_id": self.id,
            "started": True,
            "finished": finished,
            "results_file": self.place or f"~/.ansible_async/{self.id}",
        }


class JobTarget:
    """A target on which the calls that may take long go on by themselves; all others are made as ever."""

    def __init__(self, target: Target, job: Job, sleep: Callable[[float], None], patience: float = 0.0) -> None:
        self.address: Address = target.address
        self.plain = target.plain
        self.cancel = target.cancel
        self._target = target
        self._job = job
        self._sleep = sleep
        self._patience = patience  # seconds for which the target may be lost while the job on it goes on

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        deadline: float,
        read_only: bool = False,
        blob: bytes | Path | None = None,
        sink: BinaryIO | None = None,
        on_progress: Callable[[Mapping[str, Any]], None] | None = None,
        parts: Mapping[str, bytes] | None = None,
    ) -> Answer:
        """Make a call; one that may take long is started by itself, and its end waited for."""
        if name not in DETACHABLE or self._job.started.is_set():
            return self._target.call(
                name,
                arguments,
                deadline=deadline,
                read_only=read_only,
                blob=blob,
                sink=sink,
                on_progress=on_progress,
                parts=parts,
            )
        job = self._job
        started = {"jid": job.id, "name": name, "arguments": dict(arguments), "seconds": job.seconds}
        answer = self._target.call(
            "jobs.start", {**started, "environment": dict(job.environment)}, deadline=60.0, blob=blob, parts=parts
        )
        job.place = str(answer["results_file"])
        job.started.set()
        return self._await()

    def _await(self) -> Answer:
        """The answer of the job's call; a target that is lost for a while is asked again, since the job goes on."""
        lost = 0.0
        while True:
            try:
                found = self._target.call(
                    "jobs.status",
                    {"jid": self._job.id, "wait": _LOOK, "environment": dict(self._job.environment)},
                    deadline=_LOOK + 30.0,
                    read_only=True,
                )
            except (Unreachable, DeadlinePassed):
                lost += 2.0
                if lost > self._patience:
                    raise
                self._sleep(2.0)
                continue
            lost = 0.0
            if found.get("finished"):
                return _answer(found)


def _answer(found: Answer) -> Answer:
    failure = found.get("failure")
    if failure is None:
        return Answer(found.get("answer") or {})
    if failure["kind"] == "deadline":
        raise DeadlinePassed(failure["message"])
    raise CallFailed(failure["kind"], failure["message"], failure["details"])


def apply_async(
    apply: Callable[[Target], Applied],
    target: Target,
    seconds: float,
    poll: float,
    environment: Mapping[str, str],
    sleep: Callable[[float], None],
) -> Applied:
    """Run a step whose change goes on by itself for at most so many seconds; with poll 0 it is only started."""
    job = Job(seconds, environment)
    return (waited if poll else begun)(apply, target, job, sleep)


def waited(apply: Callable[[Target], Applied], target: Target, job: Job, sleep: Callable[[float], None]) -> Applied:
    """Run a step whose change goes on by itself, and wait for it (`poll` above 0)."""
    applied = apply(JobTarget(target, job, sleep, _PATIENCE))
    if job.place:
        applied.result.data |= job.said(finished=True)
    return applied


def begun(apply: Callable[[Target], Applied], target: Target, job: Job, sleep: Callable[[float], None]) -> Applied:
    """Start a step and give at once what is known of it; what becomes of it is written down on the target."""
    from cleanslate.runner.apply import Applied as Made

    failure: list[CleanslateError] = []
    over = threading.Event()

    def whole() -> None:
        try:
            applied = apply(JobTarget(target, job, sleep))
            values = {"jid": job.id, "values": applied.result.data, "environment": dict(job.environment)}
            if not job.place:
                _announce(target, job)
            target.call("jobs.settle", values, deadline=60.0)
        except CleanslateError as error:
            failure.append(error)  # before the start it is the step's; afterwards the job goes on without us
        finally:
            over.set()
            job.started.set()

    threading.Thread(target=whole, name=f"cleanslate-{job.id}", daemon=True).start()
    job.started.wait()
    if failure and not job.place:
        raise failure[0]
    return Made(Result(Status.CHANGED, {"changed": True, "failed": False, **job.said(finished=False)}))


def _announce(target: Target, job: Job) -> None:
    """Nothing went on by itself (nothing was to be done, or it failed before): write that down all the same."""
    arguments = {"jid": job.id, "environment": dict(job.environment)}
    job.place = str(target.call("jobs.announce", arguments, deadline=60.0)["results_file"])
