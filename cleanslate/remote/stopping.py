"""Stopping a server: what would be signalled and why, and then the signalling itself."""

import time

from cleanslate.remote import containers, processes, server_state
from cleanslate.remote.ladder import Ladder
from cleanslate.remote.registry import changes, reads
from cleanslate.remote.selection import Selection


@reads
def plan(call, **selection):
    """What belongs to a server now: {targets, spared, zombies, state, launched, log}; nothing is touched.

    Each target says who it is, why it is taken, and the systemd unit it lives in; `main` marks those that are asked
    first. Takes the arguments of `Selection`.
    """
    chosen = Selection(**selection)
    found = chosen.find()
    mains = set(chosen.mains(found))
    targets = []
    for process, why in found:
        entry = process.tell()
        entry.update({"why": why, "main": process.key in mains, "unit": containers.unit(process.pid)})
        targets.append(entry)
    return {
        "targets": targets,
        "spared": list(chosen.spared.values()),
        "zombies": chosen.zombies(),
        "launched": chosen.state,
        "believed": chosen.believed,
        "blind": chosen.blind,
        "engines": chosen.engines,
        "container": containers.inside_one(),
    }


@changes
def stop(call, graceful=True, grace=20.0, kill_within=120.0, **selection):
    """End everything that belongs to a server and wait until it is gone. Gives the ladder's report.

    grace: seconds between TERM to the main process and going on. kill_within: seconds after KILL until what is left
    counts as unkillable. Takes the arguments of `Selection` beside them.
    """
    chosen = Selection(**selection)
    found = chosen.find()
    ladder = Ladder(call, found, chosen.mains(found), chosen.find)
    ladder.run(graceful, grace, kill_within)
    report = ladder.report()
    report["spared"] = list(chosen.spared.values())
    if chosen.believed and not report["remaining"] and not chosen.state.get("stopped_at"):
        _note_stopped(chosen.state)
    return report


def _note_stopped(state):
    """Write down that the end was asked for: exit code 137 or signal 9 after this is no crash."""
    now = processes.look_again((state["pid"], state.get("start")))
    if now is None or now.gone:
        server_state.write(dict(state, stopped_at=time.time()))
