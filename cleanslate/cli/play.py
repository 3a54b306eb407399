"""`inv play`: read, check, then run a playbook."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleanslate.cli.settings import Settings, find_playbook
from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError, Problems
from cleanslate.model import Inventory, Playbook, SourceMap
from cleanslate.redaction import Secrets

if TYPE_CHECKING:
    from cleanslate.record import RunRecord
    from cleanslate.record.collecting import Collector
    from cleanslate.record.provenance import Provenance
    from cleanslate.runner.replay import Replay
    from cleanslate.runner.world import World

Decrypt = Callable[[str], str]


@dataclass
class PlayOptions:
    """The command line of `inv play`, as given. Names are Ansible's."""

    name: str
    inventory: Sequence[str] = ()
    limit: str | None = None
    extra_vars: Sequence[str] = ()
    tags: Sequence[str] = ()
    skip_tags: Sequence[str] = ()
    check: bool = False
    diff: bool = False
    start_at_task: str | None = None
    step: bool = False
    forks: int = 0
    vault_id: Sequence[str] = ()
    vault_password_file: Sequence[str] = ()
    ask_vault_password: bool = False
    output: str = "console"
    verbose: int = 0
    user: str | None = None
    private_key: str | None = None
    connection: str | None = None
    become: bool = False
    become_user: str | None = None
    become_method: str | None = None
    ask_become_pass: bool = False
    ask_pass: bool = False
    force_handlers: bool = False
    accept_new_host_keys: bool = False
    list_hosts: bool = False
    list_tasks: bool = False
    list_tags: bool = False
    syntax_check: bool = False
    wait: str | None = None
    detach: bool = False
    clean: bool = False


@dataclass
class Loaded:
    """Everything that is read before a host is touched."""

    playbook: Playbook
    inventory: Inventory
    extra_vars: SourceMap
    secrets: Secrets
    decrypt: Decrypt | None
    warnings: list[Any] = field(default_factory=list)
    reload: Callable[[], Inventory] | None = None


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
    run_id = new_run_id(loaded.playbook.path.stem)
    return detach(settings.runs, run_id, lambda: run_loaded(options, settings, loaded, run_id=run_id))


def load(options: PlayOptions, settings: Settings, *, lint: bool = False) -> Loaded:
    """Read inventory, variables and playbook, and check them together; every mistake is in the InputError.

    With `lint`, what runs and is probably not meant is among the warnings.
    """
    from cleanslate.cli.extra_vars import extra_variables
    from cleanslate.inventory import check_variable_files, load_inventory, match_hosts
    from cleanslate.playbook import check_playbook, load_playbook

    path = find_playbook(settings.root, options.name)
    secrets = Secrets()
    decrypt = vault_of(options, secrets)
    problems = Problems()
    extra_vars: SourceMap = _collect(problems, lambda: extra_variables(options.extra_vars, decrypt)) or SourceMap()
    sources = [_source(text) for text in options.inventory] or list(settings.inventory)
    here = Path.cwd()

    def read_inventory() -> Inventory:
        return load_inventory(sources, base=here, vault=decrypt)

    inventory = _collect(problems, read_inventory)
    playbook = _collect(problems, lambda: load_playbook(path, vault=decrypt, problems=problems, extra_vars=extra_vars))
    if inventory is not None:
        check_variable_files(inventory, playbook_dir=path.parent, vault=decrypt, problems=problems)
        problems.found += inventory.warnings
        if options.limit:
            _collect(problems, lambda: match_hosts("all", inventory, limit=options.limit))
    if playbook is not None and inventory is not None:
        check_playbook(playbook, inventory, extra_vars=extra_vars, problems=problems, vault=decrypt, lint=lint)
    problems.raise_if_any()
    assert playbook is not None
    assert inventory is not None
    warnings = [problem for problem in problems.found if problem.severity == "warning"]
    return Loaded(playbook, inventory, extra_vars, secrets, decrypt, warnings, read_inventory)


def _source(text: str) -> str:
    """A source as given; a path relative to where the person stands becomes absolute."""
    return text if "," in text else str(Path(text).expanduser().absolute())


def _collect(problems: Problems, load: Callable[[], Any]) -> Any:
    """Load something; its mistakes join the others instead of hiding them."""
    try:
        return load()
    except InputError as error:
        problems.include(error)
        return None


def vault_of(options: PlayOptions, secrets: Secrets) -> Decrypt | None:
    """The vault keys that were named; without any, files that need one say so when they are read."""
    named = options.vault_id or options.vault_password_file or options.ask_vault_password
    if not (named or os.environ.get("ANSIBLE_VAULT_PASSWORD_FILE")):
        return None
    from cleanslate.cli.vault_options import vault_keys

    return vault_keys(options, secrets)


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
    run_id = run_id or new_run_id(loaded.playbook.path.stem)
    asker = _Asker()
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


def words(given: Sequence[str]) -> list[str]:
    """Tags as given: several options, each with commas."""
    return [word.strip() for text in given for word in text.split(",") if word.strip()]


def connection_variables(options: PlayOptions, secrets: Secrets) -> dict[str, Any]:
    """What the command line says of connections; variables of the inventory win over it, as in Ansible."""
    said: dict[str, Any] = {
        "ansible_user": options.user,
        "ansible_ssh_private_key_file": options.private_key,
        "ansible_connection": options.connection,
        "ansible_become_method": options.become_method,
    }
    if options.ask_pass:
        import getpass

        said["ansible_password"] = getpass.getpass("SSH password: ")
        secrets.add(said["ansible_password"])
    return {name: value for name, value in said.items() if value is not None}


class _Asker:
    """Asks the person at the terminal."""

    def __call__(self, prompt: str, echo: bool, seconds: float | None) -> str | None:
        """Ask; None when the seconds ran out."""
        if not echo:
            import getpass

            return getpass.getpass(f"{prompt}: ")
        print(f"{prompt}: ", end="", flush=True)
        if seconds is not None:
            import select

            ready, _, _ = select.select([sys.stdin], [], [], seconds)
            if not ready:
                print()
                return None
        return sys.stdin.readline().rstrip("\n")

    def become_password(self, secrets: Secrets) -> Callable[[], str]:
        """A function that asks for the become password, once."""
        known: list[str] = []

        def ask() -> str:
            if not known:
                import getpass

                known.append(getpass.getpass("BECOME password: "))
                secrets.add(known[0])
            return known[0]

        return ask


def _provenance(loaded: Loaded, options: PlayOptions, settings: Settings, user: str) -> Provenance:
    """What the record keeps of how the run was started."""
    from cleanslate.record.provenance import provenance

    loaded.secrets.learn(loaded.extra_vars)
    known = provenance(
        settings.root,
        loaded.playbook,
        loaded.inventory,
        loaded.extra_vars,
        loaded.secrets,
        asdict(options),
        [_source(text) for text in options.inventory] or list(settings.inventory),
    )
    known.facts = {
        "playbook": str(loaded.playbook.path),
        "started_at": time.time(),
        "argv": ["rerun", settings.rerun_of] if settings.rerun_of else loaded.secrets.redact(sys.argv[1:]),
        "user": user,
        "controller": os.uname().nodename,
        "cwd": str(Path.cwd()),
        "check": options.check,
        "rerun_of": settings.rerun_of,
        **known.facts,
    }
    return known
