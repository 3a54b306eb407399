"""`inv resume RUN`: go on after an interruption or a failure, on each host at its first step without a final result."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleanslate.cli.loading import PlayOptions, load
from cleanslate.cli.play import Going, process_start, run_loaded
from cleanslate.cli.settings import Settings
from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError, Problem

if TYPE_CHECKING:
    from cleanslate.model import Playbook
    from cleanslate.runner.past import HostPast


@dataclass(frozen=True)
class ResumeOptions:
    """The command line of `inv resume`. `unfinished`: what to do with a step that may have run: again, done or None."""

    force: bool = False
    unfinished: str | None = None
    wait: str | None = None
    output: str | None = None
    verbose: int = 0
    extra_vars: Sequence[str] = ()
    vault_id: Sequence[str] = ()
    vault_password_file: Sequence[str] = ()
    ask_vault_password: bool = False


def resume(wanted: str, given: ResumeOptions, settings: Settings) -> int:
    """Go on with a run, as a new run whose record points back; gives the exit code."""
    from cleanslate.record import find_run, read_run
    from cleanslate.runner.past import differences
    from cleanslate.runner.replay import Replay

    folder = find_run(settings.runs, wanted)
    facts = read_run(folder)
    _refuse_what_cannot_go_on(facts)
    if not given.force:
        _refuse_what_was_gone_on_with(settings.runs, str(facts["id"]))
    past, before, over = _done_until(folder, facts)
    with contextlib.suppress(OSError):
        os.chdir(str(facts.get("cwd") or "."))  # its inventories and files were named from there
    options = options_of(facts, given)
    loaded = load(options, settings)
    told = differences(past, before, loaded.playbook)
    if told and not given.force:
        raise InputError(
            problems=[*map(Problem, told), Problem("the part that was done may not differ", fix="--force")]
        )
    for text in told:
        print(f"warning: {text}", file=sys.stderr)
    settled = _settle(past, loaded.playbook, given.unfinished)
    if options.output in ("console", "plain"):
        _tell(facts, past)
    going = Going(Replay(past, force=given.force, settled=settled), facts["id"], over)
    with _alone(folder):
        return run_loaded(options, settings, loaded, going)


def _refuse_what_was_gone_on_with(runs: Path, wanted: str) -> None:
    """A later run has gone on with it: what that one did is not known here."""
    from cleanslate.record import walk_runs

    for run in walk_runs(runs):
        if run.id == wanted:
            return
        if run.facts.get("resume_of") == wanted:
            how = run.outcome or "not ended in order"
            again = f"inv rerun {wanted}" if run.outcome == "ok" else f"inv resume {run.id}"
            raise InputError(f"{run.id} has gone on with {wanted} already ({how})", fix=f"{again}, or --force")


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Be the only one who goes on with a run; what lies there in the record of it says nothing by itself."""
    import fcntl

    try:
        handle = os.open(folder / "run.json", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"{folder / 'run.json'} cannot be read: {error.strerror}") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"somebody goes on with {folder.name} just now", fix="see inv runs") from None
        yield
    finally:
        os.close(handle)


def _done_until(folder: Path, facts: Mapping[str, Any]) -> tuple[dict[str, HostPast], set[str], list[str]]:
    """What a run has done on each host, the digests of the steps that it knew, and the runs that are surely over.

    With what the runs before it had done, where it went on with one and was lost before it had gone over all of that.
    """
    from cleanslate.record import read_events, read_run
    from cleanslate.runner.past import joined, past_of
    from cleanslate.runner.run import EVENTS

    events = list(read_events(folder))
    newer = next(
        (e.data["version"] for e in events if e.kind == "run.started" and e.data.get("version", 1) > EVENTS), 0
    )
    if newer:
        raise InputError(
            f"the events of {folder.name} are of version {newer}, and this knows {EVENTS}", fix="update it"
        )
    try:
        past = past_of(events)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the events of {folder.name} do not fit together, so it is damaged: {error!r}") from None
    known = {str(one) for event in events if event.kind == "run.started" for one in event.data.get("steps", ())}
    over = [facts["id"]] if facts.get("controller") == socket.gethostname() else []
    earlier = folder.parent / str(facts.get("resume_of"))
    if facts.get("resume_of") and (earlier / "run.json").is_file():
        done, also, before = _done_until(earlier, read_run(earlier))
        return joined(past, done), known | also, over + before
    return past, known, over


def _refuse_what_cannot_go_on(facts: Mapping[str, Any]) -> None:
    name = facts["id"]
    if facts.get("check"):
        raise InputError(f"{name} only foretold, so there is nothing to go on from", fix="inv play")
    if facts.get("outcome") == "ok":
        raise InputError(f"{name} has ended well", fix=f"to do the same again: inv rerun {name}")
    if is_going(facts):
        raise InputError(f"{name} is still going", fix=f"follow it with inv attach {name}, or stop it: inv stop {name}")


def is_going(facts: Mapping[str, Any]) -> bool:
    """Whether the run's process lives, on this machine; a pid alone may belong to somebody else by now."""
    if facts.get("outcome") is not None or facts.get("controller") != socket.gethostname():
        return False
    return facts.get("pid") is not None and process_start(int(facts["pid"])) == facts.get("pid_start")


def options_of(facts: Mapping[str, Any], given: ResumeOptions) -> PlayOptions:
    """The options of the run that goes on; secrets among them are not in the record, and are given again."""
    from cleanslate.redaction import MASK

    known = {one.name for one in fields(PlayOptions)}
    kept = {key: value for key, value in (facts.get("options") or {}).items() if key in known}
    options = PlayOptions(**{**kept, "name": str(facts["playbook"])})
    again = [text for text in options.extra_vars if MASK in str(text)]
    if again and not given.extra_vars:
        names = ", ".join(str(text).partition("=")[0] for text in again)
        raise InputError(f"the record does not keep secrets, so say again: {names}", fix="-e NAME=VALUE")
    options.extra_vars = [*(text for text in options.extra_vars if text not in again), *given.extra_vars]
    options.output = given.output or options.output
    options.wait, options.verbose = given.wait, given.verbose or options.verbose
    options.start_at_task = None
    for name in ("vault_id", "vault_password_file", "ask_vault_password"):
        if getattr(given, name):
            setattr(options, name, getattr(given, name))
    return options


def _settle(past: Mapping[str, HostPast], playbook: Playbook, unfinished: str | None) -> list[tuple[str, str]]:
    """Decide on steps that may have run and are not safe to repeat; gives those that count as done (host, digest)."""
    if unfinished not in (None, "again", "done"):
        raise InputError(f'--unfinished is again or done, not "{unfinished}"')
    asked = {host: one for host, one in past.items() if one.open is not None and _asks(one, playbook)}
    settled, open_questions = [], []
    for host, one in asked.items():
        assert one.open is not None
        items = f"; of its items these were done: {', '.join(one.items)}" if one.items else ""
        text = f'{host}: step "{one.open.name}" ({one.open.origin}) may have run: {one.why}{items}'
        choice = unfinished or _ask(text)
        if choice is None:
            open_questions.append(Problem(text, fix="look, then say --unfinished again, or --unfinished done"))
        elif choice == "done":
            settled.append((host, one.open.digest))
    if open_questions:
        raise InputError(problems=open_questions)
    return settled


def _asks(past: HostPast, playbook: Playbook) -> bool:
    """Whether the open step must not simply be run again: a command that may change something each time."""
    from cleanslate.runner.past import digest_of, steps_of
    from cleanslate.steps.registry import step_names, step_type

    assert past.open is not None
    if past.open.type not in step_names() or not past.alters:
        return False
    kind = step_type(past.open.type)
    step = next((one for one in steps_of(playbook) if digest_of(one) == past.open.digest), None)
    harmless = step is not None and step.keywords.changed_when == (False,)
    return kind.on_target and not (kind.repeatable or kind.only_reads or harmless)


def _ask(text: str) -> str | None:
    if not sys.stdin.isatty():
        return None
    print(text)
    answer = input("Run it (a)gain, take it as (d)one, or (s)top? ").strip().lower()[:1]
    return {"a": "again", "d": "done"}.get(answer)


def _tell(facts: Mapping[str, Any], past: Mapping[str, HostPast]) -> None:
    """Say what was done, and what is looked at again."""
    print(f"going on with {facts['id']} ({facts.get('outcome') or 'not ended in order'})")
    for host, one in past.items():
        changed = sum(1 for entry in one.done if entry.data["status"] == "changed")
        again = [entry.step.name for entry in one.done if entry.again]
        print(f"  {host}: {len(one.done)} steps are done, {changed} of them changed something")
        if again:
            print(f"    checked again: {', '.join(again)}")
        if one.open is not None:
            print(f"    goes on at: {one.open.name}")
