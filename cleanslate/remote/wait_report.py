"""What a wait for a server has seen, for people and for the record; `watch` is the Watch of health.py throughout."""

import time

from cleanslate.remote import diagnosis, processes

_TAIL = 40


def seen(watch, now):
    """All that was seen, in JSON types."""
    startup = watch.startup
    found = {
        "engine": watch.engine,
        "phase": startup.phase["name"],
        "phases": startup.timeline(now),
        "shards": startup.shards,
        "last_line": startup.last,
        "silent": round(now - watch.spoke_at, 1),
        "seconds": round(now - watch.began, 1),
        "log": watch.log_path,
        "log_tail": (diagnosis.tail(watch.log_path, _TAIL) or []) if watch.log_path else [],
    }
    if watch.prober:
        found.update(http=watch.prober.http, probe=watch.prober.text, probe_trouble=watch.prober.said)
        found["probe_seconds"] = watch.prober.took
    if watch.vitals:
        found.update(processes=watch.vitals.tell(), cores=watch.vitals.cores, workers=watch.vitals.living_workers)
        found["gpu_mib"] = watch.gpus.used
    return found


def success(watch, now):
    """The answer when it serves."""
    found = seen(watch, now)
    del found["log_tail"]
    state = watch.state or {}
    at = state.get("launched_at")
    found.update(pid=state.get("pid"), launch_id=state.get("launch_id"), notes=_notes(watch))
    found["after_launch"] = round(time.time() - at, 1) if at else None
    return found


def _notes(watch):
    """What a person should know although all is well."""
    notes = []
    if watch.ranks and watch.vitals and not watch.vitals.workers:
        notes.append("its workers cannot be told by their titles, so they were not counted")
    if watch.other_node:
        notes.append("this is not node 0: only its process and log were watched, its health path is a dummy")
    if watch.state and watch.profile.get("shallow"):
        environ = processes.read_bytes("/proc/%d/environ" % watch.state["pid"]) or b""
        switched = [each for each in watch.profile["shallow"] if each.encode() + b"=0" in environ.split(b"\0")]
        notes += ["%s=0: its health path answers without generating" % each for each in switched]
    return notes


def missing(watch, now):
    """(what is still missing when the time is over, what to do)."""
    startup, prober, found = watch.startup, watch.prober, []
    if not startup.ready_enough:
        found.append("the ready line never came")
    if prober and prober.http != 200:
        found.append("HTTP: %s" % (prober.http or "not asked yet"))
    elif prober and not prober.done:
        found.append("no generation: %s" % (prober.said or "%d came" % prober.answered))
    if watch.ranks and watch.vitals and watch.vitals.workers and watch.vitals.living_workers < watch.ranks:
        found.append("%d of %d workers" % (watch.vitals.living_workers, watch.ranks))
    phase = startup.timeline(now)[-1]
    what = "%s does not serve after %.0f s (%s; in phase %s for %.0f s)"
    what = what % (watch.who, now - watch.began, "; ".join(found), phase["name"], phase["seconds"])
    if prober and prober.done and not startup.ready_enough:
        return what, "it answers: if it is told to log less, set ready_line to what it writes, or to nothing"
    return what, "give it longer with `within`, or look at the phase that took the time"


def progress(watch, now):
    """What people see while it goes on: a line, and the facts in it."""
    facts = {
        "phase": watch.startup.phase["name"],
        "shards": watch.startup.shards,
        "seconds": round(now - watch.began),
        "silent": round(now - watch.spoke_at),
        "http": watch.prober.http if watch.prober else None,
        "usual": watch.usual,
    }
    if watch.vitals:
        facts.update(cores=watch.vitals.cores, gpu_mib=watch.gpus.used, workers=watch.vitals.living_workers)
    return dict(facts, text=_line(watch, now, facts))


def _line(watch, now, facts):
    words = [facts["phase"]]
    bar = watch.startup.bar
    if bar:
        words.append(("%s %d/%d" % (bar["what"], bar["done"], bar["all"])).strip())
    if facts["silent"] >= 3:
        words.append("silent %d s%s" % (facts["silent"], _activity(watch, now)))
    if facts.get("gpu_mib"):
        words.append("GPU %.1f GiB" % (facts["gpu_mib"] / 1024))
    if facts["http"] not in (None, "refused"):
        words.append("HTTP %s" % facts["http"])
    words.append("%d s" % facts["seconds"])
    if watch.usual and watch.state.get("launched_at"):
        words.append("%d s since launch, usually %d" % (time.time() - watch.state["launched_at"], watch.usual))
    return ", ".join(words)


def _activity(watch, now):
    """Whether something goes on in silence, and what."""
    if watch.vitals is None:
        return ""
    if now - watch.vitals.active_at >= 3:
        return ", no CPU"
    return ", busy (%.1f cores)" % watch.vitals.cores if watch.vitals.why == "CPU" else ", busy (%s)" % watch.vitals.why


def silence_hint(phase):
    """What to do about silence in a phase."""
    if phase["name"] in ("after load", "distributed", "capture", "memory"):
        return (
            "ranks that wait for each other: set NCCL_DEBUG=INFO and look for the rank that is missing; P2P, IOMMU and "
            "custom all-reduce are the usual suspects"
        )
    return "look at the processes' states and stacks in the diagnostics: storage, a lock, a download that hangs"
