"""Hosts and groups that a run adds to its inventory: `add_host` and `group_by`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cleanslate.errors import InputError
from cleanslate.inventory.assembly import Assembly, assign, settle
from cleanslate.inventory.tree import forget_structure
from cleanslate.model import Inventory


def add_host(
    inventory: Inventory,
    name: str,
    groups: Sequence[str] = (),
    parents: Sequence[str] = (),
    variables: Mapping[str, Any] | None = None,
) -> None:
    """Add a host, or give one more groups and variables; the groups are made when new, below `parents`.

    Raises InputError when the groups would hold one another in a circle.
    """
    change = Assembly(inventory=inventory)
    for group in groups:
        change.group(group, None)
        for parent in parents:
            change.group(parent, None)
            change.child(parent, group, None)
        change.host(name, group, None, None)
    if name not in inventory.hosts:
        change.host(name, "ungrouped", None, None)
    for key, value in (variables or {}).items():
        assign(inventory.hosts[name], key, value, None, None)
    settle(inventory)
    forget_structure(inventory)
    if change.problems.errors:
        raise InputError(problems=change.problems.errors)
