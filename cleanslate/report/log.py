"""The log that `-v` shows: every event as one structured line on standard error, through structlog."""

from __future__ import annotations

from typing import Any, TextIO

from cleanslate.model import Event

_BULKY = frozenset({"result", "diffs", "recap", "argv"})  # the report shows these; a log line names the fact


class EventLog:
    """A listener that logs events; bulky fields only from -vvv."""

    def __init__(self, stream: TextIO, *, verbosity: int) -> None:
        import structlog

        self._bulky = verbosity >= 3
        self._log: Any = structlog.wrap_logger(
            structlog.PrintLogger(stream),
            processors=[
                structlog.processors.TimeStamper(fmt="iso"),
                structlog.processors.LogfmtRenderer(key_order=["timestamp", "event"], bool_as_flag=False),
            ],
        )

    def __call__(self, event: Event) -> None:
        """Log one event: its kind, and its keys."""
        facts = {key: value for key, value in event.data.items() if self._bulky or key not in _BULKY}
        self._log.msg(event.kind, **{key.replace(" ", "_"): value for key, value in facts.items()})
