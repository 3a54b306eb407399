"""The agent's calls about GPUs: read them, wait until they are empty, prove that memory can be had."""

import time

from cleanslate.remote import containers, gpu_driver, gpu_faults, gpu_log, gpu_prove, gpu_reading, probe
from cleanslate.remote.gpu_holders import Holders
from cleanslate.remote.gpu_sources import FIRST, NEXT, Source
from cleanslate.remote.registry import changes, reads

_TELL = 0.5
_RETRY = 0.25
_LOG_SECONDS = 3600.0


@reads
def read(call, source="auto", holders=False, log=False, nodes=False, first=FIRST, kernel_log=gpu_log.KERNEL_LOG):
    """One reading of all GPUs (see `gpu_sources`). A failure to read is part of the answer, never an empty list alone.

    holders: also `holders` (who has a device open), `unseen` (pids that the driver names and nobody here has), `blind`.
    log: also `log`, what the kernel log of the last hour says. nodes: also `nodes`, the device files and if they open.
    """
    with Source(call, source, processes_too=holders, first=first, once=True) as reader:
        found = reader.read()
    found["inside_container"] = containers.inside_one()
    found["kernel_driver"] = gpu_driver.kernel_version()
    if holders:
        found.update(_who(Holders(found)))
    if log:
        found["log"] = gpu_log.signs(_LOG_SECONDS, kernel_log)
    if nodes:
        found["nodes"] = gpu_driver.nodes(call)
    found["verdict"] = verdict(found, (found.get("log") or {}).get("signs", ()))
    return found


@reads
def wait(call, seconds=0.0, source="auto", first=FIRST, following=NEXT, kernel_log=gpu_log.KERNEL_LOG, **wanted):
    """Wait up to so many seconds until what is wanted (see `gpu_reading.Wanted`) holds; there is always one reading.

    Gives {ok, reading, problems, seconds, looks, holders, unseen, blind, verdict, log}. It answers at once when waiting
    cannot help: a GPU is missing or lost, a field has no number, the driver hangs.
    """
    asked = gpu_reading.Wanted(**wanted)
    began = time.monotonic()
    looks = 0
    teller = _Teller(call, began, seconds)
    with Source(call, source, first=first, following=following) as reader:
        while True:
            reading = reader.read()
            looks += 1
            problems = gpu_reading.judge(reading, asked, _held(reading))
            over = time.monotonic() - began >= seconds or call.left() <= 0
            if not problems or over or any(problem["lasting"] for problem in problems):
                break
            teller.tell(reading, problems)
            _pause(call, reading)
    answer = {
        "ok": not problems,
        "reading": reading,
        "problems": problems,
        "seconds": round(time.monotonic() - began, 3),
        "looks": looks,
        "inside_container": containers.inside_one(),
        "verdict": None,
        "holders": [],
        "unseen": [],
        "blind": 0,
        "log": None,
    }
    if problems:
        answer.update(_explain(call, source, reading, problems, kernel_log))
    return answer


@changes
def prove(call, mib=1024, count=None, seconds=60.0, uuids=None):
    """Really allocate so much on every GPU, through libcuda in a child, and free it again.

    uuids: ask for these one by one instead. CUDA shows a process no more than one instance of a divided GPU.
    Gives {gpus: [{uuid, bus_id, ok, text, seconds}], failed}. Its context costs about 500 MiB more while it lives.
    """
    hanging = probe.stuck()
    if hanging:
        return {"gpus": [], "failed": gpu_faults.fault("hung", "an earlier question to the driver still hangs")}
    if uuids is not None:
        return gpu_prove.allocate_on(call, mib << 20, uuids, seconds)
    return gpu_prove.allocate(call, mib << 20, count, seconds)


def _pause(call, reading):
    """NVML's child sets the pace itself; nvidia-smi is asked again at once, a failure after a moment."""
    if reading["failed"]:
        call.cancelled.wait(_RETRY)
    elif reading["source"] != "nvml":
        call.cancelled.wait(0.005)
    probe.check_cancelled(call)


def _held(reading):
    """For GPUs whose memory is the machine's own: {index: held by a process}, without those nobody can tell of."""
    coherent = [gpu["index"] for gpu in reading["gpus"] if gpu.get("coherent")]
    if not coherent or containers.inside_one():
        return {}
    holders = Holders(reading)
    return {index: bool(holders.of(index)) for index in coherent} if holders.all_seen else {}


def _explain(call, source, reading, problems, kernel_log):
    """Who holds what is too much, and what the kernel log says."""
    log = gpu_log.signs(_LOG_SECONDS, kernel_log)
    found = {"log": log, "verdict": verdict(reading, log["signs"])}
    over = [problem for problem in problems if problem["kind"] == "memory"]
    if not over:
        return found
    with Source(call, source, processes_too=True, once=True, first=NEXT) as reader:
        again = reader.read()
    who = _who(Holders(again if not again["failed"] else reading))
    elsewhere = _elsewhere(again, over)
    full = {problem["gpu"] for problem in over}
    who["holders"] = [
        each for each in who["holders"] if each["holds"] and full & set(each["gpus"]) and each["pid"] not in elsewhere
    ]
    found.update(who)
    return found


def _elsewhere(reading, problems):
    """Pids that the driver places on other instances of the divided GPUs in trouble."""
    full = {(problem["gpu"], problem.get("gpu_instance")) for problem in problems}
    found = set()
    for gpu in reading["gpus"]:
        for each in gpu.get("processes") or ():
            placed = each.get("gpu_instance")
            if placed is not None and (gpu["index"], placed) not in full and (gpu["index"], None) not in full:
                found.add(each["pid"])
    return found


def _who(holders):
    return {
        "holders": [holder.tell() for holder in holders.found],
        "unseen": holders.strangers,
        "blind": len(holders.blind),
        "all_seen": holders.all_seen,
    }


def verdict(reading, signs):
    """The worst that is known, as {verdict, kind, text, fix, gpu}, or None. The log counts for GPUs in trouble only."""
    found = gpu_reading.faults(reading)
    if found and found[0]["kind"] == "mismatch":
        found[0]["text"] += gpu_driver.versions_words(reading)
    if found and found[0]["verdict"]:
        return found[0]
    for sign in reversed(list(signs)):
        if sign["kind"] is None:
            continue
        gpu = next((g for g in reading["gpus"] if gpu_reading.plain_bus_id(g["bus_id"]) == sign["bus_id"]), None)
        troubled = reading["failed"] or (gpu is not None and (gpu["failed"] or gpu["used_mib"]))
        if troubled or (sign["bus_id"] and gpu is None):
            return dict(gpu_faults.fault(sign["kind"], sign["text"]), gpu=None if gpu is None else gpu["index"])
    return found[0] if found else None


class _Teller:
    """Tells what is waited for, when it changes and every half second."""

    def __init__(self, call, began, within):
        self.call, self.began, self.within = call, began, within
        self.told_at = 0.0
        self.told = None

    def tell(self, reading, problems):
        now = time.monotonic()
        over = {problem.get("instance", problem["gpu"]) for problem in problems}
        used = [(gpu["index"], gpu["used_mib"]) for gpu in reading["gpus"] if gpu["index"] in over]
        parts = [part for gpu in reading["gpus"] for part in gpu.get("instances") or ()]
        used += [(part["name"], part["used_mib"]) for part in parts if part["name"] in over]
        if used == self.told and now - self.told_at < _TELL:
            return
        if now - self.told_at < 0.05:
            return
        self.told, self.told_at = used, now
        shown = ", ".join("GPU %s %s MiB" % (index, "?" if mib is None else mib) for index, mib in used[:8])
        text = shown or problems[0]["text"]
        self.call.progress(
            text="%s (%.1f s of %g s)" % (text, now - self.began, self.within),
            used_mib={str(index): mib for index, mib in used},
            seconds=round(now - self.began, 2),
        )
