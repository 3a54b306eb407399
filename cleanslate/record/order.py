"""Which run began later, also where the clock was set back, local time came twice, or a second was shared."""

from __future__ import annotations

import calendar
import heapq
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

_ZONES = 13 * 3600.0  # seconds that local time is behind UTC at most, and a little
_STEP = 0.001  # seconds

Found = TypeVar("Found")


def latest_start(name: str) -> float:
    """The latest moment, in seconds since the epoch, at which a run with this id can have begun, in any time zone.

    Endless for a name that does not begin as ids do.
    """
    day, clock = name[:8], name[9:15]
    if not (day.isdigit() and clock.isdigit() and len(clock) == 6 and name[8:9] == "-" and "01" <= day[4:6] <= "12"):
        return math.inf
    parts = (int(day[:4]), int(day[4:6]), int(day[6:]), int(clock[:2]), int(clock[2:4]), int(clock[4:]))
    return calendar.timegm(parts) + _ZONES if parts[0] else math.inf


def newest_first(
    names: Iterable[str], read: Callable[[str], Found | None], began: Callable[[Found], float]
) -> Iterator[Found]:
    """Read runs whose names are given from the highest down, those that began last first; only as many as it takes to
    know which is next.

    Ids sort by local time, which is nearly the order: among those of some hours the moments themselves decide.
    """
    waiting: list[tuple[float, int, Found]] = []
    for number, name in enumerate(names):
        latest = latest_start(name) if waiting else math.inf
        while waiting and -waiting[0][0] > latest:
            yield heapq.heappop(waiting)[2]
        found = read(name)
        if found is not None:
            heapq.heappush(waiting, (-began(found), number, found))
    while waiting:
        yield heapq.heappop(waiting)[2]


def place_of(runs: Path, now: float) -> float:
    """Where a run that begins now stands in the order: `now`, or just behind a run that began before by a clock that
    was ahead.
    """
    from cleanslate.record.reading import walk_runs

    newest = next(walk_runs(runs), None)
    return now if newest is None or newest.order < now else newest.order + _STEP
