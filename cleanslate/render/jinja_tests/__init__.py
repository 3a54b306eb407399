"""The tests (`x is changed`): Jinja's own, and Ansible's, one file for each family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleanslate.render.registry import Registry

FAMILIES: dict[str, tuple[str, ...]] = {
    "values": ("defined", "falsy", "isnan", "nan", "truthy", "undefined", "vault_encrypted"),
    "results": (
        "change",
        "changed",
        "failed",
        "failure",
        "finished",
        "reachable",
        "skip",
        "skipped",
        "started",
        "succeeded",
        "success",
        "successful",
        "timedout",
        "unreachable",
    ),
    "text": ("match", "regex", "search", "uri", "url", "urn"),
    "sets": ("all", "any", "contains", "issubset", "issuperset", "subset", "superset"),
    "files": (
        "abs",
        "directory",
        "exists",
        "file",
        "is_abs",
        "is_dir",
        "is_file",
        "is_link",
        "is_mount",
        "is_same_file",
        "link",
        "link_exists",
        "mount",
        "same_file",
        "vaulted_file",
    ),
    "versions": ("version", "version_compare"),
}


class Tests(Registry):
    """Every test, by name."""

    def __init__(self, builtin: Mapping[str, Any]) -> None:
        super().__init__(builtin, __name__, FAMILIES, {})
