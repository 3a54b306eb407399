"""-e: `key=value` pairs, `@file`, or a JSON or YAML mapping."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cleanslate.errors import InputError, Origin
from cleanslate.model import SourceMap
from cleanslate.yamlfile import load_yaml, load_yaml_text


def extra_variables(given: Sequence[str], decrypt: Callable[[str], str] | None = None) -> SourceMap:
    """Merge every -e in order, the last wins; `key=value` is always text, files and mappings keep their types."""
    merged = SourceMap(origin=Origin("-e"))
    for text in given:
        found = _one(text, decrypt)
        if not isinstance(found, Mapping):
            raise InputError(f"-e {text!r:.60} gives no variables", fix="write key=value, @file.yml or a JSON mapping")
        merged.update(found)
        if isinstance(found, SourceMap):
            merged.key_origins.update(found.key_origins)
            merged.value_origins.update(found.value_origins)
    return merged


def _one(text: str, decrypt: Callable[[str], str] | None) -> Any:
    from cleanslate.playbook import split_key_values

    stripped = text.strip()
    if stripped.startswith("@"):
        path = Path(stripped[1:]).expanduser()
        if not path.is_file():
            raise InputError(f"-e {stripped}: there is no such file")
        return load_yaml(path, vault=decrypt) or {}
    if stripped.startswith(("{", "[")):
        return load_yaml_text(stripped, "-e")
    return split_key_values(text, Origin("-e"))
