"""The GPUs of hosts as a table for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def print_gpus(found: Mapping[str, Mapping[str, Any]]) -> None:
    """Print one row a GPU, and its holders below it; what could not be read says so, it is never shown as zero."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    for host, data in found.items():
        result = data["result"]
        gpus = result.get("gpus")
        if not isinstance(gpus, list):
            console.print(f"{host}: {data['status']}: {result.get('msg', 'no answer')}", markup=False)
            continue
        table = Table(title=f"{host}  driver {result.get('driver', '?')}", title_justify="left", box=None)
        for name in ("GPU", "name", "used MiB", "total MiB", "util %", "W", "held by"):
            table.add_column(name, justify="left" if name in ("name", "held by") else "right")
        for gpu in gpus:
            table.add_row(*_row(gpu, result.get("holders") or []))
        console.print(table)


def _row(gpu: Mapping[str, Any], holders: list[Mapping[str, Any]]) -> list[str]:
    mine = [one for one in holders if gpu.get("index") in (one.get("gpus") or [])]
    named = ", ".join(f"{one.get('pid')} {one.get('title') or one.get('comm') or ''}".strip() for one in mine)
    keys = ("index", "name", "used_mib", "total_mib", "utilization", "power_w")
    return [*("unknown" if gpu.get(key) is None else str(gpu[key]) for key in keys), named]
