"""Finds step types by name: one import per step type that is used, none for the rest."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cleanslate.steps.contract import StepType

_NOT_STEPS = frozenset({"behaviour", "contract", "registry", "spellings"})
_PREFIXES = ("ansible.builtin.", "ansible.legacy.", "cleanslate.")
# Step types that share a file with the one they are another name of.
ALIASES = {"systemd_service": "systemd", "include": "include_tasks"}


@cache
def step_names() -> tuple[str, ...]:
    """The canonical names of all step types, sorted; from file names alone, without importing any."""
    package = Path(__file__).parent
    found = (module.name for module in pkgutil.iter_modules([str(package)]))
    return tuple(sorted(name.strip("_") for name in found if name not in _NOT_STEPS and not name.startswith("_")))


def canonical(name: str) -> str | None:
    """The canonical name for a short or full name (`ansible.builtin.copy`), or None if there is no such step type."""
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    name = ALIASES.get(name, name)
    return name if name in step_names() else None


@cache
def step_type(name: str) -> StepType:
    """The step type of a canonical name. A Python keyword is a file with a trailing underscore (`assert_.py`)."""
    from cleanslate.steps.contract import StepType  # brings pydantic, which names alone do not need

    package = __package__ or "cleanslate.steps"
    file = name if importlib.util.find_spec(f"{package}.{name}") else f"{name}_"
    module = importlib.import_module(f"{package}.{file}")
    found = module.STEP
    assert isinstance(found, StepType)
    return found
