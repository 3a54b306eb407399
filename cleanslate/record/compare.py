"""Compares two records: first what was put in differently, then what came of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cleanslate.record.compare_steps import compare_outcomes
from cleanslate.record.differences import MISSING, Comparison, Difference, Roots, grouped, parts
from cleanslate.record.git import files_between, subjects_between
from cleanslate.record.reading import read_run

# How it was shown and waited for, and what is compared as something else.
_SHOWN = ("output", "verbose", "list_hosts", "list_tasks", "list_tags", "syntax_check", "wait", "detach", "clean")
_NO_MATTER = frozenset((*_SHOWN, "name", "extra_vars", "inventory"))


def compare(before: Path, after: Path, *, repository: Path | None = None) -> Comparison:
    """Compare two records, given by their folders. `repository` is asked what lies between two commits."""
    facts = read_run(before), read_run(after)
    roots = Roots([_root(one) for one in facts])
    left, right = (_rooted(one, roots) for one in facts)
    found = Comparison()
    variables = list(_variables(left, right))
    found.causes += [one for one, is_cause in variables if is_cause]
    found.follows += [one for one, is_cause in variables if not is_cause]
    places = {note.partition(":")[0] for one in found.causes for note in one.notes}
    code = list(_code(left, right, repository or Path(right["root"]), places))
    more = (*_playbook(left, right), *_options(left, right), *found.causes, *_inventory(left, right))
    found.causes = [*code, *more, *_versions(left, right), *_targets(left, right)]
    compare_outcomes(found, left, right, before, after, roots)
    return found


def _root(facts: Mapping[str, Any]) -> str:
    return str(facts.get("root") or os.path.dirname(os.path.dirname(str(facts.get("playbook")))))  # noqa: PTH120 - text


def _rooted(facts: dict[str, Any], roots: Roots) -> dict[str, Any]:
    """The facts with the checkouts' paths taken out of texts."""
    shown: dict[str, Any] = roots.without({key: value for key, value in facts.items() if key != "kept"})
    return {**shown, "root": _root(facts), "kept": facts.get("kept") or {}}


# --------------------------------------------------------------------------- code


def _code(left: dict[str, Any], right: dict[str, Any], repository: Path, explained: set[str]) -> Iterator[Difference]:
    """Commit, uncommitted changes, and files that neither explains.

    Files of nothing but variables that are told as such (`explained`) are not told again.
    """
    digests = [facts.get("files") or {} for facts in (left, right)]
    changed = {name for name in set(digests[0]) & set(digests[1]) if digests[0][name] != digests[1][name]}
    of_steps = {
        str(step.get("origin")).partition(":")[0] for facts in (left, right) for step in facts.get("steps") or ()
    }
    explained = explained - of_steps
    commits = left.get("commit"), right.get("commit")
    if commits[0] != commits[1]:
        between = files_between(repository, str(commits[0]), str(commits[1])) if all(commits) else None
        by_commit = {name for name in changed if between is None or name in between}
        changed -= by_commit
        notes = [*_subjects(repository, *commits), *sorted(by_commit)]
        yield Difference("commit", "commit", commits[0], commits[1], notes=tuple(notes))
    loose = [facts.get("uncommitted") or {} for facts in (left, right)]
    named = {str(name) for one in loose for name in one.get("files") or ()}
    if _essence(loose[0]) != _essence(loose[1]):
        differ = named & changed or named - set(digests[0]) - set(digests[1])
        shown = sorted(differ - explained)
        if shown or not named:
            was, now = (one.get("sha256", MISSING) for one in loose)
            yield Difference("uncommitted", "uncommitted changes", was, now, notes=tuple(shown))
    for name in sorted(changed - named - explained):
        yield Difference("file", name, digests[0][name], digests[1][name])


def _subjects(repository: Path, before: str | None, after: str | None) -> list[str]:
    if not (before and after):
        return []
    forward = subjects_between(repository, before, after)
    return forward or [f"back from {line}" for line in subjects_between(repository, after, before)]


def _essence(uncommitted: Mapping[str, Any]) -> str:
    """A diff without what another commit below it changes: blob ids and line numbers."""
    if "diff" not in uncommitted:
        return str(uncommitted.get("sha256"))
    return re.sub(r"^(index [0-9a-f]+\.\.|@@ ).*$", r"\1", uncommitted["diff"], flags=re.M)


# --------------------------------------------------------------------------- options, inventory, versions, targets


def _playbook(left: dict[str, Any], right: dict[str, Any]) -> Iterator[Difference]:
    if left.get("playbook") != right.get("playbook"):
        yield Difference("playbook", "playbook", left.get("playbook"), right.get("playbook"))


def _options(left: dict[str, Any], right: dict[str, Any]) -> Iterator[Difference]:
    before, after = left.get("options") or {}, right.get("options") or {}
    for name in dict.fromkeys((*before, *after)):
        if name not in _NO_MATTER and before.get(name) != after.get(name) and (before.get(name) or after.get(name)):
            yield Difference("option", f"--{name.replace('_', '-')}", before.get(name), after.get(name))
    sources = [_sources(facts, options) for facts, options in ((left, before), (right, after))]
    if sources[0] != sources[1]:
        yield Difference("option", "--inventory", sources[0], sources[1])


def _sources(facts: dict[str, Any], options: Mapping[str, Any]) -> list[str]:
    """Inventory sources in the form that does not depend on where the person stood."""
    if "sources" in facts:
        return [str(text) for text in facts["sources"]]
    cwd = str(facts.get("cwd") or "")
    base = "" if cwd in ("", facts["root"]) else cwd
    given = [str(text) for text in options.get("inventory") or ()]
    return [text if "," in text else os.path.normpath(os.path.join(base, text)) for text in given]  # noqa: PTH118 - text


def _inventory(left: dict[str, Any], right: dict[str, Any]) -> Iterator[Difference]:
    """Hosts and groups, and variables of hosts that took no part (`hostvars` may have been asked for them)."""
    inventories = [facts.get("inventory") or {} for facts in (left, right)]
    hosts = [one.get("hosts") or {} for one in inventories]
    groups = [one.get("groups") or {} for one in inventories]
    for name in sorted({*hosts[0], *hosts[1]}):
        if (name in hosts[0]) != (name in hosts[1]):
            was, now = ("there" if name in side else MISSING for side in hosts)
            yield Difference("inventory", f"host {name}", was, now)
        elif name not in _hosts_with_variables(left, right):
            for path, before, after in parts(hosts[0][name], hosts[1][name]):
                yield Difference("variable", path, before, after, (name,))
    for name in sorted({*groups[0], *groups[1]}):
        members = [sorted(side.get(name, {}).get("hosts") or ()) for side in groups]
        below = [sorted(side.get(name, {}).get("children") or ()) for side in groups]
        if members[0] != members[1] or below[0] != below[1]:
            yield Difference("inventory", f"group {name}", members[0] + below[0], members[1] + below[1])


def _versions(left: dict[str, Any], right: dict[str, Any]) -> Iterator[Difference]:
    before, after = left.get("versions") or {}, right.get("versions") or {}
    for name in before:
        if name in after and before[name] != after[name]:
            yield Difference("version", name, before[name], after[name])


def _targets(left: dict[str, Any], right: dict[str, Any]) -> Iterator[Difference]:
    """What both runs saw of a target, and saw differently."""
    before, after = left.get("targets") or {}, right.get("targets") or {}
    found = []
    for host in set(before) & set(after):
        for name, old, new in target_parts(before[host], after[host]):
            found.append((host, name, Difference("target", name, old, new)))
    yield from grouped(sorted(found, key=lambda one: one[:2]))


def target_parts(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """What is known of a target on both sides and differs: (name, before, after); GPUs as a list of those that do."""
    for name in before:
        if name == "gpus" and name in after:
            gpus = [[_gpu(one) for one in side["gpus"]] for side in (before, after)]
            old, new = ([one for one in gpus[side] if one not in gpus[1 - side]] for side in (0, 1))
            if old or new:
                yield name, old, new
        elif name in after:
            yield from parts(before[name], after[name], name)


def _gpu(gpu: Mapping[str, Any]) -> str:
    return " ".join(str(gpu[key]) for key in ("index", "name", "uuid") if gpu.get(key) is not None)


# --------------------------------------------------------------------------- variables


def _hosts_with_variables(left: dict[str, Any], right: dict[str, Any]) -> set[str]:
    return set(_by_host(left)) & set(_by_host(right))


def _by_host(facts: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By host, and then by name, what was kept of the variable."""
    found: dict[str, dict[str, Any]] = {}
    for name, entries in (facts.get("variables") or {}).items():
        for entry in entries:
            for host in entry["hosts"]:
                found.setdefault(host, {})[name] = entry
    return found


def _variables(left: dict[str, Any], right: dict[str, Any]) -> Iterator[tuple[Difference, bool]]:
    """Variables that differ on hosts that took part in both; True where they were written differently."""
    before, after = _by_host(left), _by_host(right)
    found: dict[bool, list[tuple[str, str, Difference]]] = {True: [], False: []}
    for host in sorted(set(before) & set(after)):
        for name in sorted({*before[host], *after[host]}):
            old, new = before[host].get(name), after[host].get(name)
            is_cause = _written(old) != _written(new)
            values = (_written(old), _written(new)) if is_cause else (_value(old), _value(new))
            place = (new or old or {}).get("from")
            for path, left_part, right_part in parts(*values, name):
                one = Difference("variable", path, left_part, right_part, notes=(place,) if place else ())
                found[is_cause].append((host, path, one))
    for is_cause, each in found.items():
        yield from ((one, is_cause) for one in grouped(each))


def _written(entry: Mapping[str, Any] | None) -> Any:
    return MISSING if entry is None else entry.get("written", entry.get("value"))


def _value(entry: Mapping[str, Any] | None) -> Any:
    return MISSING if entry is None else entry.get("error", entry.get("value"))
