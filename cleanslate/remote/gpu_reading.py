"""Judges readings of the GPUs: only numbers pass; what is unknown or failed never looks like an empty GPU."""

from cleanslate.remote import gpu_faults

# Unknown for one of these reasons stays unknown, however long one waits.
_LASTING = ("n/a", "not supported", "insufficient permissions", "insufficient permission", "not available", "no value")


class Wanted:
    """What is asserted. `used_mib` or `used_percent` is the limit; with neither, the baseline plus `slack_mib`.

    count: how many GPUs there must be (None: at least one). uuids, bus_ids: exactly which. baselines: {uuid, bus id or
    index: MiB} of a known-clean machine. gpus: limits the memory check to these (index, UUID or bus id).

    Of a GPU that is divided (MIG) each instance is held to the limit by itself, and can be named wherever a GPU can: by
    its UUID, or by the GPU's index and its number there (`0:2`). instances: how many there must be in all.
    """

    def __init__(
        self,
        count=None,
        uuids=None,
        bus_ids=None,
        used_mib=None,
        used_percent=None,
        baselines=None,
        slack_mib=16,
        gpus=None,
        instances=None,
    ):
        self.count = count
        self.uuids = list(uuids or ())
        self.bus_ids = [plain_bus_id(bus_id) for bus_id in bus_ids or ()]
        self.used_mib = used_mib
        self.used_percent = used_percent
        self.baselines = {name_key(key): value for key, value in (baselines or {}).items()}
        self.slack_mib = slack_mib
        self.gpus = None if gpus is None else {name_key(each) for each in gpus}
        self.instances = instances

    def limit(self, gpu):
        """The most MiB that a GPU, or an instance, may use; None when it is a share of a total that nobody knows."""
        if self.used_mib is not None:
            return self.used_mib
        if self.used_percent is not None:
            return None if gpu["total_mib"] is None else gpu["total_mib"] * self.used_percent / 100.0
        known = [self.baselines[name] for name in names(gpu) if name in self.baselines]
        return (known[0] if known else 0) + self.slack_mib

    def concerns(self, gpu):
        """Whether this GPU's memory is checked, that of all its instances included."""
        return self.gpus is None or bool(self.gpus & set(names(gpu)))

    def concerned(self, gpu):
        """The instances of a divided GPU whose memory is checked."""
        parts = gpu.get("instances") or ()
        return [part for part in parts if self.concerns(gpu) or self.gpus & set(names(part))]


def plain_bus_id(bus_id):
    """A PCI bus id the way lspci writes it (`0000:01:00.0`): NVML's domain has eight digits, others' four."""
    text = str(bus_id).strip().lower()
    return text[4:] if text.startswith("0000") and text.count(":") == 2 and text.index(":") == 8 else text


def name_key(name):
    """An index, UUID or bus id in the form in which GPUs are compared."""
    text = str(name).strip()
    return text if text.isdigit() else plain_bus_id(text)


def names(gpu):
    """All the names of a GPU: index, UUID, bus id; of an instance: `0:2`, UUID."""
    found = [gpu["name"] if "gpu_instance" in gpu else str(gpu["index"])]
    if gpu.get("uuid"):
        found.append(gpu["uuid"].lower())
    if gpu.get("bus_id"):
        found.append(plain_bus_id(gpu["bus_id"]))
    return found


def judge(reading, wanted, held=None):
    """What is wrong with a reading, as [{kind, gpu, text, lasting}]; empty: all that was asserted holds.

    kind: failed (the query), count, missing, extra, fault (of a GPU), unknown, memory. lasting: waiting cannot help.
    A problem of a MIG instance also has `instance`, its name.
    held: for GPUs whose memory is the machine's own, {index: whether any process holds it}.
    """
    if reading["failed"]:
        fault = reading["failed"]
        lasting = fault["verdict"] is not None or fault["kind"] in ("missing", "permission", "silent")
        return [_problem("failed", None, fault["text"], lasting)]
    found = _which(reading["gpus"], wanted)
    for gpu in reading["gpus"]:
        parts = wanted.concerned(gpu)
        if parts or wanted.concerns(gpu):
            found += _memory(gpu, parts, wanted, held or {})
    return found


def _which(gpus, wanted):
    """Whether these are the GPUs that there must be."""
    found = []
    if wanted.count is not None and len(gpus) != wanted.count:
        found.append(_problem("count", None, "%d GPUs, not %d: %s" % (len(gpus), wanted.count, _listed(gpus)), True))
    elif not gpus and wanted.count is None:
        found.append(_problem("count", None, "no GPU at all", True))
    parts = [part for gpu in gpus for part in gpu.get("instances") or ()]
    if wanted.instances is not None and len(parts) != wanted.instances:
        listed = ", ".join(part["name"] for part in parts) or "none"
        found.append(
            _problem("count", None, "%d MIG instances, not %d: %s" % (len(parts), wanted.instances, listed), True)
        )
    present = {name for each in [*gpus, *parts] for name in names(each)}
    named = {*wanted.uuids, *wanted.bus_ids, *(wanted.gpus or ())}
    absent = sorted(name for name in named if name.lower() not in present)
    found += [_problem("missing", None, "GPU %s is not there" % name, True) for name in absent]
    for gpu in gpus:
        found += _extra(gpu, wanted)
    return found


def _extra(gpu, wanted):
    """What is there although only others are named: a GPU, or of a GPU of which instances are named the rest."""
    uuids = {uuid.lower() for uuid in wanted.uuids}
    parts = gpu.get("instances") or ()
    mine = [part for part in parts if (part["uuid"] or "").lower() in uuids]
    others = uuids and not mine and (gpu["uuid"] or "").lower() not in uuids
    if others or (wanted.bus_ids and plain_bus_id(gpu["bus_id"]) not in wanted.bus_ids):
        return [_problem("extra", gpu, "GPU %s is not one of those named" % label(gpu), True)]
    strangers = [part for part in parts if mine and part not in mine]
    return [_problem("extra", gpu, "MIG %s is not one of those named" % label(part), True, part) for part in strangers]


def _memory(gpu, parts, wanted, held):
    fault = gpu["failed"] or gpu_faults.of_recovery(gpu.get("recovery"))
    if fault:
        return [_problem("fault", gpu, "GPU %s: %s" % (label(gpu), fault["text"]), fault["verdict"] is not None)]
    if gpu.get("coherent"):
        return _coherent(gpu, held.get(gpu["index"]))
    if parts:
        return [problem for part in parts for problem in _full(gpu, part, wanted)]
    return _full(gpu, None, wanted)


def _full(gpu, part, wanted):
    """Whether a GPU, or one instance of it, uses more than it may; never passed without a number."""
    it = part or gpu
    name = "MIG " + part["name"] if part else "GPU %d" % gpu["index"]
    if it["used_mib"] is None:
        reason = it["unknown"] or "no value"
        return [_problem("unknown", gpu, "unknown for %s: %s" % (name, reason), reason.lower() in _LASTING, part)]
    limit = wanted.limit(it)
    if limit is None:
        return [_problem("unknown", gpu, "unknown for %s: its total memory is not told" % name, True, part)]
    if it["used_mib"] > limit:
        text = "%s uses %d MiB, more than %g" % (name, it["used_mib"], limit)
        return [dict(_problem("memory", gpu, text, False, part), used_mib=it["used_mib"], limit_mib=limit)]
    return []


def _coherent(gpu, held):
    """A GPU whose memory is a part of the machine's (Grace): pages stay after a process, so processes decide."""
    if held is None:
        text = "unknown for GPU %d: its memory is the machine's own, and its holders cannot be seen here" % gpu["index"]
        return [_problem("unknown", gpu, text, True)]
    return [_problem("memory", gpu, "GPU %d is held by a process" % gpu["index"], False)] if held else []


def _problem(kind, gpu, text, lasting, part=None):
    found = {"kind": kind, "gpu": None if gpu is None else gpu["index"], "text": text, "lasting": lasting}
    return dict(found, instance=part["name"], gpu_instance=part["gpu_instance"]) if part else found


def _listed(gpus):
    return ", ".join("%d (%s)" % (gpu["index"], gpu["bus_id"] or gpu["uuid"]) for gpu in gpus) or "none"


def label(gpu):
    """A GPU as people read it: its index, and its bus id where it is known; an instance: `0:2`, and its UUID."""
    if "gpu_instance" in gpu:
        return "%s (%s)" % (gpu["name"], gpu["uuid"])
    return "%d (%s)" % (gpu["index"], plain_bus_id(gpu["bus_id"])) if gpu.get("bus_id") else str(gpu["index"])


def faults(reading):
    """Every fault in a reading, of the query and of single GPUs, the worst first."""
    found = [dict(reading["failed"], gpu=None)] if reading["failed"] else []
    for gpu in reading["gpus"]:
        fault = gpu["failed"] or gpu_faults.of_recovery(gpu.get("recovery"))
        found += [dict(fault, gpu=gpu["index"])] if fault else []
    return sorted(found, key=lambda each: {"wedged": 0, "broken": 1}.get(each["verdict"], 2))
