"""The password that sudo wants, asked of a person once for the whole run."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Passwords:
    """The password for sudo that a person gives, asked once for the whole run."""

    def __init__(self, ask: Callable[[], str] | None) -> None:
        self._ask = ask
        self._lock = threading.Lock()
        self._known: str | None = None

    def get(self) -> str | None:
        """The password; None when there is nobody to ask."""
        with self._lock:
            if self._known is None and self._ask is not None:
                self._known = self._ask()
            return self._known
