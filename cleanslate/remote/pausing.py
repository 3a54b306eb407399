"""Lets time pass on the target."""

import time

from cleanslate.remote.registry import Failed, changes


@changes  # it changes nothing, but must not run in check mode
def sleep(call, seconds):
    """Wait, telling each second how long it still takes; gives {seconds}."""
    began = time.monotonic()
    while True:
        left = began + seconds - time.monotonic()
        if left <= 0:
            return {"seconds": round(time.monotonic() - began, 3)}
        if left > 1:
            call.progress(text="%.0f s left" % left, seconds_left=round(left))
        if call.cancelled.wait(min(1.0, left)):
            raise Failed("cancelled", "the sleep was ended %.0f s early" % left)
