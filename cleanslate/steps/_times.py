"""File times as playbooks write them: `now`, `preserve`, or a date in a format."""

from __future__ import annotations

import time
from typing import Literal

from cleanslate.errors import StepFailed

Wish = float | Literal["now"] | None


def wish(text: str | None, form: str, *, new: bool) -> Wish:
    """Seconds since the epoch (read in the controller's time zone), `now`, or None to leave the time as it is."""
    if text is None or text == "now":
        return "now"
    if text == "preserve":
        return "now" if new else None
    try:
        return time.mktime(time.strptime(text, form))
    except (ValueError, OverflowError) as error:
        raise StepFailed(f'"{text}" is not a time in the format "{form}": {error}') from None


def stays(wished: Wish, current: float | None) -> bool:
    """Whether a file's time is already as wished."""
    return wished is None or (wished != "now" and current is not None and abs(float(wished) - current) < 1e-6)
