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
    cache = inventory.cache
    known: dict[str, list[str]] | None = cache.get(("members",))
    if known is None:
        known = cache["members",] = {group: members(inventory, group) for group in list(inventory.groups)}
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
    """Drop what was worked out from hosts and groups; what was read from files stays.

    The cache is another one afterwards: a thread that still works something out keeps it in the old one, where nobody
    looks any more, so that what it saw of a change half made is not believed later.
    """
    before = dict(inventory.cache)
    inventory.cache = {place: known for place, known in before.items() if place[0] in ("files", "names")}


def set_depths(inventory: Inventory) -> None:
    """Work out each group's parents and its depth, the longest way down from `all`; there are no circles."""
    groups = inventory.groups
    parents: dict[str, list[str]] = {name: [] for name in groups}
    for parent in groups.values():
        for name in parent.children:
            parents[name].append(parent.name)
    depths = dict.fromkeys(groups, 0)
    waiting = {name: len(above) for name, above in parents.items()}
    ready = [name for name, above in waiting.items() if not above]
    while ready:
        name = ready.pop()
        for child in groups[name].children:
            depths[child] = max(depths[child], depths[name] + 1)
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    for name, group in groups.items():  # at once, for whoever reads meanwhile
        group.parents, group.depth = parents[name], depths[name]
