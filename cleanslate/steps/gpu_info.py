"""gpu_info: what the GPUs of a machine are, use, and suffer from; nothing is asserted."""

from __future__ import annotations

from typing import Any, Literal

from cleanslate.steps.contract import Behaviour, Flag, Outcome, StepArguments, StepContext, StepType

_SECONDS = 120.0


class Arguments(StepArguments):
    """What `gpu_info:` takes."""

    source: Literal["auto", "nvml", "nvidia-smi"] = "auto"
    """What to read: NVML, and nvidia-smi where it cannot be loaded; or one of them only."""
    holders: Flag = True
    """Whether to look for the processes that hold or watch the GPUs."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Read once."""
    yield from ()
    found = context.read("gpus.read", within=_SECONDS, source=args.source, holders=args.holders, log=True, nodes=True)
    for text in found["warnings"]:
        context.warn(text)
    gpus: list[dict[str, Any]] = found["gpus"]
    verdict = found["verdict"]
    if verdict:
        context.warn(f"{verdict['text']}: {verdict['fix']}")
    data = {
        "gpus": gpus,
        "count": len(gpus),
        "baselines": _baselines(gpus),
        "source": found["source"],
        "how": found["how"],
        "driver": found["driver"],
        "kernel_driver": found["kernel_driver"],
        "library": found["library"],
        "failed_to_read": found["failed"],
        "verdict": verdict,
        "holders": [each for each in found.get("holders", []) if each["holds"]],
        "watchers": [each for each in found.get("holders", []) if not each["holds"]],
        "unseen": found.get("unseen", []),
        "inside_container": found["inside_container"],
        "log": found["log"],
        "nodes": found["nodes"],
        "msg": _words(found["failed"], gpus),
    }
    return Outcome(data, changed=False)


def _baselines(gpus: list[dict[str, Any]]) -> dict[str, int]:
    """UUID to used MiB, of GPUs and of MIG instances; only of those that have both."""
    every = [each for gpu in gpus for each in (gpu, *(gpu.get("instances") or ()))]
    return {each["uuid"]: each["used_mib"] for each in every if each["used_mib"] is not None and each["uuid"]}


def _words(failed: dict[str, Any] | None, gpus: list[dict[str, Any]]) -> str:
    if failed:
        return f"the GPUs cannot be read: {failed['text']}"
    if not gpus:
        return "no GPU"
    shown = [f"{gpu['index']}: {_used(gpu)}" for gpu in gpus[:16]]
    return f"{len(gpus)} x {gpus[0]['name']} ({', '.join(shown)})"


def _used(gpu: dict[str, Any]) -> str:
    if gpu["failed"]:
        return str(gpu["failed"]["text"])
    return f"unknown ({gpu['unknown']})" if gpu["used_mib"] is None else f"{gpu['used_mib']} MiB"


STEP = StepType(
    name="gpu_info",
    arguments=Arguments,
    behave=behave,
    summary="Reads the GPUs: what they are, how full, who holds them, and what the driver complains of.",
    example="""\
- name: The GPUs of this machine
  gpu_info:
  register: gpus
""",
    notes="""\
It never fails for what it finds: a GPU that cannot be read is told as such (`failed_to_read`, or `failed` and
`unknown` of one GPU). On a machine known to be clean, its `baselines` are what `assert_gpus` takes under that name. In
a container the driver names the container's own processes and nobody else's: holders outside of it are only seen on the
hypervisor.
""",
    returns={
        "gpus": "each GPU: index, uuid, name, bus_id, used_mib, total_mib, utilization, power_w, mig, instances",
        "count": "how many there are",
        "baselines": "UUID to used MiB, of GPUs and MIG instances, in the form that `assert_gpus` takes",
        "driver": "the driver's version, as its library tells",
        "kernel_driver": "the version of the kernel module",
        "holders": "processes that hold GPU memory: pid, title, gpus, used_mib, container",
        "watchers": "processes that merely have a device open",
        "unseen": "pids that the driver names and that are nobody here",
        "nodes": "the device files: owner, mode, whether they open",
        "log": "signs of trouble in the kernel log of the last hour, where it is readable",
        "verdict": "what is wrong, and what to do; null when nothing is known to be",
        "failed_to_read": "why nothing could be read, or null",
    },
    ansible_name=None,
    only_reads=True,
)
