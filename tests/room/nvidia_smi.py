"""A pretend nvidia-smi for a room; what it says stands in smi.json beside its folder, what it was asked in smi.log.

smi.json: {"gpus": {index: {field: text}}, "count": N, "live": true (memory from who maps the devices), "apps": [lines],
"rc": N, "text": instead of everything, "hang": true, "unknown_fields": [...], "without": [indices]}
"""

import json
import re
import sys
import time
from pathlib import Path

ROOM = Path(sys.argv[0]).resolve().parent.parent
STATE = json.loads((ROOM / "smi.json").read_text())
DEFAULTS = {
    "name": "NVIDIA H200",
    "memory.total": "143771",
    "memory.used": "0",
    "memory.reserved": "615",
    "utilization.gpu": "0",
    "power.draw": "75.12",
    "driver_version": "580.159.04",
    "mig.mode.current": "Disabled",
    "persistence_mode": "Enabled",
}
APPS = ["gpu_uuid", "pid", "used_memory", "process_name"]


def held():
    """{device number: [(pid, MiB)]} from the maps of all processes."""
    found = {}
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            text = maps.read_text()
        except OSError:
            continue
        for start, end, number in re.findall(rf"^(\w+)-(\w+) .* {re.escape(str(ROOM))}/dev/nvidia(\d+)$", text, re.M):
            size = (int(end, 16) - int(start, 16)) >> 20
            found.setdefault(int(number), []).append((int(maps.parent.name), size))
    return found


def row(index, fields, memory):
    special = {
        "index": str(index),
        "uuid": f"GPU-0000-{index}",
        "pci.bus_id": f"00000000:{index + 1:02X}:00.0",
    }
    values = {**DEFAULTS, **special}
    if STATE.get("live"):
        values["memory.used"] = str(sum(size for _, size in memory.get(index, [])))
    values.update(STATE.get("gpus", {}).get(str(index), {}))
    return ", ".join(values[field] for field in fields)


def main():
    with (ROOM / "smi.log").open("a") as log:
        log.write(" ".join(sys.argv[1:]) + "\n")
    if STATE.get("hang"):
        time.sleep(60)
    if "text" in STATE:
        sys.stdout.write(STATE["text"])
        return STATE.get("rc", 0)
    asked = sys.argv[1]
    memory = held() if STATE.get("live") else {}
    indices = [index for index in range(STATE.get("count", 8)) if index not in STATE.get("without", [])]
    if asked.startswith("--query-gpu="):
        fields = asked.partition("=")[2].split(",")
        for field in fields:
            if field in STATE.get("unknown_fields", []):
                print(f'Field "{field}" is not a valid field to query.\n')
                return 2
        for index in indices:
            print(row(index, fields, memory))
    elif asked.startswith("--query-compute-apps="):
        assert asked.partition("=")[2].split(",") == APPS
        for index in indices:
            for pid, size in memory.get(index, []):
                print(f"GPU-0000-{index}, {pid}, {size}, a name, with commas")
        for line in STATE.get("apps", []):
            print(line)
    return STATE.get("rc", 0)


sys.exit(main())
