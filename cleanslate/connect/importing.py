"""Imports paramiko without what it needs for nothing but its own version number."""

from __future__ import annotations

import os
import sys
import threading
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_one_at_a_time = threading.Lock()


def import_paramiko() -> None:
    """Import paramiko, unless it is there already.

    It asks importlib.metadata which version it is, and that brings the standard library's readers of mail, of zip
    archives and of tables: 20 ms, a fifth of what importing paramiko takes. The name of the folder beside it says the
    same.
    """
    with _one_at_a_time:  # whoever finds it there without waiting may find half of it
        if "paramiko" in sys.modules:
            return
        said = None if "importlib.metadata" in sys.modules else _version("paramiko")
        stand_in = _only_the_version(said) if said is not None else None
        if stand_in is not None:
            sys.modules[stand_in.__name__] = stand_in
        try:
            import paramiko  # noqa: F401 - for its modules to be there
        finally:
            if stand_in is not None and sys.modules.get(stand_in.__name__) is stand_in:
                del sys.modules[stand_in.__name__]


def _version(name: str) -> str | None:
    """The version in the name of an installed distribution's folder, where there is exactly one."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        return None
    beside = os.path.dirname(os.path.dirname(spec.origin))  # noqa: PTH120 - no path of a package needs more
    try:
        names = os.listdir(beside)  # noqa: PTH208 - only the names are wanted
    except OSError:
        return None
    found = [entry for entry in names if entry.startswith(f"{name}-") and entry.endswith(".dist-info")]
    return found[0][len(name) + 1 : -len(".dist-info")] if len(found) == 1 else None


def _only_the_version(said: str) -> ModuleType:
    """A stand-in for importlib.metadata that knows one version, and gives way to the real one for anything else."""
    module = ModuleType("importlib.metadata")

    def real() -> ModuleType:
        if sys.modules.get(module.__name__) is module:
            del sys.modules[module.__name__]
        return import_module(module.__name__)

    def version(name: str) -> Any:
        return said if name == "paramiko" else real().version(name)

    module.version = version  # type: ignore[attr-defined]  # a module's names are not declared
    module.__getattr__ = lambda name: getattr(real(), name)  # type: ignore[method-assign]  # as above
    return module
