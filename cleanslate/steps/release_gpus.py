"""release_gpus: end what holds a container's GPUs from where it can be seen, and nobody else."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Literal

from cleanslate.errors import GpuWedged, StepFailed
from cleanslate.model import Answer, Diff
from cleanslate.steps.contract import (
    Behaviour,
    Change,
    Field,
    Flag,
    Outcome,
    Seconds,
    StepArguments,
    StepContext,
    StepType,
    Text,
    Words,
    model_validator,
)

_READ_SECONDS = 120.0


class Arguments(StepArguments):
    """What `release_gpus:` takes."""

    container: Text | None = None
    """Whose holders are ended: the container's vmid or name, or a container id (12 digits of it at least)."""
    scope: Literal["container", "host"] = "container"
    """`host`: holders wherever they are, in every container and on the machine itself."""
    gpus: list[Text] | None = None
    """Only holders of these GPUs: indices, UUIDs or bus ids."""
    protect_also: Words = Field(default_factory=list)
    """Names or pids that are left alone, beside the built-in list."""
    allow: Words = Field(default_factory=list)
    """Protected daemons that may be stopped, through their service or by TERM, never by KILL (`dcgm-exporter`)."""
    grace: Seconds = Field(default=5.0, ge=0)
    """How long a holder may take after TERM until it is killed; and how long an allowed daemon is waited for."""
    within: Seconds = Field(default=120.0, gt=0)
    """How long what was killed may take to be gone."""
    settle: Seconds = Field(default=10.0, ge=0)
    """How long memory that nobody holds any more may take to come back, before it is told as held by nobody."""
    reset: Flag = False
    """Whether to reset those of the GPUs that still use memory which nobody holds. Refused while anything is attached,
    and on machines with an NVSwitch."""
    source: Literal["auto", "nvml", "nvidia-smi"] = "auto"
    """What to read: NVML, and nvidia-smi where it cannot be loaded; or one of them only."""

    @model_validator(mode="after")
    def _whose(self) -> Arguments:
        if self.scope == "container" and self.container is None:
            raise ValueError("whose holders? Name the container, or write `scope: host` for all of the machine")
        return self


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Sort everybody who has a GPU open, then end those meant in one call on the target."""
    sorting: dict[str, Any] = {
        "container": args.container,
        "scope": args.scope,
        "gpus": args.gpus,
        "protect": args.protect_also,
        "allow": args.allow,
        "source": args.source,
    }
    seconds = _READ_SECONDS + args.settle
    plan = context.read("holders.plan", within=seconds, settle=args.settle, **sorting)
    data = _data(plan.values)
    if plan["unknown"]:
        raise StepFailed(
            f"unknown who holds the GPUs: {plan['unknown']}",
            fix="ask as root: add `become: true`",
            data=data,
        )
    if plan["failed"]:
        context.warn(f"the GPUs could not be read ({plan['failed']['text']}), so only open devices tell who holds them")
    targets = [*plan["release"], *plan["daemons"]]
    if not plan["container_seen"]:
        context.warn(f"no process here belongs to container {args.container}: does it run on this machine?")
    if targets:
        report = yield _change(args, sorting, plan.values, targets)
        data.update(_data(report.values), seconds=report.get("seconds", 0.0))
        for daemon in report["daemons_stopped"]:
            if not daemon["ended"]:
                context.warn(f"pid {daemon['pid']} ({daemon['title']}) goes on after TERM, and is never killed")
        _judge(report.values, data, args)
    if args.reset and data["memory_without_holder"]:
        yield from _reset(data, args)
    for gpu in data["memory_without_holder"]:
        context.warn(f"GPU {gpu['index']} uses {gpu['used_mib']} MiB and nobody holds it")
    return Outcome({**data, "msg": _words(data, targets)})


def _change(
    args: Arguments, sorting: Mapping[str, Any], plan: Mapping[str, Any], targets: Sequence[Mapping[str, Any]]
) -> Change:
    stopped = [{**entry, "how": "TERM", "ended": True} for entry in plan["daemons"]]
    return Change(
        summary=f"end {_count(targets)}: {_short(targets)}",
        call="holders.release",
        arguments={"grace": args.grace, "kill_within": args.within, "settle": args.settle, **sorting},
        predicted={
            "released": plan["release"],
            "remaining": [],
            "spared": plan["spared"],
            "zombies": [],
            "daemons": [],
            "daemons_stopped": stopped,
            "memory_without_holder": plan["memory_without_holder"],
            "gpus": plan["gpus"],
        },
        diffs=[Diff(_title(args), "".join(_line(entry) for entry in targets), "")],
        deadline=args.grace + args.within + args.settle + _READ_SECONDS + 60,
    )


def _data(found: Mapping[str, Any]) -> dict[str, Any]:
    """The result's fields, from the plan or from the report."""
    return {
        "released": [_record(entry) for entry in found.get("released", [])],
        "spared": [_record(entry) for entry in found["spared"]],
        "remaining": found.get("remaining", []),
        "zombies": found.get("zombies", []),
        "daemons": found.get("daemons", []),
        "daemons_stopped": [_record(entry) for entry in found.get("daemons_stopped", [])],
        "memory_without_holder": found["memory_without_holder"],
        "gpus": found["gpus"],
    }


def _judge(report: Mapping[str, Any], data: dict[str, Any], args: Arguments) -> None:
    gone = [daemon for daemon in report["daemons"] if daemon["now"] == "gone"]
    if gone:
        names = ", ".join(daemon["name"] for daemon in gone)
        units = " ".join(daemon["unit"] or daemon["name"] for daemon in gone)
        raise StepFailed(
            f"{names} ran before and runs no more, though nobody signalled it",
            fix=f"start it before anything uses the GPUs: systemctl start {units}",
            data=data,
        )
    left: Sequence[Mapping[str, Any]] = report["remaining"]
    if not left:
        return
    wedged = [entry for entry in left if entry["state"] == "D"]
    if wedged:
        raise GpuWedged(
            f"{_short(wedged)} cannot be ended: in the kernel, uninterruptible, {args.within:g} s after KILL",
            fix="launch nothing there; reboot the machine, or restart the container if it lets itself be stopped",
            data=data,
        )
    if report.get("denied"):
        raise StepFailed(f"no permission to end {_short(left)}", fix="ask as root: add `become: true`", data=data)
    again = report.get("respawned_by")
    if again:
        raise StepFailed(
            f"the holder is started again by pid {again['pid']} ({again['title']}) as often as it is ended",
            fix="stop what supervises it first",
            data=data,
        )
    raise StepFailed(f"{_short(left)} still there {args.within:g} s after KILL", data=data)


def _reset(data: dict[str, Any], args: Arguments) -> Generator[Change, Answer, None]:
    chosen: list[dict[str, Any]] = data["memory_without_holder"]
    names = ", ".join(str(gpu["index"]) for gpu in chosen)
    answer = yield Change(
        summary=f"reset GPU {names}",
        call="gpu_reset.reset",
        arguments={"gpus": [gpu["uuid"] or gpu["index"] for gpu in chosen], "source": args.source},
        predicted={"reset": [{"index": gpu["index"], "uuid": gpu["uuid"], "ok": True, "text": ""} for gpu in chosen]},
        diffs=[Diff("GPUs to reset", "".join(f"{gpu['index']} {gpu['uuid']}\n" for gpu in chosen), "")],
        deadline=400.0 * len(chosen),
    )
    data["reset"] = answer["reset"]
    bad = [each for each in answer["reset"] if not each["ok"]]
    if bad:
        said = "; ".join(f"GPU {each['index']}: {each['text']}" for each in bad)
        raise GpuWedged(f"the reset failed: {said}", fix="reboot the machine", data=data)
    data["memory_without_holder"] = []


def _record(entry: Mapping[str, Any]) -> dict[str, Any]:
    kept = (
        "pid",
        "start",
        "title",
        "why",
        "how",
        "ended",
        "seconds",
        "spared",
        "gpus",
        "used_mib",
        "container",
        "unit",
    )
    return {key: entry[key] for key in kept if key in entry}


def _words(data: Mapping[str, Any], targets: Sequence[Any]) -> str:
    if not targets:
        spared = f"; {_count(data['spared'])} with a GPU open left alone" if data["spared"] else ""
        return f"nobody to end{spared}"
    stopped = [entry["title"] for entry in data["daemons_stopped"]]
    daemons = f"; stopped as allowed: {', '.join(stopped)}" if stopped else ""
    ended = f"{_count(data['released'])} ended: {_short(data['released'])}" if data["released"] else "nobody else ended"
    return f"{ended}{daemons}"


def _title(args: Arguments) -> str:
    where = "this machine and every container" if args.scope == "host" else f"container {args.container}"
    return f"holders of GPU {', '.join(args.gpus)} in {where}" if args.gpus else f"holders of GPUs in {where}"


def _line(entry: Mapping[str, Any]) -> str:
    held = ", ".join(str(index) for index in entry["gpus"]) or "-"
    return f"{entry['pid']} {entry['title']} (GPU {held})\n"


def _count(entries: Sequence[Any]) -> str:
    return "1 process" if len(entries) == 1 else f"{len(entries)} processes"


def _short(entries: Sequence[Mapping[str, Any]]) -> str:
    shown = ", ".join(f"{entry['pid']} {str(entry['title'])[:60]}" for entry in entries[:4])
    return shown + (f" and {len(entries) - 4} more" if len(entries) > 4 else "")


STEP = StepType(
    name="release_gpus",
    arguments=Arguments,
    behave=behave,
    summary="Ends the processes that hold a container's GPUs, from the hypervisor, where they can be seen.",
    example="""\
- name: Free the GPUs from the hypervisor, where the container cannot see the holder
  release_gpus: {container: no-such-container}
""",
    notes="""\
Delegate it to the hypervisor (`delegate_to: "{{ hypervisor }}"`), as root. Holders are those who map a GPU's device
or stand in the driver's own list; a process that merely has a device open is a watcher and lives. Each is mapped to
its container by its cgroup (lxc, docker, podman, containerd, nspawn), else by the namespaces of the container's first
process (`lxc-info -n VMID -p`), and only the named container's are ended: TERM, `grace`, KILL, each by pid and start
time.

Never ended, unless `allow` names it, and then only by its service or TERM: nvidia-persistenced, the fabric manager,
DCGM and its exporters, display servers, virtual machines, monitoring, this run itself. The driver's daemons that ran
before are verified afterwards; one that is gone is started again, or the step fails. A user who may not look into all
processes gets *unknown* and never "nobody".

Memory that stays though nobody holds it is told apart as `memory_without_holder`; `assert_gpus` waits for it, and
`reset: true` resets such a GPU.
""",
    returns={
        "released": "who was ended: pid, title, why, how, seconds",
        "spared": "who has a GPU open and was left alone, and why",
        "remaining": "who is still there",
        "daemons": "the driver's daemons that ran before, and what is with them now",
        "daemons_stopped": "those that `allow` named, and how they were stopped",
        "memory_without_holder": "GPUs whose memory nobody holds: index, uuid, used_mib",
        "gpus": "the GPUs as read at the end",
        "reset": "the outcome for each GPU that was reset",
    },
    ansible_name=None,
    any_of=[["container", "scope"]],
)
