"""The GPUs of hosts as a table for people, once or drawn anew every second."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cleanslate.errors import Interrupted

if TYPE_CHECKING:
    from rich.console import RenderableType

_PERIOD = 1.0
_COLUMNS = ("GPU", "name", "used MiB", "total MiB", "util %", "W", "held by")
_KEYS = ("index", "name", "used_mib", "total_mib", "utilization", "power_w")


def print_gpus(found: Mapping[str, Mapping[str, Any]]) -> None:
    """Print one row a GPU and its holders; what could not be read says so, it is never shown as zero."""
    from rich.console import Console

    console = Console(highlight=False)
    for part in _tables(found):
        console.print(part)


def watch_gpus(found: Mapping[str, Mapping[str, Any]], again: Callable[[], int], code: int) -> int:
    """Draw the table, and anew after each reading that `again` makes, until Ctrl-C; gives the last exit code.

    A Ctrl-C in the middle of a reading is the run's: it comes back as interrupted, and ends this as well.
    """
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    def drawn() -> Group:
        return Group(*_tables(found), Text("Ctrl-C ends", style="dim"))

    try:
        with Live(drawn(), console=Console(highlight=False), auto_refresh=False) as live:
            while True:
                time.sleep(_PERIOD)
                now = again()
                if now == Interrupted.exit_code:
                    return code
                code = now
                live.update(drawn(), refresh=True)
    except KeyboardInterrupt:
        return code


def _tables(found: Mapping[str, Mapping[str, Any]]) -> Iterator[RenderableType]:
    from rich.table import Table
    from rich.text import Text

    for host, data in found.items():
        result = data.get("result", {})
        gpus = result.get("gpus")
        if not gpus:
            status = "" if data.get("status") == "ok" else f"{data.get('status', 'unknown')}: "
            yield Text(f"{host}: {status}{result.get('msg', 'no answer')}")
            continue
        title = Text(f"{host}  driver {result.get('driver') or 'unknown'}")
        table = Table(title=title, title_justify="left", box=None)
        for name in _COLUMNS:
            table.add_column(name, justify="left" if name in ("name", "held by") else "right")
        for gpu in gpus:
            holders = [one for one in result.get("holders") or [] if gpu.get("index") in (one.get("gpus") or [])]
            table.add_row(*_row(gpu, holders))
            for part in gpu.get("instances") or ():
                table.add_row(*_row({**part, "index": part["name"], "name": f"MIG {part['profile'] or ''}"}, []))
        yield table


def _row(gpu: Mapping[str, Any], holders: list[Mapping[str, Any]]) -> list[RenderableType]:
    from rich.text import Text

    named = ", ".join(f"{one.get('pid')} {one.get('title') or one.get('comm') or ''}".strip() for one in holders)
    failed = gpu.get("failed")
    words = ["unknown" if gpu.get(key) is None else str(gpu[key]) for key in _KEYS]
    return [Text(word) for word in (*words, failed["text"] if failed else named)]
