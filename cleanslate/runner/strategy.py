"""Which hosts' work runs together: `linear` (step by step, all hosts at once) and `free` (each at its own pace)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Protocol

from cleanslate.dataclass import dataclass
from cleanslate.model import Result, Status
from cleanslate.runner.outcome import Done
from cleanslate.runner.program import HostEnded, HostFailed, HostProgram, Walk, Work
from cleanslate.steps.registry import step_type

if TYPE_CHECKING:
    from cleanslate.runner.state import HostState


class Executor(Protocol):
    """What a strategy needs of the play that it runs (run.py)."""

    pool: ThreadPoolExecutor

    def execute(self, host: str, work: Work) -> Done:
        """Run work on one host, in the calling thread."""

    def announce(self, work: Work, hosts: list[str]) -> None:
        """Tell that a step starts on these hosts."""

    def finished(self, program: HostProgram, work: Work, done: Done) -> None:
        """Settle what became of work on a host: events, counts, handlers."""

    def cut(self, program: HostProgram, work: Work, why: str) -> None:
        """Tell that a host goes no further on its way, through no fault of its own."""

    def throttle(self, work: Work) -> int | None:
        """How many hosts may run this work at once; None for all."""

    def fatal(self, work: Work) -> bool:
        """Whether a failure of this work is one for every host."""

    def ended(self) -> bool:
        """Whether `meta: end_play` or `end_batch` has ended the play for every host."""

    def over_limit(self, failed: int) -> bool:
        """Whether so many failed hosts are more than max_fail_percentage lets."""

    def runs_once(self, host: str, work: Work) -> bool:
        """Whether the work runs on one host for all that reach it together."""

    def share(self, done: Done, work: Work, others: list[str]) -> None:
        """Give the result of work that ran once to the hosts it did not run on."""

    @property
    def stopping(self) -> bool:
        """Whether the run was asked to stop."""

    @property
    def lease_lost(self) -> bool:
        """Whether a machine of the run is somebody else's now."""

    def must_drain(self) -> bool:
        """True once, after the run was asked to stop: from then on only `always` parts run."""


INTERRUPTED = "the run was stopped before this step"
LEASE_LOST = "somebody else holds the lease of a host of this run"


@dataclass(eq=False)
class Lane:
    """One host's program under way: its generator, and the work it waits for."""

    program: HostProgram
    walk: Walk
    work: Work | None = None
    failure: HostFailed | None = None
    ended: bool = False

    @property
    def state(self) -> HostState:
        """The host's state."""
        return self.program.state

    def advance(self, step: Callable[[], Work]) -> None:
        """Resume the generator and keep what it wants next, or how it ended."""
        try:
            self.work = step()
        except StopIteration:
            self.work = None
        except HostFailed as failure:
            self.work, self.failure = None, failure
            self.state.put_out(failure.result)
        except HostEnded:
            self.work, self.ended = None, True

    def start(self) -> None:
        """Run up to the first work."""
        self.advance(lambda: next(self.walk))

    def send(self, done: Done) -> None:
        """Give what became of the work, and run up to the next."""
        self.advance(lambda: self.walk.send(done))

    def fail(self, failure: HostFailed) -> None:
        """Fail the host where it stands; blocks may still rescue it, and always parts run."""
        self.advance(lambda: self.walk.throw(failure))


def lanes_for(programs: list[HostProgram]) -> list[Lane]:
    """Start every host's program."""
    lanes = [Lane(program, program.run()) for program in programs]
    for lane in lanes:
        lane.start()
    return lanes


def run_linear(executor: Executor, lanes: list[Lane]) -> None:
    """Run step by step: the earliest step that any host waits for, on all hosts that wait for it."""
    while True:
        if executor.must_drain():
            _fail_all(executor, lanes, INTERRUPTED, rescuable=False)
        waiting = [lane for lane in lanes if lane.work is not None]
        if not waiting:
            return
        first = min(waiting, key=lambda lane: _position(lane))
        work = first.work
        assert work is not None
        group = [lane for lane in waiting if _same(lane.work, work)]
        _run_group(executor, group, work, lanes)
        if executor.ended():
            return
        if executor.over_limit(sum(lane.failure is not None for lane in lanes)):
            _fail_all(executor, lanes, "more hosts failed than max_fail_percentage lets")


def _position(lane: Lane) -> tuple[int, ...]:
    assert lane.work is not None
    return lane.work.position


def _same(one: Work | None, other: Work) -> bool:
    return one is not None and one.position == other.position and one.step is other.step


def _run_group(executor: Executor, group: list[Lane], work: Work, lanes: list[Lane]) -> None:
    hosts = [lane.state.name for lane in group]
    if executor.runs_once(hosts[0], work):
        executor.announce(work, hosts[:1])
        done = executor.execute(hosts[0], work)
        executor.share(done, work, hosts[1:])
        executor.finished(group[0].program, work, done)
        outcomes = [done for _ in group]
    else:
        executor.announce(work, hosts)
        outcomes = _run_together(executor, group, work)
    failed = any(done.result.failed and not done.ignored for done in outcomes)
    fatal = failed and executor.fatal(work)
    for lane, done in zip(group, outcomes, strict=True):
        lane.send(done)
    if executor.must_drain():
        # Whoever was stopped in the middle of the step is on its way to its `always` parts; the others are sent there.
        unwinding = [lane for lane, done in zip(group, outcomes, strict=True) if done.result.failed]
        _fail_all(executor, [lane for lane in lanes if lane not in unwinding], INTERRUPTED, rescuable=False)
    elif executor.lease_lost:
        refused = [lane for lane, done in zip(group, outcomes, strict=True) if done.result.failed]
        _fail_all(executor, [lane for lane in lanes if lane not in refused], LEASE_LOST, rescuable=False)
    elif fatal:
        others = [lane for lane, done in zip(group, outcomes, strict=True) if not done.result.failed or done.ignored]
        _fail_all(executor, others, "another host failed, and any_errors_fatal is set")


def _run_together(executor: Executor, group: list[Lane], work: Work) -> list[Done]:
    """Run on every host of the group at once, each settled as soon as it is done."""

    def one(lane: Lane) -> Done:
        mine = lane.work or work
        done = executor.execute(lane.state.name, mine)
        executor.finished(lane.program, mine, done)
        return done

    if len(group) == 1 or executor.throttle(work) == 1 or not step_type(work.step.type).on_target:
        return [one(lane) for lane in group]
    limit = executor.throttle(work)
    gate = threading.BoundedSemaphore(limit) if limit else None

    def gated(lane: Lane) -> Done:
        if gate is None:
            return one(lane)
        with gate:
            return one(lane)

    futures: list[Future[Done]] = [executor.pool.submit(gated, lane) for lane in group]
    wait(futures)
    return [future.result() for future in futures]


def _fail_all(executor: Executor, lanes: list[Lane], why: str, *, rescuable: bool = True) -> None:
    for lane in lanes:
        if lane.work is not None:
            data = {"failed": True, "msg": why}
            executor.cut(lane.program, lane.work, why)
            lane.fail(HostFailed(Result(Status.FAILED, data), lane.work.step, rescuable=rescuable))


def run_free(executor: Executor, lanes: list[Lane]) -> None:
    """Run every host at its own pace, as many at once as there are threads."""
    drained: set[str] = set()

    def whole(lane: Lane) -> None:
        while lane.work is not None and not executor.ended():
            if (executor.stopping or executor.lease_lost) and lane.state.name not in drained:
                drained.add(lane.state.name)
                _fail_all(executor, [lane], INTERRUPTED if executor.stopping else LEASE_LOST, rescuable=False)
                continue
            work = lane.work
            executor.announce(work, [lane.state.name])
            done = executor.execute(lane.state.name, work)
            executor.finished(lane.program, work, done)
            lane.send(done)
            if (executor.stopping or executor.lease_lost) and done.result.failed:
                drained.add(lane.state.name)  # stopped in the middle of the step: it unwinds by itself

    futures = [executor.pool.submit(whole, lane) for lane in lanes]
    wait(futures)
    for future in futures:
        future.result()


STRATEGIES: dict[str, Callable[[Executor, list[Lane]], None]] = {
    "linear": run_linear,
    "free": run_free,
    "host_pinned": run_free,
}
