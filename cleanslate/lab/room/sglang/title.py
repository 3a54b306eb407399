"""Gives this process another name, in `ps` (its arguments) and in /proc/PID/comm, as setproctitle does."""

import ctypes

_PR_SET_NAME = 15


def _argument_area() -> tuple[int, int]:
    with open("/proc/self/stat", "rb") as file:  # noqa: PTH123 - before anything else is imported
        fields = file.read().rpartition(b")")[2].split()
    return int(fields[45]), int(fields[46])  # arg_start and arg_end: fields 48 and 49 of proc(5)


# Read once: the addresses stay the same in forked children, which may not see their own /proc entry.
_START, _END = _argument_area()
_LIBC = ctypes.CDLL(None, use_errno=True)


def set_title(text: str) -> None:
    """Show `text` as this process's command line, cut to the room that its first one had."""
    room = _END - _START
    title = text.encode()[: room - 1]
    ctypes.memmove(_START, title.ljust(room, b"\0"), room)
    _LIBC.prctl(_PR_SET_NAME, ctypes.c_char_p(text.encode()[:15]), 0, 0, 0)
