"""`inv play`: read, check, then run a playbook."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleanslate.cli.asking import Asker, connection_variables
from cleanslate.cli.loading import Loaded, PlayOptions, load, source, words
from cleanslate.cli.settings import Settings
from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError

if TYPE_CHECKING:
    from cleanslate.record import RunRecord
    from cleanslate.record.collecting import Collector
    from cleanslate.record.provenance import Provenance
    from cleanslate.runner.replay import Replay
    from cleanslate.runner.world import World


def play(options: PlayOptions, settings: Settings) -> int:
    """Run a playbook; gives the exit code. InputError for everything that can be known without a host."""
    from cleanslate.report import OUTPUTS

    if options.output not in OUTPUTS:
        raise InputError(f'there is no output "{options.output}"', fix=f"one of {', '.join(OUTPUTS)}")
    loaded = load(options, settings)
    for problem in loaded.warnings:
        print(problem, file=sys.stderr)
    if options.syntax_check:
        print(f"playbook: {options.name}")
        return 0
    if options.list_hosts or options.list_tasks or options.list_tags:
        from cleanslate.cli.listing import list_plays

        list_plays(loaded, options)
        return 0
    if options.clean:
        from cleanslate.record.provenance import refuse_changes

        refuse_changes(settings.root)
    if options.detach:
        return _detached(options, settings, loaded)
    return run_loaded(options, settings, loaded)


def _detached(options: PlayOptions, settings: Settings, loaded: Loaded) -> int:
    """Run in the background; what would have to ask somebody is refused."""
    from cleanslate.cli.background import detach
    from cleanslate.record import new_run_id

    if options.step or options.ask_pass or options.ask_become_pass:
        raise InputError("a run in the background cannot ask anybody", fix="leave out --step, --ask-pass, ...")
    run_id = new_run_id(loaded.playbook.path.stem, settings.runs)
    return detach(settings.runs, run_id, lambda: run_loaded(options, settings, loaded, run_id=run_id))


@dataclass(frozen=True)
class Going:
    """The run that this one goes on with: what it has done, its id, and `over`: runs that have surely ended."""

    replay: Replay
    run: str
    over: Sequence[str] = ()


def run_loaded(
    options: PlayOptions, settings: Settings, loaded: Loaded, going: Going | None = None, run_id: str | None = None
) -> int:
    """Run what was read and checked, keep a record of it, and show it; gives the exit code."""
    from cleanslate.connect.connections import RunConnections
    from cleanslate.record import RunRecord, new_run_id
    from cleanslate.record.collecting import Collector
    from cleanslate.record.earlier import earlier_result
    from cleanslate.report import reporter
    from cleanslate.runner.run import run_playbook, who
    from cleanslate.runner.settings import LeaseWish, RunSettings

    wait = seconds_of(options.wait)
    run_id = run_id or new_run_id(loaded.playbook.path.stem, settings.runs)
    asker = Asker()
    become_password = asker.become_password(loaded.secrets) if options.ask_become_pass else None
    connection_vars = connection_variables(options, loaded.secrets)
    known = _provenance(loaded, options, settings, who())
    known.facts["pid"], known.facts["pid_start"] = os.getpid(), process_start(os.getpid())
    known.facts["resume_of"] = going.run if going else None
    record = RunRecord(settings.runs, run_id, known.facts)
    collector = Collector(record, known, loaded.secrets)
    run_settings = RunSettings(
        base=settings.root,
        check=options.check,
        diff=options.diff,
        tags=words(options.tags),
        skip_tags=words(options.skip_tags),
        limit=options.limit,
        forks=options.forks or settings.forks,
        start_at=options.start_at_task,
        confirm_steps=options.step,
        force_handlers=options.force_handlers,
        extra_vars=loaded.extra_vars,
        connection_vars=connection_vars,
        become=True if options.become else None,
        become_user=options.become_user,
        verbosity=options.verbose,
        ask=asker if sys.stdin.isatty() else None,
        decrypt=loaded.decrypt,
        used=collector.used,
        lease=LeaseWish(_holder(run_id, known.facts) | {"succeeds": list(going.over if going else ())}, wait),
        replay=going.replay if going else None,
        on_hangup=settings.on_hangup,
        reload=loaded.reload,
        earlier=lambda run, step, kind, host: earlier_result(settings.runs, run, step, kind, host, besides=run_id),
    )
    _pack_modules()
    connections = RunConnections(
        accept_new_host_keys=options.accept_new_host_keys or settings.accept_new_host_keys,
        become_password=become_password,
    )
    shown = _while_heard(reporter(options.output, sys.stdout, verbosity=options.verbose, show_diff=options.diff))
    listeners: list[Callable[[Any], None]] = [collector, record, shown]
    if options.verbose:
        from cleanslate.report.log import EventLog

        listeners.append(EventLog(sys.stderr, verbosity=options.verbose))
    try:
        outcome = run_playbook(
            loaded.playbook,
            loaded.inventory,
            run_settings,
            connections,
            secrets=loaded.secrets,
            listeners=listeners,
            run_id=run_id,
            info={key: known.facts[key] for key in ("argv", "user", "controller", "commit")},
            watch=lambda world: _watch(world, collector, record),
        )
    finally:
        connections.close()
        collector.close()
        record.close()
        if settings.notify is not None:
            from cleanslate.cli.notifying import notify

            notify(settings, record.folder)
    if record.trouble is not None:
        print(f"error: {record.trouble}; the run was stopped; make room, then: inv resume {run_id}", file=sys.stderr)
        return 1
    if outcome.exit_code == 130:
        print(f"to go on: inv resume {run_id}", file=sys.stderr)
    return outcome.exit_code


def _pack_modules() -> None:
    """Where the playbook uses modules of Ansible's, start to package them while hosts are being reached."""
    from cleanslate.steps import registry

    if any(step_type.options is not None or step_type.background for step_type in registry.added()):
        from cleanslate.modules import begin

        begin()


def _watch(world: World, collector: Collector, record: RunRecord) -> None:
    """Have the record see the world of the run, and a run stop in order that can be recorded no more."""

    def trouble(text: str) -> None:
        world.warning(text)
        world.stop()

    collector.watch(world)
    record.on_trouble = trouble


def _while_heard(tell: Callable[[Any], None]) -> Callable[[Any], None]:
    """Tell a terminal until it is gone; the run goes on, or stops in order, without it."""
    gone = False

    def listener(event: Any) -> None:
        nonlocal gone
        if not gone:
            try:
                tell(event)
            except BrokenPipeError:
                raise
            except OSError:
                gone = True

    return listener


def process_start(pid: int) -> str | None:
    """When a process began, in clock ticks since boot; None when there is none, or only what is left of one."""
    try:
        parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if parts[0] in "ZX" else parts[19]


def seconds_of(given: str | None) -> float:
    """How long to wait, from `30`, `10m`, `1h`; 0 where nothing is said."""
    from cleanslate.steps.spellings import seconds

    try:
        return seconds(given) if given is not None else 0.0
    except ValueError as error:
        raise InputError(f"--wait: {error}") from None


def _holder(run_id: str, facts: dict[str, Any]) -> dict[str, Any]:
    """What others are told of a run that holds a host."""
    return {
        "run": run_id,
        "who": facts["user"],
        "from": facts["controller"],
        "playbook": Path(facts["playbook"]).stem,
        "since": facts["started_at"],
    }


def _provenance(loaded: Loaded, options: PlayOptions, settings: Settings, user: str) -> Provenance:
    """What the record keeps of how the run was started."""
    from cleanslate.record.order import place_of
    from cleanslate.record.provenance import provenance

    now = time.time()
    loaded.secrets.learn(loaded.extra_vars)
    known = provenance(
        settings.root,
        loaded.playbook,
        loaded.inventory,
        loaded.extra_vars,
        loaded.secrets,
        asdict(options),
        [source(text) for text in options.inventory] or list(settings.inventory),
    )
    known.facts = {
        "playbook": str(loaded.playbook.path),
        "started_at": now,
        "order": place_of(settings.runs, now),
        "argv": ["rerun", settings.rerun_of] if settings.rerun_of else loaded.secrets.redact(sys.argv[1:]),
        "user": user,
        "controller": os.uname().nodename,
        "cwd": str(Path.cwd()),
        "check": options.check,
        "rerun_of": settings.rerun_of,
        **known.facts,
    }
    return known
