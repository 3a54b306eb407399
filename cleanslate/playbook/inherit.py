"""How keywords pass from play to role to block to step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleanslate.errors import Origin, Problems
from cleanslate.model import Keywords, SourceMap, Step
from cleanslate.playbook.keywords import BLOCK, MISSING, Keyword, Place
from cleanslate.playbook.values import did_you_mean

_UNITED = ("when", "vars", "environment", "module_defaults")  # outermost first
NOTHING = Keywords()


def read_keywords(entry: SourceMap, table: Mapping[str, Keyword], problems: Problems, subject: str) -> dict[str, Any]:
    """The keywords of an entry, checked, by field of Keywords. Keys that are not in the table are left alone."""
    found: dict[str, Any] = {}
    for key, value in entry.items():
        keyword = table.get(key) if isinstance(key, str) else None
        if keyword is None or (value is None and keyword.field != "loop"):
            continue
        kept = keyword.read(value, Place(problems, subject, key, entry.value_origin(key)))
        if kept is not MISSING and keyword.field:
            found[keyword.field] = kept
    return found


def merge(outer: Keywords, own: Mapping[str, Any]) -> Keywords:
    """What holds inside: conditions, variables and the like add up, tags unite, and of the rest the nearest wins."""
    if not own:
        return outer
    values = dict(vars(outer))
    for name, value in own.items():
        if name in _UNITED:
            value = values[name] + value
        elif name == "tags":
            value = tuple(dict.fromkeys(values[name] + value))
        values[name] = value
    return Keywords(**values)


def inherited_by_include(step: Step, apply: Mapping[str, Any] | None = None) -> Keywords:
    """What the steps of an include take over: what stands around the include step, and its `apply`.

    Its own keywords are not handed down (as in Ansible): `when` decides about the include alone, and `vars` are
    parameters that the runner puts above other variables. Raises InputError when `apply` is wrong.
    """
    problems = Problems()
    own = read_apply(apply, problems, f"{step.type}: apply", step.origin)
    problems.raise_if_any()
    return merge(step.inherit, own)


def read_apply(apply: Any, problems: Problems, subject: str, origin: Origin | None) -> dict[str, Any]:
    """The keywords in an include's `apply`, checked."""
    if not apply:
        return {}
    if not isinstance(apply, Mapping):
        problems.add(f"{subject} takes a map of keywords", origin)
        return {}
    entry = apply if isinstance(apply, SourceMap) else SourceMap(apply, origin)
    for key in entry:
        if key not in BLOCK:
            fix = did_you_mean(str(key), BLOCK)
            problems.add(f'{subject} has no keyword "{key}"', entry.key_origin(key), fix=fix)
    return read_keywords(entry, BLOCK, problems, subject)
