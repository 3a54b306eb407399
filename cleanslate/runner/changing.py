"""What a run changes in its inventory: hosts that steps add, and sources that are read again."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from cleanslate.errors import InputError

if TYPE_CHECKING:
    from cleanslate.runner.variables import VariableWorld
    from cleanslate.runner.world import World
    from cleanslate.steps.behaviour import AddHost


class InventoryChanges:
    """The hosts that were added so far, and which steps have had the sources read again."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._added: list[AddHost] = []
        self._refreshed: set[Hashable] = set()
        self.gone: set[str] = set()  # hosts that the sources no longer name: the play goes on without them

    def add_host(self, asked: AddHost) -> None:
        """Add a host, or give one more groups and variables, for this play's `hostvars` and later plays' patterns."""
        self._added.append(asked)
        self._add(asked)
        self._world.variables.state(asked.name)
        self._world.variables.forget_inventory()

    def _add(self, asked: AddHost) -> None:
        from cleanslate.inventory import add_host

        add_host(self._world.variables.inventory, asked.name, asked.groups, asked.parents, asked.variables)

    def refresh(self, place: Hashable) -> None:
        """Read the sources again, once for all hosts that come to the same place; what was added stays.

        Sources that cannot be read leave the inventory as it is, and are told of.
        """
        if place in self._refreshed or self._world.settings.reload is None:
            return
        self._refreshed.add(place)
        try:
            found = self._world.settings.reload()
        except InputError as error:
            self._world.warning(f"the inventory stays as it was, since it cannot be read again: {error}")
            return
        variables = self._world.variables
        before = set(variables.inventory.hosts)
        for name in ("hosts", "groups", "sources", "files", "warnings"):
            setattr(variables.inventory, name, getattr(found, name))
        variables.inventory.cache = {}
        for asked in self._added:
            self._add(asked)
        self.gone = (self.gone | before) - set(variables.inventory.hosts)
        _meet_hosts(variables)


def _meet_hosts(variables: VariableWorld) -> None:
    """Know the hosts by what is said of them now; what a run has learnt of them stays."""
    for name, host in variables.inventory.hosts.items():
        variables.state(name).host = host
    variables.forget_inventory()
