"""How a run is stopped from outside: in order at the first signal, at once at the second."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cleanslate.runner.world import World


@contextmanager
def stopping_on_signals(world: World) -> Iterator[None]:
    """First Ctrl-C, SIGTERM or lost terminal: stop in order. Second: stop at once. `on_hangup: continue` goes on."""

    def handle(number: int, _frame: FrameType | None) -> None:
        if world.stop_requested.is_set():
            raise KeyboardInterrupt
        world.warning(f"stopping ({signal.Signals(number).name}); again to stop at once")
        world.stop()

    before = {}
    goes_on = world.settings.on_hangup == "continue" or signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # nohup
    hangup = signal.SIG_IGN if goes_on else handle
    for number, action in ((signal.SIGINT, handle), (signal.SIGTERM, handle), (signal.SIGHUP, hangup)):
        try:
            before[number] = signal.signal(number, action)
        except ValueError:  # not the main thread: whoever runs us there handles signals
            break
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
