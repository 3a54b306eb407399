"""Resets GPUs, on explicit request only: refused while anything is attached and where the GPUs share an NVSwitch."""

import glob
import signal
import time

from cleanslate.remote import gpu_faults, gpu_reading, processes, protection, signals, smi
from cleanslate.remote.gpu_holders import Holders
from cleanslate.remote.gpu_sources import Source
from cleanslate.remote.registry import Failed, changes

_SECONDS = 120.0
_KEEPER = "nvidia-persistenced"


@changes
def reset(call, gpus, source="auto", switches="/dev/nvidia-nvswitch*"):
    """Reset the GPUs (index, UUID or bus id) one by one; their persistence is turned off before and restored after.

    Gives {reset: [{index, uuid, ok, text}]}. Fails (`refused`) before it touches anything when it must not be done.
    """
    with Source(call, source, processes_too=True, once=True) as reader:
        reading = reader.read()
    keys = {gpu_reading.name_key(each) for each in gpus}
    chosen = [gpu for gpu in reading["gpus"] if keys & set(gpu_reading.names(gpu))]
    if len(chosen) != len(keys):
        raise Failed("missing", "not every one of these GPUs is there: %s" % ", ".join(map(str, gpus)))
    _refuse_switches(switches)
    end_probes()
    indices = {gpu["index"] for gpu in chosen}
    _refuse_attached(reading, indices, but=_KEEPER)
    return {"reset": [_reset_one(call, reading, gpu) for gpu in chosen]}


def _refuse_switches(pattern):
    table = processes.table().values()
    managers = [p for p in table if protection.protector(p, ("nv-fabricmanager", "nvidia-fabricmanager"))]
    if glob.glob(pattern) or managers:
        raise Failed(
            "refused",
            "the GPUs of this machine share an NVSwitch: one alone is never reset",
            fix="reboot the machine, or reset all of them by hand with the fabric manager stopped",
        )


def end_probes():
    """End the children that only read for samples of memory (sampling.py): they hold the devices open.

    A probe is a fork of an agent, whoever's run it serves: it has the name, and the very command line of its parent. A
    process that merely has the name is a stranger, and stays.
    """
    table = processes.table()
    ours = [each.key for each in table.values() if each.comm == protection.PROBE and _is_fork(each, table)]
    for key in ours:
        signals.send(key, signal.SIGTERM)
    until = time.monotonic() + 2.0
    while time.monotonic() < until and not all(processes.ended(key) for key in ours):
        time.sleep(0.02)


def _is_fork(process, table):
    parent = table.get(process.ppid)
    return parent is not None and bool(process.argv) and process.argv == parent.argv


def _refuse_attached(reading, indices, but=None):
    """Raise when a process has one of these GPUs open; `but` names one that is let go by itself."""
    attached = []
    for holder in Holders(reading).found:
        keeper = but and protection.protector(holder.process, (but,))
        if not keeper and (indices & set(holder.gpus) or not holder.gpus):
            attached.append(holder.tell())
    if attached:
        words = ", ".join("pid %d %s" % (each["pid"], each["title"][:40]) for each in attached[:5])
        raise Failed("refused", "a GPU is not reset while something is attached: %s" % words, attached=attached)


def _reset_one(call, reading, gpu):
    tool = smi.Smi(call)
    name = gpu["uuid"] or str(gpu["index"])
    told = {"index": gpu["index"], "uuid": gpu["uuid"], "ok": False, "text": None}
    if gpu["persistence"]:
        _ask(tool, ["-i", name, "-pm", "0"])
    try:
        code, text = _ask(tool, ["--gpu-reset", "-i", name])
        told["ok"] = code == 0
        told["text"] = text.strip()[:500]
    finally:
        if gpu["persistence"]:
            _ask(tool, ["-i", name, "-pm", "1"])
    return told


def _ask(tool, arguments):
    try:
        return tool.run(arguments, _SECONDS)
    except smi.Failure as error:
        return -1, "%s: %s" % (error.fault["text"], gpu_faults.KINDS[error.fault["kind"]][2])
