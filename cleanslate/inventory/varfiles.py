"""Finds and reads group_vars and host_vars, as files and as folders, once for each inventory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError, Origin, Problem
from cleanslate.model import Inventory, SourceMap
from cleanslate.yamlfile import Decrypt, load_yaml, shown_path

SUFFIXES = ("", ".yml", ".yaml", ".json")
"""In this order; the first that exists is read, the others are not (Ansible's rule)."""


@dataclass(frozen=True)
class Layer:
    """Some variables of a host and where they come from, as people are told."""

    label: str
    values: SourceMap


@contextmanager
def placed(file: str) -> Iterator[None]:
    """Mistakes that do not know where they are (a vault password that does not fit) are told with the file."""
    try:
        yield
    except InputError as error:
        known = [problem if problem.origin else replace(problem, origin=Origin(file)) for problem in error.problems]
        raise InputError(problems=known) from None


def file_layers(inventory: Inventory, folder: str, name: str, vault: Decrypt | None) -> tuple[Layer, ...]:
    """Read the variables that a `group_vars` or `host_vars` folder holds for a group or host, low to high.

    Raises InputError with every mistake of its files.
    """
    if not any(name + suffix in names_in(inventory, folder) for suffix in SUFFIXES):
        return ()
    place = ("files", folder, name)
    cache = inventory.cache
    known: tuple[Layer, ...] | None = cache.get(place)
    if known is None:
        known = cache[place] = _read(inventory, Path(folder), name, vault)
    return known


def names_in(inventory: Inventory, folder: str) -> frozenset[str]:
    """The names of what lies in a folder; looked up once."""
    cache = inventory.cache
    names: frozenset[str] | None = cache.get(("names", folder))
    if names is None:
        try:
            names = frozenset(path.name for path in Path(folder).iterdir())
        except OSError:  # most inventories have no such folder
            names = frozenset()
        cache["names", folder] = names
    return names


def _read(inventory: Inventory, folder: Path, name: str, vault: Decrypt | None) -> tuple[Layer, ...]:
    present = [folder / (name + suffix) for suffix in SUFFIXES if name + suffix in names_in(inventory, str(folder))]
    chosen = present[0]
    for passed_over in present[1:]:
        inventory.warnings.append(
            Problem(
                f'not read, because "{chosen.name}" lies beside it',
                Origin(shown_path(passed_over)),
                f"move it into {folder.name}/{name}/",
                "warning",
            )
        )
    layers: list[Layer] = []
    problems: list[Problem] = []
    for path in _files_below(chosen) if chosen.is_dir() else [chosen]:
        try:
            layers.append(_layer(inventory, path, vault))
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(problems=problems)
    return tuple(layer for layer in layers if layer.values)


def _files_below(folder: Path) -> list[Path]:
    """The variable files of a folder, by name, those of the folders in it too."""
    found: list[Path] = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name.endswith("~"):
            continue
        if path.is_dir():
            found.extend(_files_below(path))
        elif path.suffix in SUFFIXES:
            found.append(path)
    return found


def _layer(inventory: Inventory, path: Path, vault: Decrypt | None) -> Layer:
    inventory.files.append(path)
    file = shown_path(path)
    with placed(file):
        values = load_yaml(path, vault=vault)
    if values is None:
        values = SourceMap(origin=Origin(file))
    if not isinstance(values, SourceMap):
        raise InputError(
            "the file holds no map of variables",
            origin=getattr(values, "origin", None) or Origin(file),
            fix="write name: value, without dashes",
        )
    return Layer(file, values)
