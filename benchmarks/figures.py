"""A row's figures: our time, the peer's, the ratio and what was aimed at; printed, and put into docs/speed.md."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "speed.md"


@dataclass(frozen=True)
class Figure:
    """One comparison. `aim`: the most that `ours / theirs` should be; None where only the number is told."""

    what: str
    ours: float
    peer: str
    theirs: float
    aim: float | None = None
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """Ours in theirs."""
        return self.ours / self.theirs

    @property
    def reached(self) -> str:
        """Whether the aim was reached, as a word."""
        return "" if self.aim is None else ("yes" if self.ratio <= self.aim else "no")


def table(figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table."""
    lines = ["| what | ours | beside | theirs | ratio | aim | reached |", "|---|--:|---|--:|--:|--:|---|"]
    for one in figures:
        aim = "" if one.aim is None else f"≤ {one.aim:g}"
        ours, theirs = _shown(one.ours, one.unit), _shown(one.theirs, one.unit)
        ratio = f"{one.ratio:.3f}" if one.ratio < 0.1 else f"{one.ratio:.2f}"
        lines.append(f"| {one.what} | {ours} | {one.peer} | {theirs} | {ratio} | {aim} | {one.reached} |")
    return "\n".join(lines)


def machine() -> str:
    """The kind of machine and how busy it was; no names."""
    return (
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores ({platform.machine()}), "
        f"Python {platform.python_version()}, {platform.system()} {platform.release().split('-')[0]}, "
        f"load {os.getloadavg()[0]:.1f}"
    )


def tell(row: str, figures: Sequence[Figure], *, note: str = "", page: Path = PAGE) -> None:
    """Print a row's table, and put it in the row's place on the page, between its two comments."""
    text = f"{table(figures)}\n\n{note + ' ' if note else ''}Measured {machine()}."
    print(f"{row}\n{text}\n", flush=True)
    if not page.is_file():
        return
    before = page.read_text()
    place = re.compile(rf"(<!-- measured: {re.escape(row)} -->\n).*?(<!-- end -->)", re.S)
    after = place.sub(lambda found: f"{found[1]}{text}\n{found[2]}", before)
    if after != before:
        page.write_text(after)


def _shown(value: float, unit: str) -> str:
    digits = 3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f} {unit}"
