"""What starting costs: Invoke is imported without what tasks never use, bytecode is kept, garbage is left to lie."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


def import_invoke() -> None:
    """Import Invoke without its two heavy parts, unless it is there already.

    For a class that only tests use, it imports unittest.mock, which brings asyncio and ssl; and its own copy of
    PyYAML, where PyYAML itself will be needed anyway. Together they are half of what Invoke's import takes.
    """
    if "invoke" in sys.modules:
        return
    import yaml

    sys.modules.setdefault("invoke.vendor.yaml", yaml)
    known = sys.modules.get("unittest.mock")
    if known is None:
        sys.modules["unittest.mock"] = _mock_on_demand()
    try:
        import invoke  # noqa: F401 - for its modules to be there
    finally:
        if known is None:
            del sys.modules["unittest.mock"]


def _mock_on_demand() -> ModuleType:
    """A stand-in for unittest.mock that has only `Mock`, and imports the real one when that is called."""

    def mock(*given: Any, **named: Any) -> Any:
        from unittest.mock import Mock

        return Mock(*given, **named)

    module = ModuleType("unittest.mock")
    module.Mock = mock  # type: ignore[attr-defined]  # a module's names are not declared
    return module


def collect_rarely() -> None:
    """Look for garbage in circles after 100,000 new objects instead of 700: what imports make stays."""
    gc.set_threshold(100_000, 20, 50)


def keep_bytecode() -> None:
    """Let Python keep the bytecode of our modules; without it every start compiles them again (0.3 s).

    Invoke switches that off. Where the person has switched it off (PYTHONDONTWRITEBYTECODE), nothing is written beside
    sources: it is kept in the virtual environment that `inv` made, if there is one.
    """
    if sys.flags.dont_write_bytecode and sys.pycache_prefix is None:
        if sys.prefix == sys.base_prefix:
            return
        sys.pycache_prefix = str(Path(sys.prefix, "bytecode"))
    sys.dont_write_bytecode = False
