"""How a server ended, in words: exit code or signal, what usually causes it, and whether it was asked for."""

import os
import signal

from cleanslate.remote import server_state

_SIGNALS = {
    signal.SIGKILL: "somebody's kill -9, the OOM killer of another memory cgroup, or the death of a parent",
    signal.SIGBUS: "a mapped file could not grow: /dev/shm is full or too small",
    signal.SIGSEGV: "a crash in native code: a mismatch of driver, CUDA and build is the usual cause",
    signal.SIGABRT: "native code gave up (assertion, NCCL watchdog); its last lines say why",
    signal.SIGILL: "the build uses instructions that this CPU does not have",
    signal.SIGTERM: "somebody asked it to end",
    signal.SIGINT: "somebody asked it to end",
    signal.SIGHUP: "its session was closed",
    signal.SIGQUIT: "a child asked it to give up, or somebody wanted its stacks",
}
_CODES = {
    2: "usually a wrong option: its last lines say which",
    126: "a command was found but may not be run",
    127: "a command was not found",
}


def ending(state):
    """What the keeper wrote down about the end of this launch, or None."""
    place = server_state.path(state["name"]).with_suffix(".end")
    found = server_state.load(place)
    return found if found and found.get("launch_id") == state.get("launch_id") else None


def explain(state):
    """{code, signal, text, hint, asked} for a launched server that is not there any more.

    `text` completes "it ...". `asked`: stop_server was seen to end it, so that no code means a crash.
    """
    end = ending(state) or {}
    code, number = end.get("code"), end.get("signal")
    asked = bool(state.get("stopped_at"))
    told = {"code": code, "signal": number, "asked": asked, "at": end.get("at"), "hint": None}
    if asked:
        return dict(told, text="was stopped" + (" (%s)" % _ended_with(code, number) if end else ""))
    if not end:
        return dict(
            told, text="is gone; nobody saw how it ended", hint="its keeper was killed too, or the machine booted"
        )
    return dict(told, text=_ended_with(code, number), hint=_hint(code, number, end))


def _ended_with(code, number):
    if number is not None:
        return "was ended by signal %d (%s)" % (number, _name(number))
    if code is not None and code > 128 and _name(code - 128):
        return "ended with exit code %d (128 + %d, %s)" % (code, code - 128, _name(code - 128))
    return "ended with exit code %s" % code


def _hint(code, number, end):
    if number is None and code is not None and code > 128:
        number = code - 128
    if number == signal.SIGKILL and end.get("oom"):
        return "the kernel's OOM killer: the machine, or the memory limit of its container, had no memory left"
    if number == signal.SIGBUS:
        return "%s; %s" % (_SIGNALS[signal.SIGBUS], shared_memory())
    if number is not None:
        return _SIGNALS.get(number)
    return _CODES.get(code)


def _name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""


def shared_memory():
    """How full /dev/shm is, as a sentence."""
    try:
        info = os.statvfs("/dev/shm")
    except OSError:
        return "there is no /dev/shm"
    free, whole = info.f_bavail * info.f_frsize >> 20, info.f_blocks * info.f_frsize >> 20
    return "/dev/shm has %d of %d MiB free" % (free, whole)
