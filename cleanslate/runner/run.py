"""One execution of a playbook, from its first event to its last."""

from __future__ import annotations

import getpass
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError, LeaseHeld, RenderError
from cleanslate.model import Inventory, Play, Playbook, Role
from cleanslate.redaction import Secrets
from cleanslate.runner.batches import batches, hosts_of, ordered
from cleanslate.runner.bus import Bus, Listener
from cleanslate.runner.past import digest_of, steps_of
from cleanslate.runner.play import BatchRun
from cleanslate.runner.program import HostProgram
from cleanslate.runner.roles import all_roles
from cleanslate.runner.scope import PlayScope
from cleanslate.runner.settings import RunSettings
from cleanslate.runner.signals import stopping_on_signals
from cleanslate.runner.state import RECAP_KEYS
from cleanslate.runner.strategy import STRATEGIES, lanes_for
from cleanslate.runner.variables import VariableWorld
from cleanslate.runner.world import World, worst_exit

if TYPE_CHECKING:
    from cleanslate.connect.target import Connections
    from cleanslate.model import Result


@dataclass
class RunOutcome:
    """How a run ended. `exit_code` is the process's; `stopped_at` the step that a stop found under way."""

    exit_code: int
    outcome: str
    recap: dict[str, dict[str, int]]
    seconds: float
    stopped_at: str | None = None


@dataclass
class _Run:
    """The run while it goes."""

    world: World
    playbook: Playbook
    pool: ThreadPoolExecutor
    broken: bool = False


EVENTS = 1
"""The version of the events (docs/events.md): higher when a key goes or means something else, not when one is added."""
OUTCOMES = {0: "ok", 1: "error", 2: "failed", 4: "unreachable", 5: "lease held", 6: "wedged", 130: "interrupted"}


def run_playbook(
    playbook: Playbook,
    inventory: Inventory,
    settings: RunSettings,
    connections: Connections,
    *,
    secrets: Secrets,
    listeners: Iterable[Listener],
    run_id: str,
    info: Mapping[str, Any] | None = None,
    watch: Callable[[World], None] | None = None,
) -> RunOutcome:
    """Run every play. Host failures end up in the outcome; InputError only for what no check could know before.

    `info` joins the run.started event (argv, user, commit ...). `watch` is given the run's world before its first
    event, for records that need more than events tell. The caller closes `connections`.
    """
    bus = Bus(secrets, listeners)
    variables = VariableWorld(inventory, settings, playbook.path, secrets, _run_info(settings))
    world = World(settings, variables, connections, bus, secrets)
    if watch is not None:
        watch(world)
    began = time.monotonic()
    plays = [str(play.name or play.hosts) for play in playbook.plays]
    bus.emit(
        "run.started",
        run=run_id,
        version=EVENTS,
        playbook=str(playbook.path),
        plays=plays,
        check=settings.check,
        limit=settings.limit,
        tags=list(settings.tags),
        skip_tags=list(settings.skip_tags),
        steps=[digest_of(step) for step in steps_of(playbook)],
        **dict(info or {}),
    )
    exit_code, stopped_at = 1, None
    try:
        with stopping_on_signals(world), ThreadPoolExecutor(settings.forks, thread_name_prefix="cleanslate") as pool:
            run = _Run(world, playbook, pool)
            _take_leases(run)
            for index, play in enumerate(playbook.plays):
                if run.broken or world.stop_requested.is_set():
                    break
                _run_play(run, index, play)
            exit_code = 130 if world.stop_requested.is_set() else worst_exit(_failures(world))
    except KeyboardInterrupt:
        exit_code = 130
    except LeaseHeld as held:
        world.warning(str(held))
        exit_code = 5
    finally:
        world.over()
        if world.sampling is not None:
            world.sampling.end()
        world.tell_short_secrets()
        recap = _recap(world)
        outcome = OUTCOMES.get(exit_code, "failed")
        seconds = time.monotonic() - began
        stopped_at = world.last_step if exit_code == 130 else None
        bus.emit(
            "run.finished",
            run=run_id,
            outcome=outcome,
            exit_code=exit_code,
            seconds=round(seconds, 3),
            recap=recap,
            stopped_at=stopped_at,
        )
        connections.let_go(outcome)
    return RunOutcome(exit_code, outcome, recap, seconds, stopped_at)


def _run_info(settings: RunSettings) -> dict[str, Any]:
    """What variables show of the run itself."""
    return {
        "ansible_check_mode": settings.check,
        "ansible_diff_mode": settings.diff,
        "ansible_forks": settings.forks,
        "ansible_limit": settings.limit,
        "ansible_verbosity": settings.verbosity,
        "ansible_run_tags": list(settings.tags) or ["all"],
        "ansible_skip_tags": list(settings.skip_tags),
        "ansible_playbook_python": sys.executable,
        "ansible_version": {"full": "2.19.0", "major": 2, "minor": 19, "revision": 0, "string": "2.19.0"},
    }


def _failures(world: World) -> list[Result]:
    """What has put hosts out of the run, unless `meta: clear_host_errors` has taken them in again."""
    return [state.failure for state in world.variables.states.values() if state.failure is not None]


def _recap(world: World) -> dict[str, dict[str, int]]:
    """The counts of every host that did anything."""
    return {
        name: {key: state.recap[key] for key in RECAP_KEYS}
        for name, state in world.variables.states.items()
        if sum(state.recap.values())
    }


# --------------------------------------------------------------------------- plays and batches


def _take_leases(run: _Run) -> None:
    """Hold the machines of all plays before the first step of the first: a run that is refused has touched nothing."""
    world = run.world
    if world.leases is None:
        return
    for play in run.playbook.plays[1:]:
        try:
            hosts = hosts_of(world, play, quiet=True)
            world.leases.take(PlayScope(play, _visible_roles(play.roles), hosts_all=hosts), run.pool)
        except (InputError, RenderError):
            continue  # its hosts are not known before the plays in front of it have run


def _run_play(run: _Run, index: int, play: Play) -> None:
    world = run.world
    world.variables.enter(play)
    hosts = hosts_of(world, play)
    taking = [name for name in hosts if world.variables.state(name).active]
    world.bus.emit("play.started", play=index, name=str(play.name or play.hosts), hosts=taking, origin=str(play.origin))
    if not taking:
        world.bus.emit("play.empty", play=index, name=str(play.name or play.hosts))
        return
    scope = PlayScope(play, _visible_roles((*play.roles, *play.imported_roles)), hosts_all=hosts)
    scope.role_names = [role.name for role in (*play.roles, *play.imported_roles)]
    scope.prompts = _prompts(world, play)
    _learn_secrets(world, scope)
    world.tell_short_secrets()
    world.scope = scope
    if world.leases is not None:
        world.leases.take(replace(scope, hosts_all=taking), run.pool)
    for batch in batches(world, scope, ordered(play, hosts)):
        scope.batch = batch
        before = {name for name in batch if not world.variables.state(name).active}
        batch_run = BatchRun(world, scope, run.pool)
        _run_batch(run, batch_run, batch)
        gone = [name for name in batch if not world.variables.state(name).active and name not in before]
        run.broken = run.broken or world.lease_lost or len(gone) == len(batch) or (bool(gone) and _breaks(batch_run))
        if run.broken or batch_run.play_ended or world.stop_requested.is_set():
            break
    world.bus.emit("play.finished", play=index, name=str(play.name or play.hosts))


def _learn_secrets(world: World, scope: PlayScope) -> None:
    """What stands under names that look secret in the play and in its roles is not shown anywhere."""
    world.variables.learn_secrets(scope.play.vars)
    for role in (*all_roles(scope.play.roles), *scope.play.imported_roles):
        for values in (role.defaults, role.vars, role.params):
            world.variables.learn_secrets(values)


def _breaks(batch: BatchRun) -> bool:
    """Whether a failure in this batch ends the whole run."""
    states = [batch.world.variables.state(name) for name in batch.scope.batch]
    return batch.fatal_play() or batch.over_limit(sum(state.failed or state.unreachable for state in states))


def _run_batch(run: _Run, batch_run: BatchRun, batch: Sequence[str]) -> None:
    states = [run.world.variables.state(name) for name in batch]
    programs = [HostProgram(batch_run, state) for state in states if state.active]
    lanes = lanes_for(programs)
    STRATEGIES[batch_run.play.strategy](batch_run, lanes)


def _visible_roles(roles: Sequence[Role]) -> list[Role]:
    return [role for role in all_roles(roles) if role.public]


def _prompts(world: World, play: Play) -> dict[str, Any]:
    """Ask for vars_prompt's variables that -e has not given."""
    answers: dict[str, Any] = {}
    for prompt in play.vars_prompt:
        name = str(prompt["name"])
        if name in world.settings.extra_vars:
            continue
        text = str(prompt.get("prompt", name))
        private = prompt.get("private", True) not in (False, "no", "false")
        answer = None
        if world.settings.ask is not None:
            answer = world.settings.ask(text, not private, None)
        if not answer:
            if "default" not in prompt:
                raise InputError(
                    f'vars_prompt "{name}" has no answer and no default',
                    origin=prompt.origin,
                    fix=f"run it in a terminal, or give -e {name}=...",
                )
            answer = prompt["default"]
        if private and isinstance(answer, str):
            world.secrets.add(answer, name)
        answers[name] = answer
    return answers


def who() -> str:
    """The person that runs this."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
