"""Events -> people and machines: console, plain lines, JSON lines. Every report is a listener on events."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from cleanslate.model import Event

OUTPUTS = ("console", "plain", "json", "quiet")


def reporter(output: str, stream: TextIO, *, verbosity: int = 0, show_diff: bool = False) -> Callable[[Event], None]:
    """The listener for one of OUTPUTS. `console` is live on a terminal, and plain lines elsewhere."""
    if output == "json":
        from cleanslate.report.json_lines import JsonLines

        return JsonLines(stream)
    from cleanslate.report.narrator import Narrator
    from cleanslate.report.writers import PlainWriter, TerminalWriter, wants_color

    narrator = Narrator(verbosity=verbosity, show_diff=show_diff, quiet=output == "quiet")
    color = wants_color(stream)
    if output == "console" and stream.isatty():
        return TerminalWriter(stream, narrator, color=color)
    return PlainWriter(stream, narrator, color=color)
