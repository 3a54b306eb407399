"""The one way events leave a run: redacted, in order, to every listener."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from datetime import time as clock
from pathlib import PurePath
from typing import Any

from cleanslate import native
from cleanslate.model import Event, event_line
from cleanslate.redaction import Secrets

Listener = Callable[[Event], None]


_MANY = 100  # events; a run that has had so many goes on, and earns the milliseconds that loading the quick way takes
_EVEN: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_PLAIN = frozenset({str, int, float, bool, type(None)})


def plain(value: Any) -> Any:
    """Give the JSON form of a value: text types become `str`, unknown objects their text."""
    kind = type(value)
    if kind in _PLAIN:  # nearly everything; the rest is asked what it is like
        return value
    if kind is dict:
        return {key if type(key) is str else str(key): plain(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, date | clock):
        return value.isoformat()
    if isinstance(value, Iterable) and not isinstance(value, PurePath):
        return [plain(item) for item in value]
    return str(value)


def _since_boot() -> float:
    """Seconds that pass while the machine sleeps, too."""
    return time.clock_gettime(_EVEN)


class Bus:
    """Hands each event to every listener, one at a time; secrets are redacted before any of them sees it.

    Events are told by the clock as it was when the run began, and evenly from then on: setting it moves none of them.
    """

    def __init__(self, secrets: Secrets, listeners: Iterable[Listener]) -> None:
        self._secrets = secrets
        self._listeners = list(listeners)
        self._lock = threading.RLock()
        self._booted = time.time() - _since_boot()
        self._told = 0  # not quickly

    def emit(self, kind: str, **data: Any) -> None:
        """Tell everybody that something happened; called from any thread."""
        event = self._quick(kind, data) or self._event(kind, data)
        with self._lock:
            for listener in self._listeners:
                listener(event)

    def _quick(self, kind: str, data: dict[str, Any]) -> Event | None:
        """The event of plain data in which no secret is: written first, searched once, and read back as a copy."""
        text = native.json_of(data) if data else None
        if text is None or self._secrets.may_hold(text.decode()):
            return None
        at = self._booted + _since_boot()
        return Event(kind, native.read_json(text), at, b'{"at":%.4f,"kind":"%s",%s\n' % (at, kind.encode(), text[1:]))

    def _event(self, kind: str, data: dict[str, Any]) -> Event:
        self._told += 1
        if self._told == _MANY:
            native.load()
        at, told = self._booted + _since_boot(), self._secrets.redact(data, plain)
        return Event(kind, told, at, event_line(Event(kind, told, at)))
