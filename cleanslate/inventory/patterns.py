"""Host patterns: `web:&gpu:!old`, `a,b`, `node*`, `~node[0-9]+`, `gpu[0]`, `gpu[1:3]`, and limits with `@file`."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from pathlib import Path

from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError, Origin, Problems
from cleanslate.inventory.names import LOCALHOSTS, is_one_host
from cleanslate.inventory.tree import members
from cleanslate.model import Inventory, origin_of

# Names, separated by blanks or colons; a colon within brackets belongs to a range.
_WORDS = re.compile(r"(?:[^\s:\[\]]|\[[^\]]*\])+")
_SUBSCRIPT = re.compile(r"^(?P<name>.+)\[(?:(?P<index>-?\d+)|(?P<first>\d*)[:-](?P<last>\d*))\]$")
_NEGATIVE_RANGE = re.compile(r"^.+\[-\d+:-?\d*\]$|^.+\[\d*:-\d+\]$")


def match_hosts(
    pattern: str | Sequence[str],
    inventory: Inventory,
    *,
    limit: str | None = None,
    problems: Problems | None = None,
) -> list[str]:
    """Give the hosts that a pattern means, in Ansible's order: as the pattern names them, then as the inventory does.

    A group without hosts gives none; a pattern that names nothing in the inventory raises InputError, and so
    does a limit. Parts of it that name nothing while others do are warnings, added to `problems`.
    """
    origin = origin_of(pattern)
    chosen = _Evaluation(inventory, origin, problems).hosts(split_pattern(pattern))
    if limit is None or not split_pattern(limit):
        return chosen
    limited = _Evaluation(inventory, Origin("--limit"), problems)
    allowed = set(limited.hosts(_with_files(split_pattern(limit))))
    return [host for host in chosen if host in allowed]


def split_pattern(pattern: str | Sequence[str]) -> list[str]:
    """Part a pattern at commas, or without any at colons and blanks; addresses and ranges keep their colons."""
    if not isinstance(pattern, str):
        return [piece for part in pattern for piece in split_pattern(part)]
    if "," in pattern:
        pieces = [piece.strip() for piece in pattern.split(",")]
    elif is_one_host(pattern.strip()):
        pieces = [pattern.strip()]
    else:
        pieces = _WORDS.findall(pattern)
    return [piece for piece in pieces if piece]


def localhost_name(inventory: Inventory, name: str) -> str | None:
    """The host that `localhost` means: one of its names in the inventory, else itself; None for other names."""
    if name not in LOCALHOSTS:
        return None
    return next((known for known in LOCALHOSTS if known in inventory.hosts), name)


def _with_files(pieces: list[str]) -> list[str]:
    found: list[str] = []
    for piece in pieces:
        if not piece.startswith("@"):
            found.append(piece)
            continue
        try:
            lines = Path(piece[1:]).expanduser().read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            what = f'the file of hosts "{piece[1:]}" cannot be read: {getattr(error, "strerror", None) or error}'
            raise InputError(what, origin=Origin("--limit"), fix="it holds one host or pattern a line") from None
        found.extend(line.strip() for line in lines if line.strip())
    return found


@dataclass
class _Evaluation:
    """Works out one pattern; what it cannot make sense of is told with the pattern's place."""

    inventory: Inventory
    origin: Origin | None
    problems: Problems | None

    def hosts(self, pieces: list[str]) -> list[str]:
        if not pieces:
            raise InputError("the host pattern is empty", origin=self.origin, fix='name hosts or groups, or "all"')
        included = [piece for piece in pieces if piece[0] not in "!&"]
        chosen = self._included(included, pieces) if included else self._matches("all") or []
        for piece in (piece for piece in pieces if piece[0] == "&"):
            kept = self._matches(self._operand(piece))
            if kept is None:
                raise self._nothing(piece[1:], [piece])
            allowed = set(kept)
            chosen = [host for host in chosen if host in allowed]
        for piece in (piece for piece in pieces if piece[0] == "!"):
            dropped = self._matches(self._operand(piece))
            if dropped is None:
                self._warn(piece[1:])
            refused = set(dropped or ())
            chosen = [host for host in chosen if host not in refused]
        return list(dict.fromkeys(chosen))

    def _included(self, included: list[str], pieces: list[str]) -> list[str]:
        found = [[piece] if piece in self.inventory.hosts else self._matches(piece) for piece in included]
        if all(names is None for names in found):
            raise self._nothing(included[0], pieces if len(included) > 1 else included)
        for piece, names in zip(included, found, strict=True):
            if names is None:
                self._warn(piece)
        return [name for names in found for name in names or ()]

    def _operand(self, piece: str) -> str:
        if len(piece) == 1:
            raise InputError(f'"{piece}" in the host pattern has no name after it', origin=self.origin)
        return piece[1:]

    def _matches(self, piece: str) -> list[str] | None:
        """The hosts of one piece without its `!` or `&`; None when the inventory has nothing of that name."""
        if piece.startswith("~"):
            return self._named(self._regex(piece))
        if _NEGATIVE_RANGE.match(piece):
            raise InputError(
                f'"{piece}": a range of hosts counts from the first, 0',
                origin=self.origin,
                fix="only a single index may be negative, as [-1]",
            )
        subscript = _SUBSCRIPT.match(piece)
        if not subscript:
            return self._simple(piece)
        hosts = self._simple(subscript["name"])
        return hosts and self._subscripted(piece, subscript, hosts)

    def _simple(self, name: str) -> list[str] | None:
        """The hosts of a group, of a wildcard, or the one of that name."""
        if any(special in name for special in "*?["):
            return self._named(re.compile(fnmatch.translate(name)))
        if name in self.inventory.groups:
            return members(self.inventory, name)
        if name in self.inventory.hosts:
            return [name]
        local = localhost_name(self.inventory, name)
        return [local] if local else None

    def _named(self, regex: re.Pattern[str]) -> list[str] | None:
        groups = [group for group in self.inventory.groups if regex.match(group)]
        hosts = [host for host in self.inventory.hosts if regex.match(host)]
        if not groups and not hosts:
            return None
        found = [host for group in groups for host in members(self.inventory, group)]
        return list(dict.fromkeys([*found, *hosts]))

    def _regex(self, piece: str) -> re.Pattern[str]:
        try:
            return re.compile(piece[1:])
        except re.error as error:
            raise InputError(
                f'"{piece}" is not a regular expression: {error}',
                origin=self.origin,
                fix='":" and "," part a pattern, also within an expression',
            ) from None

    def _subscripted(self, piece: str, subscript: re.Match[str], hosts: list[str]) -> list[str]:
        if subscript["index"] is None:
            first = int(subscript["first"] or 0)
            last = int(subscript["last"]) if subscript["last"] else len(hosts) - 1
            return hosts[first : last + 1]
        try:
            return [hosts[int(subscript["index"])]]
        except IndexError:
            name = subscript["name"]
            raise InputError(
                f'"{piece}": "{name}" has {len(hosts)} hosts, counted from 0',
                origin=self.origin,
                fix=f'the last one is "{name}[-1]"',
            ) from None

    def _nothing(self, piece: str, pieces: list[str]) -> InputError:
        named = piece if len(pieces) == 1 else ",".join(pieces)
        what = f'the pattern "{named}" matches no host and no group of the inventory'
        return InputError(what, origin=self.origin, fix=self._near(piece))

    def _warn(self, piece: str) -> None:
        if len(_WORDS.findall(piece)) > 1 and not is_one_host(piece):
            raise InputError(
                f'the pattern mixes "," and ":" at "{piece}"',
                origin=self.origin,
                fix='part the names with "," throughout',
            )
        if self.problems is not None:
            what = f'"{piece}" in the pattern matches no host and no group of the inventory'
            self.problems.add(what, self.origin, fix=self._near(piece), severity="warning")

    def _near(self, piece: str) -> str:
        known = [*self.inventory.groups, *self.inventory.hosts]
        name, colon, port = piece.rpartition(":")
        if colon and port.isdigit() and name in known:
            return f'patterns name hosts without their ports: "{name}"'
        import difflib

        near = difflib.get_close_matches(piece, known, n=3, cutoff=0.6 if len(piece) > 3 else 0.5)
        if near:
            return "did you mean " + " or ".join(f'"{name}"' for name in near) + "?"
        groups = [name for name in self.inventory.groups if name not in ("all", "ungrouped")]
        if groups:
            more = ", ..." if len(groups) > 8 else ""
            return f"the groups are: {', '.join(groups[:8])}{more}"
        if not self.inventory.hosts:
            return "the inventory has no hosts"
        more = ", ..." if len(self.inventory.hosts) > 8 else ""
        return f"the hosts are: {', '.join(list(self.inventory.hosts)[:8])}{more}"
