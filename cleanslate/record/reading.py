"""Finds and reads records, also of runs that were killed."""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError, suggest
from cleanslate.model import Event
from cleanslate.record.order import newest_first
from cleanslate.record.outputs import put_back
from cleanslate.record.writing import VERSION

_HEAD = 2048  # bytes that are read for a list; a summary with the names of very many hosts does not fit
_OPENING = '{"summary": '
_DECODER = json.JSONDecoder()
_NUMBER, _LIST, _TEXT = (int, float, type(None)), (list, type(None)), (str, type(None))


class RunSummary:
    """What `inv runs` lists of a run. `outcome` is None while it goes, or when it was killed.

    A plain class over the summary's facts: there may be ten thousand of them.
    """

    __slots__ = ("_name", "_runs", "facts")

    def __init__(self, runs: Path, name: str, facts: Mapping[str, Any]) -> None:
        self.facts = facts
        self._runs = runs
        self._name = name

    @property
    def id(self) -> str:
        """The run's id; the folder's name, if a record does not know."""
        return str(self.facts.get("id") or self._name)

    @property
    def folder(self) -> Path:
        """Where the record lies."""
        return self._runs / self._name

    @property
    def playbook(self) -> str:
        """The playbook's path."""
        return str(self.facts.get("playbook") or "")

    @property
    def name(self) -> str:
        """The playbook's name, as `inv play` takes it."""
        file = self.playbook.rpartition("/")[2]
        return file.rpartition(".")[0] or file

    @property
    def started_at(self) -> float:
        """Seconds since the epoch."""
        return float(self.facts.get("started_at") or 0)

    @property
    def order(self) -> float:
        """Where it stands among the others: when it started, unless a clock that was ahead made that another place."""
        return float(self.facts.get("order") or self.started_at)

    @property
    def outcome(self) -> str | None:
        """`ok`, `failed`, ...; None where the run has not ended."""
        return self.facts.get("outcome")

    @property
    def exit_code(self) -> int | None:
        """The exit code of its process."""
        return self.facts.get("exit_code")

    @property
    def check(self) -> bool:
        """Whether it only foretold."""
        return bool(self.facts.get("check"))

    @property
    def user(self) -> str:
        """Who ran it."""
        return str(self.facts.get("user") or "")

    @property
    def seconds(self) -> float | None:
        """How long it took."""
        return self.facts.get("seconds")

    @property
    def hosts(self) -> list[str]:
        """The hosts that took part."""
        return list(self.facts.get("hosts") or ())


@dataclass(frozen=True)
class Wanted:
    """Which runs to list. Texts are patterns with wildcards; `since` is seconds since the epoch."""

    playbook: str | None = None
    host: str | None = None
    outcome: str | None = None
    since: float | None = None

    def takes(self, run: RunSummary) -> bool:
        """Whether a run is one of them. A run that has not ended has the outcome `none`."""
        if self.since is not None and run.started_at < self.since:
            return False
        if self.playbook and not _like(self.playbook, run.name, run.playbook):
            return False
        if self.outcome and not _like(self.outcome, run.outcome or "none"):
            return False
        return not self.host or _like(self.host, *run.hosts)


def _like(pattern: str, *texts: str) -> bool:
    return any(fnmatch.fnmatchcase(text, pattern) for text in texts)


def list_runs(runs: Path, wanted: Wanted | None = None, *, count: int | None = None) -> list[RunSummary]:
    """Runs, the newest first; a folder that is no record is passed over. Stops reading at `count`."""
    wanted = wanted or Wanted()
    if count is None:  # all are read, so they may as well be put in order afterwards, which is quicker
        found = [run for run in _each(runs, _in_turn) if wanted.takes(run)]
        return sorted(found, key=lambda run: run.order, reverse=True)
    return list(islice((run for run in walk_runs(runs) if wanted.takes(run)), count))


def walk_runs(runs: Path) -> Iterator[RunSummary]:
    """Every run, the newest first, each read when it is asked for."""
    return _each(runs, lambda names, read: newest_first(names, read, lambda run: run.order))


_Read = Callable[[str], RunSummary | None]


def _in_turn(names: Iterable[str], read: _Read) -> Iterator[RunSummary]:
    return (run for name in names if (run := read(name)) is not None)


def _each(runs: Path, walk: Callable[[list[str], _Read], Iterator[RunSummary]]) -> Iterator[RunSummary]:
    """What `walk` makes of the names of all runs, the highest first, and of a function that reads one."""
    if not runs.is_dir():
        return
    handle = os.open(runs, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        names = [name for name in os.listdir(handle) if name[0] != "."]  # noqa: PTH208 - relative to the open folder
        names.sort(reverse=True)
        yield from walk(names, lambda name: _summary(runs, name, handle))
    finally:
        os.close(handle)


def _summary(runs: Path, name: str, handle: int) -> RunSummary | None:
    """The summary from the first line of run.json; from all of it where it was written differently."""
    try:
        file = os.open(f"{name}/run.json", os.O_RDONLY | os.O_CLOEXEC, dir_fd=handle)
    except OSError:
        return None
    try:
        head = os.read(file, _HEAD).decode("utf-8", "replace")
    finally:
        os.close(file)
    try:
        if head.startswith(_OPENING):
            return _sound(runs, name, _DECODER.raw_decode(head, len(_OPENING))[0])
    except ValueError:
        pass  # the summary is longer than the head
    try:
        return _sound(runs, name, read_run(runs / name))
    except InputError:
        return None


def _sound(runs: Path, name: str, facts: Any) -> RunSummary | None:
    """The summary, if it can be one: what somebody has damaged or made by hand spoils no list."""
    if not isinstance(facts, dict):
        return None
    get = facts.get
    sound = (
        isinstance(get("started_at"), _NUMBER)
        and isinstance(get("order"), _NUMBER)
        and isinstance(get("hosts"), _LIST)
        and isinstance(get("outcome"), _TEXT)
    )
    return RunSummary(runs, name, facts) if sound else None


_KINDS: Mapping[str, Any] = {
    "id": str,
    "playbook": str,
    "started_at": int | float | None,
    "controller": str | None,
    "hosts": list | None,
    "outcome": str | None,
    "options": dict | None,
}
"""What a record must say, so that it can be worked with; everything else may be missing."""


def read_run(folder: Path) -> dict[str, Any]:
    """The facts of a run. Raises InputError where run.json cannot be read."""
    path = folder / "run.json"
    try:
        facts = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    if not isinstance(facts, dict):
        raise InputError(f"{path} is not a run's record")
    if isinstance(facts.get("version"), int) and facts["version"] > VERSION:
        raise InputError(f"{path} was written by a newer cleanslate", fix="update this one")
    facts.pop("summary", None)
    for key, kinds in _KINDS.items():
        if not isinstance(facts.get(key), kinds):
            raise InputError(f"{path} is not a run's record, or damaged: {key}")
    return facts


def read_events(folder: Path, *, whole: bool = True) -> Iterator[Event]:
    """The events in order; a last line that was cut off by a crash ends them quietly. InputError where one before it
    is damaged: what came after would be missing without a word.

    With `whole`, long outputs are read back from their files; without, they stay references, for those who only count.
    """
    try:
        lines = (folder / "events.jsonl").open(encoding="utf-8", errors="replace")
    except FileNotFoundError:  # killed before its first event
        return
    except OSError as error:
        raise InputError(
            f"{folder / 'events.jsonl'} cannot be read: {(error.strerror or str(error)).lower()}"
        ) from None
    with lines:
        for number, line in enumerate(lines, 1):
            try:
                kind, at, data = parsed(line)
            except ValueError:
                if line.endswith("\n") and lines.read(1):
                    raise InputError(f"{folder / 'events.jsonl'}:{number}: this line is damaged") from None
                return
            if whole and '"__output__"' in line:
                data = put_back(data, folder)
            yield Event(kind, data, at)


def parsed(line: str) -> tuple[str, float, dict[str, Any]]:
    """An event's kind, time and data from its line; ValueError where the line is damaged."""
    try:
        data = json.loads(line)
        return str(data.pop("kind")), float(data.pop("at")), data
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(str(error)) from None


def find_run(runs: Path, wanted: str) -> Path:
    """The folder of a run: an id, a unique prefix of one, `last`, `last-good`, `last-failed`, or `PLAYBOOK@-N`."""
    if (Path(wanted) / "run.json").is_file():
        return Path(wanted).absolute()
    if "@" in wanted or wanted in _RELATIVE:
        return _relative(runs, wanted)
    names = sorted(entry.name for entry in runs.iterdir() if not entry.name.startswith(".")) if runs.is_dir() else []
    if not names:
        raise InputError(f"there are no runs in {runs}")
    near = [wanted] if wanted in names else [name for name in names if name.startswith(wanted)]
    near = [name for name in near if (runs / name / "run.json").is_file()]
    if len(near) == 1:
        return runs / near[0]
    if near:
        ids = ", ".join(near[:3])
        raise InputError(f'"{wanted}" could be {len(near)} runs: {ids}{", ..." if len(near) > 3 else ""}')
    hint = suggest(wanted, [*names[-500:], *_RELATIVE])
    raise InputError(f'there is no run "{wanted}"', fix=hint or "see `inv runs`")


_RELATIVE = ("last", "last-good", "last-failed")


def _relative(runs: Path, wanted: str) -> Path:
    name, at, back = wanted.partition("@")
    if at and not back.lstrip("-").isdigit():
        raise InputError(f'"{wanted}": after @ stands how far to go back, as in {name or "restart"}@-2')
    index = max(1, abs(int(back))) - 1 if at else 0
    seen = 0
    for run in walk_runs(runs):
        if _is_meant(run, name if at else "", "" if at else wanted):
            if seen == index:
                return run.folder
            seen += 1
    total = _count(walk_runs(runs))
    if not total:
        raise InputError(f"there are no runs in {runs}")
    raise InputError(f'there is no run "{wanted}": {seen} of the {total} runs match')


def _is_meant(run: RunSummary, playbook: str, relative: str) -> bool:
    if playbook and run.name != playbook:
        return False
    if relative in ("", "last"):
        return True
    return run.outcome is not None and (run.outcome == "ok") == (relative == "last-good")


def _count(runs: Iterable[RunSummary]) -> int:
    return sum(1 for _ in runs)
