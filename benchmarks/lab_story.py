"""The whole story in a lab on real GPUs: how long each step takes, what is seen from inside and outside. Prints JSON.

    python3 benchmarks/lab_story.py [--held 100] [--pinned 0] [--most 120] [--torch] > story.json

Needs an NVIDIA GPU that nobody uses, nvidia-smi, libcuda, and this package's dependencies. Takes the GPU's memory, and
gives it back.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE / ".lab-gpu"
INVENTORY = ["-i", "inventory/local-gpu.yml"]
FAULTS = (
    *("dies-once", "ignores-term", "orphan-outside", "port-kept", "busy-silent", "silent-after-load"),
    *("short-draft-config", "dies-in-start"),
)
KEPT = ("msg", "stopped", "ended", "released", "spared", "remaining", "gpus", "waited", "seconds", "metrics", "kind")


def run(*words, seconds=120):
    """Run a program here; (exit code, output, seconds)."""
    began = time.monotonic()
    done = subprocess.run(words, cwd=HERE, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr, round(time.monotonic() - began, 2)


def lab(*words):
    """Run the lab's program for the real lab; (exit code, output, errors, seconds)."""
    return run(sys.executable, "-m", "cleanslate.lab", *words, "--root", str(ROOT))


def play(name, *options):
    """Run a playbook; its exit code, its seconds, and each step with status, seconds and what it said."""
    code, out, err, seconds = run(
        *(sys.executable, "-m", "cleanslate.cli", "play", name, *INVENTORY, "--output", "json", *options)
    )
    events = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    names, steps = {}, []
    for event in events:
        if event["kind"] == "step.started":
            names[event["step"]] = event["name"]
        elif event["kind"] == "host.finished":
            result = event["result"]
            kept = {key: shorten(result[key]) for key in KEPT if key in result}
            told = {"step": names[event["step"]], "status": event["status"], "seconds": event["seconds"]}
            steps.append({**told, "warnings": event.get("warnings"), **kept})
    told = {"code": code, "seconds": seconds, "steps": steps}
    return told if events else {**told, "output": (out + err)[-2000:]}


def shorten(value):
    """A result without what nobody reads."""
    if isinstance(value, list):
        return [shorten(each) for each in value[:12]]
    if isinstance(value, dict):
        dropped = ("cgroup", "command", "environ", "argv")
        return {key: shorten(each) for key, each in value.items() if key not in dropped}
    return value[:400] if isinstance(value, str) else value


def ssh(machine, command):
    """What a command says on a machine of the lab, through cleanslate's own way."""
    code, out, err, seconds = run(sys.executable, "-m", "cleanslate.cli", "run", machine, *INVENTORY, "--", command)
    return {"code": code, "output": (out + err)[-1500:], "seconds": seconds}


def driver():
    """Version, GPUs and memory, as this computer's nvidia-smi says."""
    fields = "driver_version,name,memory.total,memory.used"
    return run("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits")[1].strip()


def story(asked, out):
    """Everything, in order; `out` is filled as it goes."""
    until = time.monotonic() + asked.most
    out["driver"] = driver()
    torch = ["--torch"] if asked.torch else []
    out["up"] = lab("up", "--gpu", "real", "--held", str(asked.held), "--pinned", str(asked.pinned), *torch)
    if out["up"][0]:
        raise RuntimeError("the lab did not come up")
    out["hardware"] = json.loads((ROOT / "hardware.json").read_text())
    out["status"] = lab("status")[1]
    out["driver held"] = driver()
    smi = "nvidia-smi --query-compute-apps=pid,used_memory --format=csv,noheader"
    for machine in ("eagle3-lab", "pve-lab"):
        out["apps " + machine] = ssh(machine, smi)
    code, text, err, seconds = run(sys.executable, "-m", "cleanslate.cli", "gpus", "--once", *INVENTORY)
    out["gpus"] = {"code": code, "output": (text + err)[-2500:], "seconds": seconds}
    out["first"] = play("restart-eagle3")
    out["status after"] = lab("status")[1]
    out["again"] = play("restart-eagle3")
    for fault in FAULTS:
        if time.monotonic() > until:
            out.setdefault("left out", []).append(fault)
            continue
        lab("break", fault)
        out["fault " + fault] = play("restart-eagle3")
        lab("break", "none")
    if time.monotonic() < until:
        out["compare"] = play("compare-eagle3", "-e", '{"compare_rounds": 2, "compare_tokens": 32}')
    out["stop"] = play("stop-eagle3")
    out["proved"] = play("gpu-clean-slate")


def main():
    """Tell the story, with a watcher beside it, and take everything down."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--held", type=float, default=100)
    parser.add_argument("--pinned", type=float, default=0)
    parser.add_argument("--most", type=float, default=120, help="seconds after which no further fault is tried")
    parser.add_argument("--torch", action="store_true", help="the stuck server takes its memory with PyTorch")
    asked = parser.parse_args()
    out = {"python": sys.version.split()[0], "kernel": os.uname().release}
    watching = [sys.executable, str(HERE / "benchmarks" / "gpu_holder.py"), "--open", "/dev/nvidia0"]
    watcher = subprocess.Popen(watching, stdout=subprocess.DEVNULL)
    try:
        story(asked, out)
    except Exception:  # noqa: BLE001 - what was measured before is told all the same
        out["error"] = traceback.format_exc()
        log = ROOT / "lab.log"
        out["log"] = log.read_text(errors="replace")[-3000:] if log.exists() else None
        served = ROOT / "eagle3-lab" / "log" / "eagle3.log"
        out["server log"] = served.read_text(errors="replace")[-3000:] if served.exists() else None
    out["watcher lives"] = watcher.poll() is None
    out["down"] = lab("down")
    out["driver after"] = driver()
    watcher.kill()
    print(json.dumps(out, indent=1))


main()
