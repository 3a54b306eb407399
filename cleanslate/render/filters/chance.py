"""Filters that draw lots; with a seed, the same lots each time."""

from __future__ import annotations

import random
from typing import Any

from cleanslate.errors import RenderError


def pick(end: Any, start: int | None = None, step: int | None = None, seed: Any = None) -> Any:
    """A number below `end` (from `start`, in steps), or one item of a list."""
    source = random.SystemRandom() if seed is None else random.Random(seed)
    if isinstance(end, int):
        return source.randrange(start or 0, end, step or 1)
    if not hasattr(end, "__iter__"):
        raise RenderError(f"random wants a number or a list, not {type(end).__name__}")
    if start or step:
        raise RenderError("random: start and step go with a number only")
    values = list(end)
    if not values:
        raise RenderError("random: the list is empty")
    return source.choice(values)


def shuffle(values: Any, seed: Any = None) -> Any:
    """The list in another order."""
    mixed = list(values) if hasattr(values, "__iter__") else None
    if mixed is None:
        return values
    (random.SystemRandom() if seed is None else random.Random(seed)).shuffle(mixed)
    return mixed


FUNCTIONS = {"random": pick, "shuffle": shuffle}
