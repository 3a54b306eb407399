"""Freeing GPUs from where all processes can be seen: who holds them, whose that is, and ending only those meant."""

import time

from cleanslate.remote import containers, daemons, gpu_reading, probe, processes, protection
from cleanslate.remote.gpu_holders import Holders
from cleanslate.remote.gpu_sources import Source
from cleanslate.remote.ladder import Ladder
from cleanslate.remote.registry import changes, reads

_SLACK_MIB = 16
_WHOLE_HOST = "host"


class Sorting:
    """Sorts everybody who has a GPU device open: to be released, to be spared (and why), or not to be told.

    container: vmid, name or id; scope `host` means every container and the machine itself. gpus: index, UUID or bus id.
    protect: further names or pids to spare. allow: names of protected daemons that may be stopped.
    """

    def __init__(self, reading, container=None, scope="container", gpus=None, protect=None, allow=None):
        self.reading = reading
        self.scope = scope
        self.membership = None if scope == _WHOLE_HOST else containers.Membership(container)
        self.wanted = _indices(reading["gpus"], gpus)
        self.protect = list(protect or ())
        self.allow = list(allow or ())
        self.look()

    def look(self):
        """Look at the processes as they are now."""
        table = processes.table()
        self.holders = Holders(self.reading, table)
        self.own = processes.ourselves(table)
        self.release, self.daemons, self.spared = [], [], []
        for holder in self.holders.found:
            reason = self._sparing(holder)
            if reason is None:
                self.release.append(holder)
            elif reason == "":
                self.daemons.append(holder)
            else:
                self.spared.append(dict(holder.tell(), spared=reason))

    def _sparing(self, holder):
        """Why this one is left alone; None: it is to be released; "": a daemon that may be stopped."""
        process = holder.process
        if process.pid in self.own or process.pid <= 1:
            return "this very run, or what it came from"
        if protection.named(process, self.protect):
            return "protected by name"
        protector = protection.protector(process)
        if protector and protection.named(process, self.allow):
            return ""
        if protector:
            return "protected: %s" % protector
        if not holder.holds:
            return "only watches"
        if self.wanted is not None and not self.wanted & set(holder.gpus):
            return "holds GPU %s, which is not named" % ", ".join(map(str, holder.gpus))
        return self._elsewhere(process)

    def _elsewhere(self, process):
        if self.membership is None:
            return None
        inside = self.membership.holds(process)
        if inside is None:
            return "unknown: this user may not see which container it is in"
        return None if inside else "belongs to %s" % containers.label(containers.where(process))

    @property
    def container_seen(self):
        """Whether anything at all runs in the container that was named."""
        inside = self.membership
        return inside is None or any(inside.holds(process) for process in self.holders.table.values())

    @property
    def unknown(self):
        """Why it cannot be told from here who holds the GPUs, or None."""
        if processes.others_hidden(self.holders.table):
            return "this user is not shown the processes of others (hidepid)"
        unsure = [each["pid"] for each in self.spared if each["spared"].startswith("unknown")]
        blind = self.holders.blind
        if self.membership is not None:
            unsure += [process.pid for process in blind if self.membership.holds(process) is not False]
        # With the driver's list at hand, who is not in it holds nothing.
        hidden = [pid for pid in self.holders.strangers if pid in {process.pid for process in blind}]
        if unsure or hidden:
            return "%d processes cannot be looked into" % len(set(unsure + hidden))
        if blind and not self.holders.driver_lists and self.reading["source"] != "none":
            return "%d processes cannot be looked into, and the driver lists none" % len(blind)
        return None

    def memory_without_holder(self):
        """GPUs (of those named) that use memory while nobody who could be seen holds any there."""
        found = []
        for gpu in self.reading["gpus"]:
            meant = self.wanted is None or gpu["index"] in self.wanted
            if meant and (gpu["used_mib"] or 0) > _SLACK_MIB and not self.holders.of(gpu["index"]):
                found.append({"index": gpu["index"], "uuid": gpu["uuid"], "used_mib": gpu["used_mib"]})
        return found


def _indices(gpus, wanted):
    """The indices that a list of indices, UUIDs and bus ids means; None for all. Unknown ones mean no GPU."""
    if wanted is None:
        return None
    keys = {gpu_reading.name_key(each) for each in wanted}
    found = {gpu["index"] for gpu in gpus if keys & set(gpu_reading.names(gpu))}
    # Where the driver cannot be read, a plain number is taken for the device's.
    return found | {int(key) for key in keys if key.isdigit() and not gpus}


@reads
def plan(call, source="auto", settle=0.0, **sorting):
    """Who would be ended and who spared: {release, daemons, spared, unknown, memory_without_holder, failed}.

    settle: where nobody is to be ended, seconds for memory that nobody holds any more to be given back.
    Takes the arguments of `Sorting`.
    """
    found = Sorting(_read(call, source), **sorting)
    if not found.release and not found.daemons and found.memory_without_holder():
        found = _settle(call, source, sorting, settle)
    return {
        "release": [dict(holder.tell(), why=_why(holder)) for holder in found.release],
        "daemons": [holder.tell() for holder in found.daemons],
        "spared": found.spared,
        "unknown": found.unknown,
        "memory_without_holder": found.memory_without_holder(),
        "failed": found.reading["failed"],
        "gpus": found.reading["gpus"],
        "container_seen": found.container_seen,
    }


@changes
def release(call, grace=5.0, kill_within=120.0, settle=10.0, source="auto", **sorting):
    """End the holders that are meant, verify the driver's daemons, and wait until the memory of the ended is back.

    grace: seconds from TERM to KILL. settle: seconds for memory that nobody holds any more to be given back.
    Takes the arguments of `Sorting`.
    """
    found = Sorting(_read(call, source), **sorting)
    before = daemons.running(processes.table())
    wanted = [holder.tell() for holder in found.daemons]
    stopped = daemons.stop(call, wanted, grace) if wanted else []

    def again(known):
        found.look()
        return [(holder.process, _why(holder)) for holder in found.release]

    first = again(())
    ladder = Ladder(call, first, [process.key for process, _ in first], again)
    ladder.run(True, grace, kill_within)
    report = ladder.report()
    settled = _settle(call, source, sorting, settle)
    return {
        "released": report["stopped"] + report["ended"],
        "remaining": report["remaining"],
        "denied": report["denied"],
        "respawned_by": report["respawned_by"],
        "zombies": report["zombies"],
        "spared": settled.spared,
        "daemons_stopped": stopped,
        "daemons": daemons.verify(call, before, stopped),
        "memory_without_holder": settled.memory_without_holder(),
        "failed": settled.reading["failed"],
        "gpus": settled.reading["gpus"],
        "seconds": report["seconds"],
    }


def _why(holder):
    sizes = [size for size in holder.used_mib.values() if size is not None]
    held = " (%d MiB)" % sum(sizes) if sizes else ""
    around = containers.where(holder.process)
    where = "in " + containers.label(around) if around else "on this machine"
    return "holds GPU %s%s %s" % (", ".join(map(str, holder.gpus)) or "memory", held, where)


def _settle(call, source, sorting, seconds):
    """Look until no memory is left that nobody holds, or the seconds are over."""
    until = time.monotonic() + seconds
    with Source(call, source, processes_too=True) as reader:
        while True:
            found = Sorting(reader.read(), **sorting)
            if not found.memory_without_holder() or time.monotonic() >= until:
                return found
            left = found.memory_without_holder()
            words = ", ".join("GPU %d %d MiB" % (each["index"], each["used_mib"]) for each in left)
            call.progress(text="memory without a holder: %s" % words)
            call.cancelled.wait(0.1)
            probe.check_cancelled(call)


def _read(call, source):
    with Source(call, source, processes_too=True, once=True) as reader:
        return reader.read()
