"""Groups of modules, as collections name them in their meta/runtime.yml: what `group/NAME` in module_defaults means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from cleanslate.modules.find import Module, ansible_root, collection_roots, runtime


@cache
def groups_of(module: Module) -> tuple[str, ...]:
    """Every `group/NAME` that a module is in."""
    space, _, short = module.full_name.rpartition(".")
    found = [f"group/{space}.{name}" for name, members in _groups(module.roots, space) if _has(members, space, short)]
    wider = [
        f"group/{prefix}{name}"
        for name, members in _groups(module.roots, "ansible.builtin")
        if any(f"group/{one}" in found for one in _extended(members))
        for prefix in ("", "ansible.builtin.")
    ]
    return tuple(dict.fromkeys([*wider, *found]))


def is_group(name: str, beside: Sequence[Path]) -> bool:
    """Whether `group/NAME` is a group of ansible-core or of a collection that is installed."""
    roots = collection_roots(beside)
    space, _, short = name.removeprefix("group/").rpartition(".")
    return short in dict(_groups(roots, space or "ansible.builtin"))


def _groups(roots: Sequence[Path], collection: str) -> Iterator[tuple[str, list[Any]]]:
    root = ansible_root()
    if collection in ("ansible.builtin", "ansible.legacy"):
        files = [root / "config/ansible_builtin_runtime.yml"] if root else []
    else:
        files = [one.joinpath(*collection.split("."), "meta/runtime.yml") for one in roots]
    for file in files:
        for name, members in (runtime(file).get("action_groups") or {}).items():
            yield str(name), list(members or ())


def _has(members: Sequence[Any], collection: str, short: str) -> bool:
    return short in members or f"{collection}.{short}" in members


def _extended(members: Sequence[Any]) -> Iterator[str]:
    for member in members:
        if isinstance(member, dict):
            yield from (member.get("metadata") or {}).get("extend_group") or ()
