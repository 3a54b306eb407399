"""The GPU steps' calls on a real GPU: what they see, whom they end, how fast they notice. Prints JSON.

    python3 benchmarks/gpu_story.py [--gib 100] [--pinned 16] [--rounds 10] [--skip torch,pinned]

Needs root, an NVIDIA GPU with libcuda, pynvml, and util-linux's `unshare`; PyTorch for one section. Drives the calls of
cleanslate.remote directly, from outside and from inside a PID namespace, with a watcher, a neighbour in a namespace of
its own and a stand-in daemon beside it, and says at the end whether these still live.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

from gpu_calls import HERE, call, end_all, ready, short, start

from cleanslate.remote import containers, processes

MIB = 1 << 20


class Inside:
    """A container: a PID namespace, whose first process answers calls and starts holders."""

    def __init__(self, name):
        self.name = name
        command = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
        self.process = subprocess.Popen(
            [*command, sys.executable, "-u", str(HERE / "gpu_story.py"), "--agent"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.ask(do="look")
        children = [p.pid for p in processes.table().values() if p.ppid == self.process.pid]
        self.first = children[0]

    def ask(self, **request):
        """One request, one answer."""
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} does not answer")
        return json.loads(line)

    def call(self, name, **arguments):
        """Make one call of the agent's code in there."""
        return self.ask(do="call", name=name, arguments=arguments)

    def hold(self, *options):
        """Start a holder inside and wait until it has its memory; gives its pid in there."""
        found = self.ask(do="hold", options=[str(word) for word in options])
        if "error" in found:
            raise RuntimeError(found["error"])
        return found["pid"]

    def close(self):
        """End it with everything in it."""
        self.process.kill()
        self.process.wait()


def agent():
    """Answer requests inside a namespace."""
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "call":
            answer = call(request["name"], **request["arguments"])
        elif request["do"] == "hold":
            answer = hold(request["options"])
        else:
            answer = {"namespace": containers.namespace_chain("self")}
        print(json.dumps(answer), flush=True)


def hold(options):
    """Start a holder; {pid} when it is ready, {error} when it could not be had."""
    process = start(options)
    error = ready(process)
    return {"error": error} if error else {"pid": process.pid}


def used_mib(source="nvml"):
    """What the first GPU uses now, or why that is not known."""
    reading = call("gpus.read", source=source)
    return reading["gpus"][0]["used_mib"] if reading["gpus"] else reading["failed"]


# ---- the sections


def readings(room):
    """What NVML, nvidia-smi and NVML's version 1 say of the idle GPU, and how long each takes."""
    found = {}
    for source in ("nvml", "nvidia-smi"):
        began = time.monotonic()
        reading = call("gpus.read", source=source, holders=True, log=True, nodes=True)
        found[source] = {
            "seconds": round(time.monotonic() - began, 3),
            "used_mib": [gpu["used_mib"] for gpu in reading["gpus"]],
            "used_bytes": [gpu["used_bytes"] for gpu in reading["gpus"]],
            "reserved_mib": [gpu["reserved_mib"] for gpu in reading["gpus"]],
            "gpu": {k: v for k, v in (reading["gpus"] or [{}])[0].items() if k != "processes"},
            "driver": reading["driver"],
            "kernel_driver": reading["kernel_driver"],
            "library": reading["library"],
            "failed": reading["failed"],
            "warnings": reading["warnings"],
            "inside_container": reading["inside_container"],
            "log_readable": reading["log"]["readable"],
            "signs": reading["log"]["signs"][-5:],
            "nodes": reading["nodes"],
            "holders": short(reading["holders"]),
            "blind": reading["blind"],
        }
    code = "import pynvml as n; n.nvmlInit(); print(n.nvmlDeviceGetMemoryInfo(n.nvmlDeviceGetHandleByIndex(0)).used)"
    version_1 = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    found["nvml_version_1_mib"] = int(version_1.stdout) // MIB if version_1.returncode == 0 else version_1.stderr[-300:]
    return found


def agreement(room):
    """The same memory through both sources while something is held."""
    pid = room["target"].hold("--gib", 3)
    found = {source: used_mib(source) for source in ("nvml", "nvidia-smi")}
    room["target"].call("stopping.stop", engines=[], extra={"commands": ["gpu_holder.py"]}, graceful=False)
    wait_empty(room)
    return {**found, "pid_inside": pid}


def wait_empty(room):
    """Wait until only the bystanders' memory is used."""
    return call("gpus.wait", seconds=30, used_mib=room["baseline"] + 4)


def seen(room):
    """Who is seen as holder and as watcher, from outside and from inside."""
    inside = room["target"].hold("--gib", 4, "--name", "sglang::scheduler_TP0")
    outside = call("gpus.read", holders=True)
    within = room["target"].call("gpus.read", holders=True)
    waited = room["target"].call("gpus.wait", seconds=0.2, used_mib=room["baseline"])
    room["held"] = inside
    return {
        "outside": {"holders": short(outside["holders"]), "unseen": outside["unseen"]},
        "inside": {
            "holders": short(within["holders"]),
            "unseen": within["unseen"],
            "driver_lists": [gpu.get("processes") for gpu in within["gpus"]],
            "used_mib": [gpu["used_mib"] for gpu in within["gpus"]],
        },
        "assert_inside": {"problems": waited["problems"], "holders": short(waited["holders"])},
    }


def stop_inside(room):
    """stop_server's calls in the container: the plan, the end, the memory."""
    target = room["target"]
    plan = target.call("stopping.plan", engines=["sglang"])
    began = time.monotonic()
    stopped = target.call("stopping.stop", engines=["sglang"], grace=3)
    gone = time.monotonic()
    waited = call("gpus.wait", seconds=30, used_mib=room["baseline"] + 1)
    return {
        "plan": short(plan["targets"]),
        "spared": short(plan["spared"]),
        "stopped": short(stopped.get("stopped", [])),
        "zombies": short(stopped.get("zombies", [])),
        "seconds_to_gone": round(gone - began, 3),
        "seconds_to_empty": round(time.monotonic() - began, 3),
        "problems": waited["problems"],
    }


def release_outside(room, *options):
    """release_gpus' calls on the hypervisor: only the container's holder ends, whoever else is there."""
    inside = room["target"].hold(*options, "--name", "sglang::scheduler_TP0", "--ignore-term")
    before = used_mib()
    plan = call("holders.plan", container="101")
    began = time.monotonic()
    done = call("holders.release", container="101", grace=0.5)
    released = time.monotonic()
    waited = call("gpus.wait", seconds=60, used_mib=room["baseline"] + 1)
    return {
        "pid_inside": inside,
        "used_mib_before": before,
        "plan": {"release": short(plan["release"]), "spared": short(plan["spared"]), "unknown": plan["unknown"]},
        "released": short(done.get("released", [])),
        "spared": short(done.get("spared", [])),
        "daemons": done.get("daemons"),
        "memory_without_holder": done.get("memory_without_holder"),
        "failed": done.get("failed_call") and done,
        "seconds_release": round(released - began, 3),
        "seconds_to_empty": round(time.monotonic() - began, 3),
        "problems": waited["problems"],
    }


def stop_torch(room):
    """A PyTorch process as the stuck server, ended from inside by its process name."""
    room["target"].hold("--torch", "--gib", 8, "--name", "sglang::scheduler_TP0")
    return stop_inside(room)


def stop_big(room, *options):
    """From the signal to an empty GPU with much held, by KILL."""
    pid = room["target"].hold(*options, "--name", "sglang::scheduler_TP0")
    before = used_mib()
    began = time.monotonic()
    stopped = room["target"].call("stopping.stop", engines=["sglang"], graceful=False)
    gone = time.monotonic()
    waited = call("gpus.wait", seconds=60, used_mib=room["baseline"] + 1)
    return {
        "pid_inside": pid,
        "used_mib_before": before,
        "ended": [(entry["how"], entry["ended"], entry["seconds"]) for entry in stopped.get("stopped", [])],
        "seconds_to_gone": round(gone - began, 3),
        "seconds_to_empty": round(time.monotonic() - began, 3),
        "problems": waited["problems"],
    }


class Eye(threading.Thread):
    """Notes, in a process of its own, the moment at which the driver gives the memory back."""

    CODE = """
import pynvml as n, sys, time
n.nvmlInit(); h = n.nvmlDeviceGetHandleByIndex(0); limit = int(sys.argv[1]) << 20
def used(): return n.nvmlDeviceGetMemoryInfo(h, version=n.nvmlMemory_v2).used
print("up", flush=True)
while used() <= limit: time.sleep(0.0005)
while used() > limit: time.sleep(0.0005)
print(time.monotonic(), flush=True)
"""

    def __init__(self, limit):
        super().__init__(daemon=True)
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.CODE, str(limit)], stdout=subprocess.PIPE, text=True
        )
        self.process.stdout.readline()
        self.at = None
        self.start()

    def run(self):
        """Wait for the moment."""
        line = self.process.stdout.readline()
        self.at = float(line) if line.strip() else None
        self.process.wait()


def wait_and_note(limit, source, answers):
    """One wait, and the moment of its answer."""
    answers.append((call("gpus.wait", seconds=30, used_mib=limit, source=source), time.monotonic()))


def latency(room, rounds, source="nvml"):
    """From the moment the memory is free to assert_gpus' call answering: one `gpus.wait` each."""
    late, looks = [], []
    limit = room["baseline"] + 1
    for _ in range(rounds):
        process = subprocess.Popen(
            [sys.executable, str(HERE / "gpu_holder.py"), "--gib", "2"], stdout=subprocess.PIPE, text=True
        )
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError("the holder could not be had")
        eye = Eye(limit)
        answers: list = []
        waiter = threading.Thread(target=wait_and_note, args=(limit, source, answers))
        waiter.start()
        time.sleep(0.3)
        process.kill()
        process.wait()
        waiter.join()
        eye.join(10)
        eye.process.kill()
        answer, at = answers[0]
        if answer["ok"] and eye.at:
            late.append(round((at - eye.at) * 1000, 1))
            looks.append(answer["looks"])
    return {"milliseconds": late, "median": statistics.median(late) if late else None, "looks": looks}


def proof(room):
    """`prove`: 1 GiB is to be had, 256 GiB are not; the GPU is empty afterwards."""
    began = time.monotonic()
    good = call("gpus.prove", mib=1024, count=1)
    took = time.monotonic() - began
    bad = call("gpus.prove", mib=256 * 1024)
    after = wait_empty(room)
    return {"good": good, "seconds": round(took, 3), "too_much": bad, "empty_afterwards": after["problems"]}


def alive(room):
    """Whether everybody who had to stay did."""
    return {name: processes.ended(key) is None for name, key in room["bystanders"].items()}


def bystanders(room):
    """A watcher, a stand-in daemon, and a neighbour in a namespace of its own that holds 1 GiB."""
    watcher, daemon = hold(["--watch"]), hold(["--open", "/dev/nvidia0", "--name", "nvidia-persistenced"])
    neighbour = room["neighbour"].hold("--gib", 1)
    outside = [p for p in processes.table().values() if p.nspids[-1] == neighbour and len(p.nspids) > 1]
    table = processes.table()
    room["bystanders"] = {
        "neighbour": next(p.key for p in outside if p.ppid == room["neighbour"].first),
        **{name: table[each["pid"]].key for name, each in (("watcher", watcher), ("daemon", daemon)) if "pid" in each},
    }
    room["baseline"] = used_mib()
    return {"watcher": watcher, "daemon": daemon, "neighbour": neighbour, "baseline_mib": room["baseline"]}


def lxc_info(room):
    """The hypervisor's tool, telling the namespaces that we made."""
    folder = Path(tempfile.mkdtemp())
    lines = "".join(f"{vmid}) echo {room[name].first};;\n" for vmid, name in ((101, "target"), (102, "neighbour")))
    (folder / "lxc-info").write_text(f'#!/bin/sh\ncase "$2" in\n{lines}*) exit 1;;\nesac\n')
    (folder / "lxc-info").chmod(0o755)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"


def main():
    """Run every section, whatever becomes of the others."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--agent", action="store_true")
    parser.add_argument("--gib", type=float, default=100)
    parser.add_argument("--pinned", type=float, default=16)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--skip", default="")
    asked = parser.parse_args()
    if asked.agent:
        agent()
        return
    out = {"python": sys.version.split()[0], "kernel": os.uname().release, "sections": {}}
    room = {"baseline": 0}
    sections = [
        ("namespaces", lambda r: r.update(target=Inside("target"), neighbour=Inside("neighbour")) or lxc_info(r)),
        ("idle", lambda r: {source: used_mib(source) for source in ("nvml", "nvidia-smi")}),
        ("bystanders", bystanders),
        ("readings", readings),
        ("agreement", agreement),
        ("seen", seen),
        ("stop_inside", stop_inside),
        ("release_outside", lambda r: release_outside(r, "--gib", 4)),
        ("torch", stop_torch),
        ("big", lambda r: stop_big(r, "--gib", asked.gib)),
        ("pinned", lambda r: stop_big(r, "--gib", asked.gib, "--pinned", asked.pinned)),
        ("big_release", lambda r: release_outside(r, "--gib", asked.gib)),
        ("latency_nvml", lambda r: latency(r, asked.rounds)),
        ("latency_smi", lambda r: latency(r, max(1, asked.rounds // 2), "nvidia-smi")),
        ("prove", proof),
        ("bystanders_alive", alive),
    ]
    try:
        for name, section in sections:
            if name in asked.skip.split(","):
                continue
            began = time.monotonic()
            try:
                out["sections"][name] = section(room)
            except Exception:  # noqa: BLE001 - one section's trouble is told, the others are still measured
                out["sections"][name] = {"error": traceback.format_exc()}
            print(f"{name}: {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
    finally:
        end_all()
        for name in ("target", "neighbour"):
            if name in room:
                room[name].close()
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
