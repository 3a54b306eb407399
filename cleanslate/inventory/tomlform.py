"""Inventories in TOML: the YAML form in other clothes, where `children` is a list of names."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from cleanslate.errors import InputError, Origin
from cleanslate.inventory.assembly import Assembly
from cleanslate.inventory.script import as_source
from cleanslate.inventory.yamlform import read_yaml_groups
from cleanslate.model import SourceMap


def read_toml(text: str, file: str, path: Path, assembly: Assembly) -> None:
    """Add what a TOML text says to the assembly. Raises InputError when it is no TOML."""
    origin = Origin(file)
    try:
        toml: Any = importlib.import_module("tomllib")
    except ModuleNotFoundError:
        what = "TOML inventories need Python 3.11 or later on this computer"
        raise InputError(what, origin=origin, fix="write it as YAML") from None
    try:
        data = as_source(toml.loads(text), origin, None)
    except toml.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", origin=origin) from None
    for group in data.values():
        if isinstance(group, SourceMap) and isinstance(group.get("children"), list):
            group["children"] = SourceMap(dict.fromkeys(group["children"]), origin)
    read_yaml_groups(data, file, path, assembly)
