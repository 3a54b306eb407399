"""From the signal to every GPU at its baseline, again and again, and who is seen as holder. Prints JSON.

    python3 benchmarks/gpu_rounds.py [--share 0.5] [--pinned 8] [--rounds 10] > rounds.json

One worker a GPU takes a share of its memory, and in every second set of rounds pinned host memory too; the last worker
lives in a PID namespace of its own, as an orphan of a container does. All get KILL at once. An eye in a process of its
own notes when each GPU is back at its baseline; meanwhile the call behind `assert_gpus` waits for the same. Needs root,
GPUs that nobody uses, libcuda, pynvml and util-linux's `unshare`. Reads, and changes no setting.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

from gpu_calls import HERE, call, end_all, ready, short, start
from gpu_story import Inside

from cleanslate.remote import processes

EYE = """
import pynvml as n, sys, time
n.nvmlInit()
limits = [int(word) << 20 for word in sys.argv[1:]]
handles = [n.nvmlDeviceGetHandleByIndex(i) for i in range(len(limits))]
def full(i): return n.nvmlDeviceGetMemoryInfo(handles[i], version=n.nvmlMemory_v2).used > limits[i]
left = {i for i in range(len(limits)) if full(i)}
print("up", len(left), flush=True)
while left:
    for i in sorted(left):
        if not full(i):
            print(i, time.monotonic(), flush=True)
            left.discard(i)
    time.sleep(0.0005)
"""


def used():
    """MiB in use on each GPU."""
    reading = call("gpus.read")
    if reading["failed"]:
        raise RuntimeError(reading["failed"]["text"])
    return [gpu["used_mib"] for gpu in reading["gpus"]]


def holders(room, pinned):
    """Start one worker a GPU, the last one in a namespace; the pids that hold, as this namespace numbers them."""
    inside = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    started = []
    for gpu, gib in enumerate(room["gib"]):
        last = gpu == len(room["gib"]) - 1
        options = ["--gpu", gpu, "--gib", gib, "--pinned", pinned, "--name", f"sglang::sched_TP{gpu}"]
        started.append(start(options, before=inside if last else ()))
    for process in started:
        error = ready(process)
        if error:
            raise RuntimeError(error)
    table = processes.table()
    orphan = next(p.pid for p in table.values() if p.ppid == started[-1].pid)
    return started, [process.pid for process in started[:-1]] + [orphan]


class Eye:
    """When each GPU is back at its limit."""

    def __init__(self, limits):
        words = [sys.executable, "-c", EYE, *map(str, limits)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.full = int(self.process.stdout.readline().split()[1])

    def times(self, seconds=60.0):
        """{GPU: the moment}, of those that came back in time."""
        end, found = time.monotonic() + seconds, {}
        while (
            len(found) < self.full and select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]
        ):
            line = self.process.stdout.readline().split()
            if not line:
                break
            found[int(line[0])] = float(line[1])
        self.process.kill()
        self.process.wait()
        return found


def one_round(room, pinned):
    """Seconds from KILL to each GPU's baseline, and how long after the last one the call answers."""
    began = time.monotonic()
    started, pids = holders(room, pinned)
    took = time.monotonic() - began
    limits = [mib + 1 for mib in room["baseline"]]
    held = used()
    eye, answers = Eye(limits), []
    names = {str(index): mib for index, mib in enumerate(room["baseline"])}

    def wait():
        answers.append((call("gpus.wait", seconds=60, baselines=names, slack_mib=1), time.monotonic()))

    waiter = threading.Thread(target=wait)
    waiter.start()
    time.sleep(0.3)
    signalled = time.monotonic()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    back = eye.times()
    waiter.join()
    for process in started:
        process.wait()
    answer, at = answers[0]
    return {
        "held_mib": held,
        "seconds_to_hold": round(took, 2),
        "seconds": [round(back[gpu] - signalled, 3) if gpu in back else None for gpu in range(len(limits))],
        "answer_ms": round((at - max(back.values())) * 1000, 1) if len(back) == len(limits) else None,
        "ok": answer["ok"],
        "looks": answer["looks"],
    }


def rounds(room, count, pinned):
    """So many rounds, and of each GPU the median and the extremes."""
    found = [one_round(room, pinned) for _ in range(count)]
    late = [each["answer_ms"] for each in found if each["answer_ms"] is not None]
    table = []
    for gpu in range(len(room["gib"])):
        seconds = [each["seconds"][gpu] for each in found if each["seconds"][gpu] is not None]
        row = {"gpu": gpu, "times": len(seconds)}
        if seconds:
            row |= {"median": round(statistics.median(seconds), 3), "least": min(seconds), "most": max(seconds)}
        table.append(row)
    return {"gpus": table, "answer_ms_median": statistics.median(late) if late else None, "rounds": found}


def seen(room):
    """Who is seen as holder and as watcher of each GPU, from outside and from inside the orphan's kind of namespace."""
    inside = Inside("seen")
    try:
        last = len(room["gib"]) - 1
        started = [start(["--gpu", gpu, "--gib", 2, "--name", f"sglang::sched_TP{gpu}"]) for gpu in range(last)]
        watcher = start(["--watch"])
        errors = [error for error in map(ready, [*started, watcher]) if error]
        pid = inside.hold("--gpu", last, "--gib", 2, "--name", f"sglang::sched_TP{last}")
        told = {"errors": errors, "pid_inside": pid}
        for where, reading in (
            ("outside", call("gpus.read", holders=True, log=True, nodes=True)),
            ("inside", inside.call("gpus.read", holders=True)),
        ):
            told[where] = {
                "holders": short([each for each in reading["holders"] if each["holds"]]),
                "watchers": short([each for each in reading["holders"] if not each["holds"]]),
                "driver_lists": [gpu.get("processes") for gpu in reading["gpus"]],
                "unseen": reading["unseen"],
                "used_mib": [gpu["used_mib"] for gpu in reading["gpus"]],
            }
        for process in [*started, watcher]:
            process.kill()
            process.wait()
        return told
    finally:
        inside.close()


def fabric(room):
    """NVSwitch and fabric manager, as far as reading tells."""
    reading = call("gpus.read")
    nodes = sorted(str(path) for path in Path("/dev").glob("nvidia-nvswitch*"))
    proc = Path("/proc/driver/nvidia-nvswitch")
    words = ("nv-fabricmanager", "nvlsm", "nv-hostengine", "nvidia-persiste", "nvidia-imex")
    daemons = sorted({p.comm for p in processes.table().values() if p.comm.startswith(words)})
    topology = subprocess.run(["nvidia-smi", "topo", "-m"], capture_output=True, text=True, timeout=60)
    return {
        "switches": nodes,
        "proc": sorted(path.name for path in proc.iterdir()) if proc.is_dir() else None,
        "daemons": daemons,
        "fabric": [gpu.get("fabric") for gpu in reading["gpus"]],
        "topology": topology.stdout.strip().splitlines(),
    }


def table_text(room):
    """What `inv gpus --once` prints for this machine."""
    place = HERE.parent / ".gpu-rounds-hosts"
    place.write_text("this-machine ansible_connection=local\n")
    words = [sys.executable, "-m", "cleanslate.cli", "gpus", "--once", "-i", str(place)]
    try:
        done = subprocess.run(words, cwd=HERE.parent, capture_output=True, text=True, timeout=120)
        return (done.stdout + done.stderr).splitlines()
    finally:
        place.unlink()


def main():
    """Run every section, whatever becomes of the others."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=0.5, help="of each GPU's memory")
    parser.add_argument("--pinned", type=float, default=8, help="GiB of host memory that each worker pins")
    parser.add_argument("--rounds", type=int, default=10)
    asked = parser.parse_args()
    if not shutil.which("unshare"):
        sys.exit("util-linux's unshare is not here")
    reading = call("gpus.read")
    if reading["failed"] or not reading["gpus"]:
        sys.exit((reading["failed"] or {}).get("text", "no GPU here"))
    if any(gpu["used_mib"] is None or gpu["used_mib"] > 1024 for gpu in reading["gpus"]):
        sys.exit("a GPU has more than 1024 MiB in use: somebody works here")
    room = {
        "baseline": [gpu["used_mib"] for gpu in reading["gpus"]],
        "gib": [round(gpu["total_mib"] / 1024 * asked.share, 1) for gpu in reading["gpus"]],
    }
    out = {"driver": reading["driver"], "names": [gpu["name"] for gpu in reading["gpus"]], **room, "sections": {}}
    sections = [
        ("fabric", fabric),
        ("seen", seen),
        ("plain", lambda r: rounds(r, asked.rounds, 0)),
        ("pinned", lambda r: rounds(r, asked.rounds, asked.pinned)),
        ("table", table_text),
        ("used afterwards", lambda r: used()),
    ]
    try:
        for name, section in sections:
            try:
                out["sections"][name] = section(room)
            except Exception:  # noqa: BLE001 - one section's trouble is told, the others are still measured
                out["sections"][name] = {"error": traceback.format_exc()}
    finally:
        end_all()
    print(json.dumps(out, indent=1))


main()
