"""Facts about processors, memory, firmware and mounted file systems."""

import os
import threading

from cleanslate.remote.facts_files import line, text

_DMI = {
    "bios_date": "bios_date", "bios_vendor": "bios_vendor", "bios_version": "bios_version",
    "board_asset_tag": "board_asset_tag", "board_name": "board_name", "board_serial": "board_serial",
    "board_vendor": "board_vendor", "board_version": "board_version", "chassis_asset_tag": "chassis_asset_tag",
    "chassis_serial": "chassis_serial", "chassis_vendor": "chassis_vendor", "chassis_version": "chassis_version",
    "product_name": "product_name", "product_serial": "product_serial", "product_uuid": "product_uuid",
    "product_version": "product_version", "system_vendor": "sys_vendor",
}  # fmt: skip


def hardware(options):
    """Processors, memory, load, firmware."""
    found = {}
    found.update(processors())
    found.update(memory())
    found.update({fact: line(f"/sys/class/dmi/id/{name}") or "NA" for fact, name in _DMI.items()})
    found["uptime_seconds"] = int(float(line("/proc/uptime").split()[0]))
    load = os.getloadavg()
    found["loadavg"] = {"1m": load[0], "5m": load[1], "15m": load[2]}
    return found


def processors():
    """Ansible's processor facts, from /proc/cpuinfo."""
    entries = [_entry(block) for block in text("/proc/cpuinfo", 1 << 24).split("\n\n") if block.strip()]
    entries = [entry for entry in entries if "processor" in entry]
    listed = []
    for entry in entries:
        listed.append(entry["processor"])
        listed += [entry[key] for key in ("vendor_id", "model name") if key in entry]
    total = len(entries) or os.cpu_count() or 1
    sockets = len({entry["physical id"] for entry in entries if "physical id" in entry})
    first = entries[0] if entries else {}
    if sockets:
        cores = int(first.get("cpu cores", 1) or 1)
        threads = max(int(first.get("siblings", cores) or cores) // cores, 1)
        count, vcpus = sockets, max(sockets * cores * threads, 1)
    else:
        count, cores, threads, vcpus = total, 1, 1, total
    found = {
        "processor": listed,
        "processor_count": count,
        "processor_cores": cores,
        "processor_threads_per_core": threads,
        "processor_vcpus": vcpus,
        "processor_nproc": len(os.sched_getaffinity(0)),
    }
    if "flags" in first:
        found["flags"] = first["flags"].split()
    return found


def _entry(block):
    pairs = (entry.partition(":") for entry in block.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def memory():
    """Ansible's memory facts, in MiB, from /proc/meminfo."""
    kib = {}
    for entry in text("/proc/meminfo").splitlines():
        key, _, value = entry.partition(":")
        kib[key] = int(value.split()[0])

    def mib(name):
        return kib.get(name, 0) // 1024

    cached = kib.get("Cached", 0) + kib.get("Buffers", 0)
    free = (kib.get("MemFree", 0) + cached) // 1024
    return {
        "memtotal_mb": mib("MemTotal"),
        "memfree_mb": mib("MemFree"),
        "swaptotal_mb": mib("SwapTotal"),
        "swapfree_mb": mib("SwapFree"),
        "memory_mb": {
            "real": {
                "total": mib("MemTotal"),
                "used": mib("MemTotal") - mib("MemFree"),
                "free": mib("MemFree"),
            },
            "nocache": {"free": free, "used": mib("MemTotal") - free},
            "swap": {
                "total": mib("SwapTotal"),
                "free": mib("SwapFree"),
                "used": mib("SwapTotal") - mib("SwapFree"),
                "cached": mib("SwapCached"),
            },
        },
    }


def mounts(options):
    """Mounted devices with their sizes; one that does not answer (a server that is gone) is left without sizes."""
    found = []
    for entry in text("/proc/mounts").splitlines():
        words = [word.encode().decode("unicode_escape") if "\\" in word else word for word in entry.split()]
        device, mount, kind, flags = words[:4]
        if not (device.startswith("/") or ":/" in device) or kind == "none":
            continue
        found.append({"device": device, "mount": mount, "fstype": kind, "options": flags, "dump": 0, "passno": 0})
    uuids = _uuids()
    for mount in found:
        mount["uuid"] = uuids.get(os.path.realpath(mount["device"]), "N/A")
    sizing = threading.Thread(target=lambda: [mount.update(_sizes(mount["mount"])) for mount in found], daemon=True)
    sizing.start()
    sizing.join(options["timeout"])
    return {"mounts": [dict(mount) for mount in found]}


def _uuids():
    folder = "/dev/disk/by-uuid"
    try:
        return {os.path.realpath(f"{folder}/{name}"): name for name in os.listdir(folder)}
    except OSError:
        return {}


def _sizes(path):
    try:
        info = os.statvfs(path)
    except OSError:
        return {}
    return {
        "size_total": info.f_frsize * info.f_blocks,
        "size_available": info.f_frsize * info.f_bavail,
        "block_size": info.f_bsize,
        "block_total": info.f_blocks,
        "block_available": info.f_bavail,
        "block_used": info.f_blocks - info.f_bavail,
        "inode_total": info.f_files,
        "inode_available": info.f_favail,
        "inode_used": info.f_files - info.f_favail,
    }
