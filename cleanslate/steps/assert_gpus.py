"""assert_gpus: every GPU is there and empty, by numbers, waited for where the GPUs are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from cleanslate.errors import GpuWedged, StepFailed
from cleanslate.steps.contract import (
    BeforeValidator,
    Behaviour,
    Change,
    Field,
    Outcome,
    Seconds,
    StepArguments,
    StepContext,
    StepType,
    Text,
    Words,
)

_UNITS = {"": 1, "mib": 1, "m": 1, "mb": 1, "gib": 1024, "g": 1024, "gb": 1024}
_CALL_SLACK = 90.0  # the first question may initialise every GPU anew, and the holders are asked for afterwards


def _mebibytes(value: Any) -> Any:
    """Give the MiB that `1GiB`, `512 MiB` or a number mean; ValueError otherwise."""
    if isinstance(value, int | float) or value is None:
        return value
    met = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", str(value).strip().lower())
    if not met or met.group(2) not in _UNITS:
        raise ValueError(f'"{value}" is not a size; write MiB as a number, or 512MiB, 1GiB')
    return float(met.group(1)) * _UNITS[met.group(2)]


Mebibytes = Annotated[float, BeforeValidator(_mebibytes)]


class Arguments(StepArguments):
    """What `assert_gpus:` takes."""

    count: int | None = Field(default=None, ge=0)
    """How many GPUs there must be. Without it at least one: a GPU that is missing prints no line, and is not empty."""
    uuids: Words = Field(default_factory=list)
    """Exactly these GPUs, by UUID. Where UUIDs of MIG instances are named, exactly these instances of their GPU."""
    bus_ids: Words = Field(default_factory=list)
    """Exactly these GPUs, by PCI bus id (`0000:01:00.0`)."""
    instances: int | None = Field(default=None, ge=0)
    """How many MIG instances there must be on all GPUs together."""
    gpus: list[Text] | None = None
    """Limits the memory check to these: indices, UUIDs or bus ids; MIG instances by UUID or as `0:2`, which is the
    third of GPU 0."""
    used_mib: Mebibytes | None = Field(default=None, ge=0)
    """The most that each may use; 0 is strictly empty."""
    used_percent: float | None = Field(default=None, ge=0, le=100)
    """The most that each may use, as a share of its memory."""
    baselines: dict[Text, Mebibytes] = Field(default_factory=dict)
    """What each uses on a known-clean machine: UUID, bus id or index to MiB (`gpu_info` gives it as `baselines`)."""
    slack_mib: Mebibytes = Field(default=16, ge=0)
    """What each may use above its baseline (0 MiB where none is given), when no other limit is set. An idle GPU uses up
    to 9 MiB on some machines, and no program's context less than 60."""
    within: Seconds = Field(default=0.0, ge=0)
    """How long to wait for it, on the target."""
    source: Literal["auto", "nvml", "nvidia-smi"] = "auto"
    """What to read: NVML, and nvidia-smi where it cannot be loaded; or one of them only."""
    prove: Mebibytes | None = Field(default=None, gt=0)
    """Then really allocate so much on each GPU and free it (`1GiB`)."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Wait on the target until it holds, or say what does not and who holds it."""
    answer = context.read(
        "gpus.wait",
        within=args.within + _CALL_SLACK,
        on_progress=lambda facts: context.progress(**{"text": "", **facts}),
        **_wanted(args),
    )
    data = _data(answer.values)
    for text in answer["reading"]["warnings"]:
        context.warn(text)
    if not answer["ok"]:
        raise _failure(answer.values, data, args)
    if args.prove is not None:
        yield from _prove(args, data)
    used = [gpu["used_mib"] for gpu in data["gpus"] if gpu["used_mib"] is not None]
    most = f", at most {max(used)} MiB used" if used else ""
    return Outcome({**data, "msg": f"{data['count']} GPUs{most}"}, changed=False)


def _wanted(args: Arguments) -> dict[str, Any]:
    # `within` of a read is its deadline; the call's own argument of that name goes in by its place
    limits = {
        "count": args.count,
        "uuids": args.uuids,
        "bus_ids": args.bus_ids,
        "used_mib": args.used_mib,
        "used_percent": args.used_percent,
        "baselines": args.baselines,
        "slack_mib": args.slack_mib,
        "gpus": args.gpus,
        "instances": args.instances,
    }
    return {"seconds": args.within, "source": args.source, **limits}


def _data(answer: Mapping[str, Any]) -> dict[str, Any]:
    reading = answer["reading"]
    return {
        "gpus": reading["gpus"],
        "count": len(reading["gpus"]),
        "source": reading["source"],
        "how": reading["how"],
        "driver": reading["driver"],
        "problems": answer["problems"],
        "holders": answer["holders"],
        "seconds": answer["seconds"],
        "looks": answer["looks"],
    }


def _failure(answer: Mapping[str, Any], data: dict[str, Any], args: Arguments) -> StepFailed:
    verdict = answer["verdict"]
    data["verdict"] = verdict
    what = _words(answer["problems"], args)
    who = _who(answer)
    if verdict and verdict["verdict"] == "wedged":
        words = what if verdict["text"] in what else f"{what}; {verdict['text']}"
        return GpuWedged(words, fix=verdict["fix"], data=data)
    if verdict and verdict["verdict"] == "broken":
        return StepFailed(what if verdict["text"] in what else verdict["text"], fix=verdict["fix"], data=data)
    return StepFailed(f"{what}{who}", fix=_fix(answer, verdict), data=data)


def _words(problems: Sequence[Mapping[str, Any]], args: Arguments) -> str:
    """All problems in one sentence; GPUs that are too full, or unknown, are told together."""
    unknown: dict[str, list[str]] = {}
    full: dict[float, list[Mapping[str, Any]]] = {}
    said: list[str] = []
    for problem in problems:
        if problem["kind"] == "unknown":
            unknown.setdefault(problem["text"].partition(": ")[2], []).append(_name(problem))
        elif "limit_mib" in problem:
            full.setdefault(problem["limit_mib"], []).append(problem)
        else:
            said.append(problem["text"])
    said += [_full(limit, group) for limit, group in full.items()]
    if unknown:
        names = sorted((name for group in unknown.values() for name in group), key=_in_order)
        said.append(f"unknown for GPU {_and(names)} ({', '.join(unknown)})")
    after = (
        f" after {args.within:g} s" if args.within and any(problem["kind"] == "memory" for problem in problems) else ""
    )
    return "; ".join(said) + after


def _full(limit: float, group: Sequence[Mapping[str, Any]]) -> str:
    if len(group) == 1:
        return str(group[0]["text"])
    used = ", ".join(f"GPU {_name(problem)} {problem['used_mib']}" for problem in group)
    what = "MIG instances" if all("instance" in problem for problem in group) else "GPUs"
    return f"{len(group)} {what} use more than {limit:g} MiB: {used}"


def _name(problem: Mapping[str, Any]) -> str:
    """The GPU that a problem is about, by its index, or the instance as `0:2`."""
    return str(problem.get("instance", problem["gpu"]))


def _in_order(name: str) -> list[int]:
    return [int(number) for number in name.split(":")]


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _who(answer: Mapping[str, Any]) -> str:
    """Who holds what is too much, as far as it can be seen from there."""
    if not any(problem["kind"] == "memory" for problem in answer["problems"]):
        return ""
    holders = answer["holders"]
    if holders:
        shown = [_holder(each) for each in holders[:6]]
        return "; held by " + ", ".join(shown) + (f" and {len(holders) - 6} more" if len(holders) > 6 else "")
    if answer["blind"]:
        return f"; the holder may be one of {answer['blind']} processes that this user may not look into"
    if answer["inside_container"]:
        return "; no holder visible from inside this container; ask the hypervisor"
    return "; no process holds it: the driver itself may"


def _holder(each: Mapping[str, Any]) -> str:
    sizes = [size for size in each["used_mib"].values() if size is not None]
    held = f" ({sum(sizes)} MiB)" if sizes else ""
    return f"pid {each['pid']} {each['title'][:60]}{held}"


def _fix(answer: Mapping[str, Any], verdict: Mapping[str, Any] | None) -> str | None:
    kinds = {problem["kind"] for problem in answer["problems"]}
    if verdict:
        return str(verdict["fix"])
    if "unknown" in kinds:
        return "read it on the hypervisor (delegate_to), where every field has its number"
    if "memory" in kinds and answer["blind"] and not answer["holders"]:
        return "ask as root: add `become: true`"
    if "memory" in kinds and not answer["holders"] and answer["inside_container"]:
        return 'release_gpus: {container: "{{ vmid }}"} with delegate_to: "{{ hypervisor }}" ends holders outside of it'
    if "memory" in kinds and not answer["holders"]:
        return "if nothing on the host uses the GPU, it needs a reset (release_gpus with reset: true)"
    if kinds & {"count", "missing"}:
        return "look at the host's kernel log (RmInitAdapter, Xid 79) and at `lspci`; a reboot often brings it back"
    return None


def _prove(args: Arguments, data: dict[str, Any]) -> Behaviour:
    """Allocate on each GPU. It costs nothing that stays, yet it is not done in check mode."""
    assert args.prove is not None
    answer = yield Change(
        summary=f"allocate {args.prove:g} MiB on each GPU and free it",
        call="gpus.prove",
        arguments={"mib": int(args.prove), "count": data["count"], "uuids": _one_by_one(data)},
        predicted={"gpus": [], "failed": None},
        deadline=60.0 + 30.0 * data["count"],
        alters=False,
    )
    data["proved"] = answer["gpus"]
    fault = answer["failed"]
    bad = [gpu for gpu in answer["gpus"] if not gpu["ok"]]
    if fault and fault["verdict"] == "wedged":
        raise GpuWedged(fault["text"], fix=fault["fix"], data=data)
    if fault or bad:
        said = [fault["text"]] if fault else []
        said += [f"{gpu.get('uuid') or _by_bus(gpu)}: {gpu['text']}" for gpu in bad]
        raise StepFailed("; ".join(said), fix="the number says empty and the memory cannot be had", data=data)
    return Outcome()


def _by_bus(gpu: Mapping[str, Any]) -> str:
    return f"GPU {gpu['index']} ({gpu['bus_id']})"


def _one_by_one(data: Mapping[str, Any]) -> list[str] | None:
    """The UUIDs to prove one by one: where a GPU is divided, a process sees no more than one of the instances."""
    if not any(gpu.get("instances") for gpu in data["gpus"]):
        return None
    return [part["uuid"] for gpu in data["gpus"] for part in gpu.get("instances") or [gpu]]


STEP = StepType(
    name="assert_gpus",
    arguments=Arguments,
    behave=behave,
    summary="Asserts that the GPUs are there and empty, and waits for it on the target.",
    example="""\
- name: What is here
  gpu_info:
  register: here
- name: As many GPUs as before, and none more than full
  assert_gpus: {count: "{{ here.count }}", used_percent: 100, within: 1s}
""",
    notes="""\
Only a number can pass. A field without one (`[N/A]`, `[Insufficient Permissions]`), a query that failed, a GPU that
is missing: each fails the step, and says so at once where waiting cannot help. Memory is NVML's version 2, without
what the driver reserves, or nvidia-smi's `memory.used`; version 1 counts 600 MiB on an idle H200 and is never read.

Without `used_mib` and `used_percent` each GPU may use its baseline and `slack_mib`. That default holds on machines
where idle is 4 or 9 MiB, and still notices the smallest program. On GPUs whose memory is part of the machine's (Grace)
numbers mean nothing after a process has ended, so there the holders decide.

Of a GPU that is divided (MIG) each instance that can be seen is held to the limit by itself, and can be named in
`gpus`, `uuids` and `baselines`; the GPU's own number, which holds what the division takes, counts where no instance is
seen. nvidia-smi's fields do not tell of instances: there only the whole GPU's number is known.

Asking the driver happens in a child that is given up when it does not answer; a driver that hangs, a lost GPU, or one
that wants a reset is the verdict *wedged* (exit 6) with what to do.
""",
    returns={
        "gpus": "each GPU: index, uuid, bus_id, name, used_mib (or unknown, failed), total_mib, power_w, ...",
        "count": "how many there are",
        "source": "`nvml` or `nvidia-smi`",
        "driver": "the driver's version",
        "problems": "what does not hold: kind, gpu, text",
        "holders": "on failure, who holds the memory: pid, title, gpus, used_mib, container",
        "verdict": "on failure, what is wrong with the GPU or the driver, and what to do",
        "seconds": "how long was waited",
        "proved": "with `prove`: each GPU's outcome",
    },
    ansible_name=None,
    exclusive=[["used_mib", "used_percent"]],
    observes=True,
    only_reads=True,
)
