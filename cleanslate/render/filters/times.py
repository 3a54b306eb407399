"""Filters between times and text."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

from cleanslate.errors import RenderError


def strftime(string_format: Any, second: Any = None, utc: bool = False) -> str:
    """A time (seconds since the epoch; now, if none) in the given format."""
    if second is not None:
        try:
            second = float(second)
        except (TypeError, ValueError):
            raise RenderError(f"strftime: {second!r} is no number of seconds since the epoch") from None
    return time.strftime(str(string_format), (time.gmtime if utc else time.localtime)(second))


def to_datetime(value: Any, format: str = "%Y-%m-%d %H:%M:%S") -> datetime:
    """The time that a text stands for; two of them can be subtracted."""
    try:
        return datetime.strptime(str(value), format)
    except ValueError as error:
        raise RenderError(f"to_datetime: {error}") from None


FUNCTIONS = {"strftime": strftime, "to_datetime": to_datetime}
