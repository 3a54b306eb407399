"""GPU memory of every machine that a run works on, as events, for as long as the run lasts."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cleanslate.errors import CleanslateError
from cleanslate.runner.bus import Bus

if TYPE_CHECKING:
    from cleanslate.connect.target import Address, Target

_A_WEEK = 7 * 86400.0  # seconds; no run is as long


class Sampling:
    """Follows machines in threads of their own. What goes wrong there is nobody's failure: it is told, or left out."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._lock = threading.Lock()
        self._known: set[Address] = set()
        self._over = False

    def see(self, machine: str, target: Target) -> None:
        """A step has reached a machine: follow its GPUs from now on, if it has any."""
        address = target.address
        if address in self._known or self._over:
            return
        with self._lock:
            if address in self._known:
                return
            self._known.add(address)
        name = f"cleanslate samples {machine}"
        threading.Thread(target=self._follow, args=(machine, target), name=name, daemon=True).start()

    def end(self) -> None:
        """Nothing more is told."""
        with self._lock:
            self._over = True

    def _follow(self, machine: str, target: Target) -> None:
        def tell(facts: Mapping[str, Any]) -> None:
            with self._lock:
                if self._over:
                    raise _Over
                self._bus.emit("host.gpus", host=machine, **facts)

        try:
            if not target.call("presence.gpus", {}, deadline=60.0, read_only=True)["gpus"]:
                return
            target.call("sampling.follow", {}, deadline=_A_WEEK, read_only=True, on_progress=tell)
        except (CleanslateError, _Over):
            return


class _Over(Exception):
    """The run has ended; raised where progress is told, it ends the call."""
