"""How two values differ, part by part, and the plain shapes that a comparison is told in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, field
from typing import Any

from cleanslate.dataclass import dataclass

MISSING = "(not there)"
"""What stands for a value that only the other run has."""
_MOST_PARTS = 12


@dataclass(frozen=True)
class Difference:
    """One thing that two runs do not share.

    kind: `commit`, `uncommitted`, `file`, `playbook`, `option`, `variable`, `inventory`, `version`, `target`,
    `argument`, `step`, `status`. `name` says which one; `hosts` are those it is about, empty for all; `notes` are
    lines that explain it (commits in between, files, places).
    """

    kind: str
    name: str
    before: Any
    after: Any
    hosts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


@dataclass
class Comparison:
    """Two runs side by side.

    `causes` is what was put in differently; `follows` what came out of that before anything was done (variables and
    arguments as rendered); `outcome` what came of it on the hosts. `timings` and `metrics` are (name, host, before,
    after); a metric is there whether it differs or not.
    """

    causes: list[Difference] = field(default_factory=list)
    follows: list[Difference] = field(default_factory=list)
    outcome: list[Difference] = field(default_factory=list)
    timings: list[dict[str, Any]] = field(default_factory=list)
    metrics: list[dict[str, Any]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        told = {name: [one.as_json() for one in getattr(self, name)] for name in ("causes", "follows", "outcome")}
        return {**told, "timings": self.timings, "metrics": self.metrics}


def parts(before: Any, after: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    """The parts in which two values differ: (path, before, after), as in `argv[3]` or `env.HF_HOME`."""
    found = list(_parts(before, after, path))
    return found if len(found) <= _MOST_PARTS else [(path, before, after)]


def _parts(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            inner = f"{path}.{key}" if path else str(key)
            yield from _parts(before.get(key, MISSING), after.get(key, MISSING), inner)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (left, right) in enumerate(zip(before, after, strict=True)):
            yield from _parts(left, right, f"{path}[{index}]")
    elif before != after or isinstance(before, bool) is not isinstance(after, bool):
        yield path, before, after


def grouped(found: Sequence[tuple[str, str, Difference]]) -> list[Difference]:
    """Differences of single hosts, as (host, key, difference): equal ones become one that names its hosts."""
    together: dict[str, tuple[Difference, list[str]]] = {}
    for host, key, one in found:
        together.setdefault(f"{key}\0{one.before!r}\0{one.after!r}", (one, []))[1].append(host)
    return [
        Difference(one.kind, one.name, one.before, one.after, tuple(sorted(set(hosts))), one.notes)
        for one, hosts in together.values()
    ]


class Roots:
    """The checkouts of two runs. Their paths are taken out of texts: a run in another checkout is the same run."""

    def __init__(self, roots: Sequence[str]) -> None:
        self._prefixes = [f"{root}/" for root in sorted(set(roots), key=len, reverse=True) if len(root) > 1]

    def without(self, value: Any) -> Any:
        """The value, deep, without the paths."""
        if isinstance(value, str):
            for prefix in self._prefixes:
                value = value.replace(prefix, "")
            return value
        if isinstance(value, Mapping):
            return {self.without(key): self.without(item) for key, item in value.items()}
        return [self.without(item) for item in value] if isinstance(value, list) else value
