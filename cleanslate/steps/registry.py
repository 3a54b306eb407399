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

_own_names: set[str] = set()
_added: dict[str, StepType] = {}  # step types that are not of this folder, by canonical name


def add(step_type: StepType) -> None:
    """Make a step type known that is not of this folder; one of the same name that was added before gives way."""
    _added[step_type.name] = step_type


def own_step_names() -> tuple[str, ...]:
    """The names of the step types that were added from a repository's own folder."""
    return tuple(sorted(_own_names))


def add_own(step_type: StepType) -> None:
    """Make a repository's own step type known."""
    add(step_type)
    _own_names.add(step_type.name)


def added() -> tuple[StepType, ...]:
    """The step types that were added."""
    return tuple(_added.values())


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


def names_of(step_type: StepType) -> tuple[str, ...]:
    """Every name that module_defaults may use for a step type; of two, the later one counts."""
    full = [f"{collection}.{step_type.name}" for collection in ("ansible.legacy", "ansible.builtin")]
    return (step_type.name, *(full if step_type.ansible_name == "ansible.builtin" else ()), *step_type.aliases)


def step_type(name: str) -> StepType:
    """The step type of a canonical name."""
    return _added.get(name) or _own(name)


@cache
def _own(name: str) -> StepType:
    """A step type of this folder. A Python keyword is a file with a trailing underscore (`assert_.py`)."""
    from cleanslate.steps.contract import StepType  # brings pydantic, which names alone do not need

    package = __package__ or "cleanslate.steps"
    file = name if importlib.util.find_spec(f"{package}.{name}") else f"{name}_"
    module = importlib.import_module(f"{package}.{file}")
    found = module.STEP
    assert isinstance(found, StepType)
    return found
