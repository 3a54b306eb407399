"""Which hosts a play runs on, in which order, and how `serial` cuts them into batches."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cleanslate.errors import InputError
from cleanslate.inventory import all_members, match_hosts
from cleanslate.model import Play
from cleanslate.render import Variables, is_template
from cleanslate.runner.scope import PlayScope
from cleanslate.runner.variables import HostVars

if TYPE_CHECKING:
    from cleanslate.runner.world import World


def hosts_of(world: World, play: Play, *, quiet: bool = False) -> list[str]:
    """The hosts of a play in the inventory's order; those that take part no more count in batches too."""
    pattern = play.hosts
    if is_template(pattern):
        renderer = world.variables.renderer()
        layers = [play.vars, world.settings.extra_vars, _play_magic(world)]
        pattern = renderer.render(pattern, Variables(layers, renderer))
    try:
        names = match_hosts(pattern, world.variables.inventory, limit=world.settings.limit)
    except InputError as error:
        # What can be known before is refused before; this group was to be made by an earlier play, and was not.
        if not quiet:
            world.warning(error.what, play.origin)
        return []
    return names


def ordered(play: Play, hosts: Sequence[str]) -> list[str]:
    """The hosts in the order that the play asks for."""
    names = list(hosts)
    if play.order in ("reverse_inventory",):
        names.reverse()
    elif play.order in ("sorted", "reverse_sorted"):
        names.sort(reverse=play.order == "reverse_sorted")
    elif play.order == "shuffle":
        random.shuffle(names)
    return names


def _play_magic(world: World) -> dict[str, Any]:
    """What a play's own `hosts:` may refer to: the groups, and every host's variables."""
    return {"groups": all_members(world.variables.inventory), "hostvars": HostVars(world.variables)}


def batches(world: World, scope: PlayScope, hosts: list[str]) -> Iterator[list[str]]:
    """Cut the hosts into `serial` batches: numbers, percentages, or a list of them whose last one repeats."""
    serial = scope.play.serial
    if serial is None:
        yield hosts
        return
    rendered = world.variables.renderer().render(serial, world.variables.of_play(hosts[0], scope))
    sizes = rendered if isinstance(rendered, list) else [rendered]
    rest, number = list(hosts), 0
    while rest:
        size = _batch_size(sizes[min(number, len(sizes) - 1)], len(hosts))
        yield rest[:size]
        rest, number = rest[size:], number + 1


def _batch_size(size: Any, total: int) -> int:
    """The hosts of one batch; 0 means all, a percentage at least one."""
    text = str(size).strip()
    if text.endswith("%"):
        return max(1, int(total * float(text[:-1]) / 100))
    return int(float(text)) or total
