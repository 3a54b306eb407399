"""Runs that go on without a terminal: `inv play --detach`, `inv attach RUN`, `inv stop RUN`."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from cleanslate.cli.resume import is_going
from cleanslate.cli.settings import Settings
from cleanslate.errors import InputError

_LOOK = 0.1  # seconds between looks at a record that another process writes
_BEGIN = 30.0  # seconds in which a run in the background must have made its record


def detach(runs: Path, run_id: str, work: Callable[[], int]) -> int:
    """Do the work in a process of its own that no terminal can end; gives 0 once its record is there."""
    try:
        runs.mkdir(parents=True, exist_ok=True, mode=0o700)
        (runs / f".{run_id}.log").touch(mode=0o600)
    except OSError as error:
        raise InputError(f"no record can be kept in {runs}: {(error.strerror or str(error)).lower()}") from None
    sys.stdout.flush()
    sys.stderr.flush()
    if os.fork() == 0:
        os._exit(_alone(runs / f".{run_id}.log", work))
    until = time.monotonic() + _BEGIN
    while not (runs / run_id / "run.json").is_file():
        if time.monotonic() > until:
            raise InputError(f"the run did not begin; see {runs / f'.{run_id}.log'}")
        time.sleep(_LOOK / 10)
    with contextlib.suppress(OSError):  # what it says goes on there; only a run that cannot begin leaves it outside
        (runs / f".{run_id}.log").rename(runs / run_id / "said.log")
    print(run_id)
    print(f"follow it: inv attach {run_id}    stop it: inv stop {run_id}", file=sys.stderr)
    return 0


def _alone(log: Path, work: Callable[[], int]) -> int:
    """What the child does: leave session and terminal, and run; what it says goes to a file."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDONLY)
    told = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for descriptor, stream in ((null, 0), (told, 1), (told, 2)):
        os.dup2(descriptor, stream)
    try:
        code = work()
    except BaseException:  # noqa: BLE001 - nobody is there to be told; the file is
        import traceback

        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def attach(settings: Settings, wanted: str, output: str, verbosity: int) -> int:
    """Follow a run to its end, from its beginning; gives its exit code. Ctrl-C leaves it going."""
    from cleanslate.model import Event
    from cleanslate.record import find_run, read_run
    from cleanslate.record.outputs import put_back
    from cleanslate.record.reading import parsed
    from cleanslate.report import reporter

    folder = find_run(settings.runs, wanted)
    tell = reporter(output, sys.stdout, verbosity=verbosity)
    for line in _lines(folder):
        try:
            kind, at, data = parsed(line)
        except ValueError:
            raise InputError(f"{folder / 'events.jsonl'} is damaged: {line[:60]!r}") from None
        event = Event(kind, put_back(data, folder), at)
        tell(event)
        if event.kind == "run.finished":
            return int(event.data["exit_code"])
    print(f"{read_run(folder)['id']} has not ended in order: its controller was killed", file=sys.stderr)
    print(f"to go on: inv resume {folder.name}", file=sys.stderr)
    return 1


def _lines(folder: Path) -> Iterator[str]:
    """The lines of a record as they are written, until the run is over or its process is gone."""
    from cleanslate.record import read_run

    try:
        file = (folder / "events.jsonl").open(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(
            f"{folder / 'events.jsonl'} cannot be read: {(error.strerror or str(error)).lower()}"
        ) from None
    with file:
        rest = ""
        while True:
            going = is_going(read_run(folder))
            for text in iter(lambda: file.read(65536), ""):
                *whole, rest = (rest + text).split("\n")
                yield from whole
            if not going:
                return
            time.sleep(_LOOK)


def stop(settings: Settings, wanted: str, seconds: float) -> int:
    """Stop a run as Ctrl-C would, and wait for its end; gives 0 when it has ended."""
    from cleanslate.record import find_run, read_run

    folder = find_run(settings.runs, wanted)
    facts = read_run(folder)
    if not is_going(facts):
        where = f" (it was started on {facts.get('controller')})" if facts.get("outcome") is None else ""
        raise InputError(f"{folder.name} is not going here{where}")
    os.kill(int(facts["pid"]), signal.SIGTERM)
    until = time.monotonic() + seconds
    while is_going(read_run(folder)):
        if time.monotonic() > until:
            print(f"{folder.name} was told to stop, and has not ended yet", file=sys.stderr)
            return 1
        time.sleep(_LOOK)
    print(f"{folder.name}: {read_run(folder).get('outcome') or 'ended'}; to go on: inv resume {folder.name}")
    return 0
