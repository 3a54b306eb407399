"""Tells how much memory of each GPU is in use, once a second, for as long as somebody listens."""

import time

from cleanslate.remote.gpu_sources import FIRST, Source
from cleanslate.remote.registry import reads

PERIOD = 1.0  # seconds between looks; nvidia-smi, which costs a process each time, is asked half as often
_AT_LEAST = 5.0  # seconds between words where nothing changes
_AFTER_FAILURE = 10.0
_AFTER_END = 180.0  # a probe that was ended may have stood in the way of a reset (gpu_reset.py)


@reads
def follow(call, source="auto", period=PERIOD, at_least=_AT_LEAST, first=FIRST):
    """Tell {gpus: [{index, uuid, name, used_mib, total_mib}], driver, failed} until the call is cancelled.

    A reading that failed is told as such (`failed` says why, `gpus` is empty), and a GPU whose memory is not known has
    `used_mib` None: never a zero that was not read. One question to the driver is under way at a time.
    """
    told, told_at = None, 0.0
    with Source(call, source, first=first, period=period) as reader:
        while not call.cancelled.is_set() and call.left() > 0:
            began = time.monotonic()
            found = reader.read()
            said = _said(found)
            if said != told or time.monotonic() - told_at >= at_least:
                call.progress(**said)
                told, told_at = said, time.monotonic()
            pause = _after(found["failed"]) if found["failed"] else _pause(found, period, time.monotonic() - began)
            call.cancelled.wait(pause)
    return {}


def _after(fault):
    return _AFTER_END if fault["kind"] == "query" else _AFTER_FAILURE


def _pause(found, period, took):
    """NVML's child keeps the pace itself."""
    return 0.0 if found["source"] == "nvml" else max(0.0, 2 * period - took)


def _said(found):
    keys = ("index", "uuid", "name", "used_mib", "total_mib")
    gpus = [{key: gpu.get(key) for key in keys} for gpu in found["gpus"]]
    return {"gpus": gpus, "driver": found["driver"], "failed": found["failed"] and found["failed"]["text"]}
