"""What starting costs: Invoke is imported without what tasks never use, bytecode is kept, garbage is left to lie."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn


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


def leave(code: Any) -> NoReturn:
    """End the process as `sys.exit` does, but without taking every module and object apart first (100 ms after a run).

    What was registered for the end is done, and what was written is flushed. Only the main thread may call this.
    """
    if isinstance(code, str):
        print(code, file=sys.stderr)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # whoever read it has gone, or it is closed
            stream.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)
