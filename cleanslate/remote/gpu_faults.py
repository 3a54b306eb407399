"""What can be wrong with a GPU or with asking it, as plain data: the kind of fault, its verdict, and what to do.

A verdict is `wedged` (only a reset or a reboot helps: nothing is to be launched), `broken` (the machine must be
repaired first, trying again is useless) or None (trying again may help).
Sources: NVML's return codes (nvmlReturn_t), which nvidia-smi also exits with; NVIDIA's list of Xid errors.
"""

import re

_RESTART = "restart the container: its permission to use the devices was lost (a daemon-reload on the host does that)"
KINDS = {
    "hung": (
        "wedged",
        "the driver does not answer",
        "start no further GPU program there; see the host's kernel log, then reset the GPU or reboot the machine",
    ),
    "lost": (
        "wedged",
        "the GPU is lost (it has fallen off the bus)",
        "reboot the machine, with the power off if need be",
    ),
    "reset_required": ("wedged", "the GPU must be reset", "reset it from the host when nothing is attached, or reboot"),
    "reboot_required": ("wedged", "the driver asks for a reboot", "reboot the machine"),
    "mismatch": (
        "broken",
        "the kernel's driver and the library here are of different versions",
        "install the host's version here, or restart what still has the old one loaded; trying again is useless",
    ),
    "no_driver": (
        "broken",
        "the NVIDIA driver is not loaded",
        "load it on the host (modprobe nvidia), see its kernel log",
    ),
    "blocked": ("broken", "the operating system blocks the GPU", _RESTART),
    "unknown_error": (
        None,
        "the driver says: unknown error",
        _RESTART + "; if it fails on the host too, see its kernel log",
    ),
    "permission": (None, "no permission to read it", "ask the hypervisor, where all of it can be read"),
    "unsupported": (None, "this GPU or driver does not tell it", "ask the hypervisor, where more can be read"),
    "missing": (
        None,
        "neither NVML nor nvidia-smi is here",
        "install the driver's user part (libnvidia-ml, nvidia-smi)",
    ),
    "silent": (
        None,
        "nvidia-smi ended well and printed nothing",
        "run it by hand; a query that says nothing is no idle GPU",
    ),
    "query": (None, "the query failed", "run nvidia-smi by hand on that machine"),
}
DEVICE_FAULTS = ("lost", "reset_required", "blocked")
_BY_CODE = {
    3: "unsupported",
    4: "permission",
    9: "no_driver",
    10: "hung",
    12: "missing",
    13: "missing",
    15: "lost",
    16: "reset_required",
    17: "blocked",
    18: "mismatch",
    999: "unknown_error",
}
_BY_TEXT = (
    ("mismatch", "driver/library version mismatch"),
    ("no_driver", "couldn't communicate with the nvidia driver"),
    ("no_driver", "driver not loaded"),
    ("lost", "gpu is lost"),
    ("lost", "fallen off the bus"),
    ("reset_required", "requires reset"),
    ("reset_required", "reset required"),
    ("permission", "insufficient permission"),
    ("unknown_error", "unknown error"),
)

# Xid -> (what it means, verdict's kind or None where the number alone does not decide)
XIDS = {
    48: ("double-bit memory error", "reset_required"),
    62: ("the GPU's microcontroller halted", "reset_required"),
    64: ("a memory row could not be remapped", "reset_required"),
    74: ("NVLink error", None),
    79: ("the GPU has fallen off the bus", "lost"),
    95: ("uncontained memory error", "reset_required"),
    119: ("the GPU's system processor timed out", "reset_required"),
    120: ("the GPU's system processor failed", "reset_required"),
    154: ("the driver's recovery action changed", None),
}


def fault(kind, text=None, **more):
    """A fault as JSON types: {kind, text, verdict, fix}."""
    verdict, words, fix = KINDS[kind]
    return dict(more, kind=kind, text=text or words, verdict=verdict, fix=fix)


def of_nvml(code, text):
    """The fault that an NVML return code means."""
    return fault(_BY_CODE.get(code, "query"), text or None, code=code)


def of_smi(code, text):
    """The fault that nvidia-smi's exit code and words mean; words win, for the codes are promised nowhere."""
    said = text.lower()
    kind = next((kind for kind, words in _BY_TEXT if words in said), None) or _BY_CODE.get(code, "query")
    first = next((line.strip() for line in text.splitlines() if line.strip()), "exit code %d" % code)
    return fault(kind, first[:300], code=code)


def of_recovery(action):
    """The fault that the driver's own recovery action means, or None."""
    if not action:
        return None
    kind = "reboot_required" if "reboot" in action else "reset_required" if "reset" in action else None
    return fault(kind, "the driver says what this GPU needs: %s" % action) if kind else None


_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d+)(?:, ?(.*))?")


def sign(line):
    """What a line of the kernel log says of a GPU's health: {bus_id, xid, text, kind}, or None."""
    met = _XID.search(line)
    if met:
        number = int(met.group(2))
        if number not in XIDS:
            return None
        words, kind = XIDS[number]
        rest = (met.group(3) or "").strip()
        if number == 154:
            kind = _recovery_kind(rest)
        return {"bus_id": met.group(1), "xid": number, "text": "Xid %d: %s" % (number, rest or words), "kind": kind}
    said = line.lower()
    if "nvrm" not in said and "nvidia" not in said and "gpu" not in said:
        return None
    if "fallen off the bus" in said:
        return {"bus_id": None, "xid": None, "text": line.strip()[:300], "kind": "lost"}
    if "nvrm: api mismatch" in said:
        return {"bus_id": None, "xid": None, "text": line.strip()[:300], "kind": "mismatch"}
    if "rminitadapter failed" in said:
        return {"bus_id": None, "xid": None, "text": line.strip()[:300], "kind": None}
    return None


def _recovery_kind(text):
    said = text.lower().rsplit(" to ", 1)[-1]
    if "reboot" in said:
        return "reboot_required"
    return "reset_required" if "reset" in said else None
