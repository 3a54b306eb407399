"""How groups hold one another: members, ancestors, depth, and the order in which their variables apply."""

from __future__ import annotations

from cleanslate.model import Group, Host, Inventory


def descendants(inventory: Inventory, group: str) -> list[str]:
    """The group itself, its children, their children ...: level by level, each level in the order written."""
    ordered = {group: None}
    level = [group]
    while level:
        below = [child for name in level for child in inventory.groups[name].children]
        level = [child for child in dict.fromkeys(below) if child not in ordered]
        ordered.update(dict.fromkeys(level))
    return list(ordered)


def members(inventory: Inventory, group: str) -> list[str]:
    """All hosts of a group and of the groups below it, each once, in Ansible's order."""
    names = (host for name in descendants(inventory, group) for host in inventory.groups[name].hosts)
    return list(dict.fromkeys(names))


def all_members(inventory: Inventory) -> dict[str, list[str]]:
    """Each group with all of its hosts: what playbooks read as `groups`. Worked out once, until something is added."""
    known: dict[str, list[str]] | None = inventory.cache.get(("members",))
    if known is None:
        known = inventory.cache["members",] = {group: members(inventory, group) for group in inventory.groups}
    return known


def ancestors(inventory: Inventory, groups: list[str]) -> set[str]:
    """The given groups and everything above them."""
    found: set[str] = set()
    waiting = list(groups)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(inventory.groups[name].parents)
    return found


def groups_of(inventory: Inventory, host: Host) -> list[Group]:
    """A host's groups without `all`, those that win last: by depth, then priority, then name."""
    names = ancestors(inventory, host.groups) - {"all"}
    found = [inventory.groups[name] for name in names]
    return sorted(found, key=lambda group: (group.depth, group.priority, group.name))


def forget_structure(inventory: Inventory) -> None:
    """Drop what was worked out from hosts and groups; what was read from files stays."""
    kept = {place: known for place, known in inventory.cache.items() if place[0] in ("files", "names")}
    inventory.cache.clear()
    inventory.cache.update(kept)


def set_depths(inventory: Inventory) -> None:
    """Work out each group's parents and its depth, the longest way down from `all`; there are no circles."""
    groups = inventory.groups
    for group in groups.values():
        group.parents, group.depth = [], 0
    for parent in groups.values():
        for name in parent.children:
            groups[name].parents.append(parent.name)
    waiting = {name: len(group.parents) for name, group in groups.items()}
    ready = [name for name, above in waiting.items() if not above]
    while ready:
        parent = groups[ready.pop()]
        for child in (groups[name] for name in parent.children):
            child.depth = max(child.depth, parent.depth + 1)
            waiting[child.name] -= 1
            if not waiting[child.name]:
                ready.append(child.name)
