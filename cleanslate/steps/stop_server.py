"""stop_server: end an LLM server with its workers and whatever they left behind, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from cleanslate.errors import GpuWedged, StepFailed, TargetError
from cleanslate.model import Answer, Diff
from cleanslate.steps.contract import (
    Behaviour,
    Change,
    Field,
    Flag,
    Outcome,
    PathText,
    Seconds,
    StepArguments,
    StepContext,
    StepType,
    Text,
    Words,
)

_SHELL_UNITS = frozenset({"ssh.service", "sshd.service", "cron.service", "crond.service"})


class Match(StepArguments):
    """Patterns of one's own, beside those of the engines; they are matched as those are, never against arguments."""

    titles: Words = Field(default_factory=list)
    """Starts of process titles (`my-engine::`): of argv[0] as it shows now, or the kernel's 15 letters of it."""
    modules: Words = Field(default_factory=list)
    """Starts of modules that Python runs with `-m`."""
    commands: Words = Field(default_factory=list)
    """Names of programs or of scripts that Python runs, with their subcommand if need be (`my-server serve`)."""
    scripts: Words = Field(default_factory=list)
    """Ends of paths of scripts that Python runs (`serving/main.py`)."""


class Arguments(StepArguments):
    """What `stop_server:` takes."""

    name: Text | None = None
    """The server's name, as `launch_server` was given it; its state file tells process, group and session."""
    engine: Words | None = None
    """Whose processes to look for: `sglang`, `vllm`, `llama.cpp`, `tgi`, `triton`, `ollama`, `transformers`, `ray`, or
    `none`. Without it the engine that was launched under this name, else all of them but `ray`."""
    port: int | None = Field(default=None, ge=1, le=65535)
    """Whoever listens there is part of the server. Without it, the port that it was launched with."""
    holders: Flag | None = None
    """Whether every process that holds GPU memory in here is part of it. Without it: yes in a container, no on a
    machine that is none, where the holder may be somebody else's work."""
    gpus: list[int] | None = None
    """Limits `holders` to these GPUs: the N of `/dev/nvidiaN`."""
    match: Match = Field(default_factory=Match)
    """Patterns of one's own."""
    protect: Words = Field(default_factory=list)
    """Names or pids that are never touched, beside the built-in list."""
    graceful: Flag = True
    """Whether to ask with TERM first. `false` for a server that is known to be stuck: KILL at once."""
    grace: Seconds = Field(default=20.0, ge=0)
    """How long the main process may drain after TERM before the rest is asked, and then all of it killed."""
    kill_within: Seconds = Field(default=120.0, gt=0)
    """How long what was killed may take to be gone; a process in GPU teardown cannot be interrupted."""
    diagnose: Flag = False
    """Whether to save stacks, GPU power and utilisation, and the log's end before anything is ended."""
    log: PathText | None = None
    """The log whose end `diagnose` saves. Without it, the one that the server was launched with."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Look at what belongs to the server, then end it in one call on the target."""
    selection = _selection(args)
    plan = context.read("stopping.plan", **selection)
    targets: list[dict[str, Any]] = plan["targets"]
    data: dict[str, Any] = {"zombies": plan["zombies"], "spared": plan["spared"], "stopped": [], "pids": []}
    _warn(context, plan["targets"], plan["spared"], plan["zombies"])
    if plan["blind"]:
        context.warn(f"whether {plan['blind']} processes of other users hold a GPU is unknown without `become: true`")
    if not targets:
        return Outcome({**data, "msg": "nothing of it is running"})
    if args.diagnose:
        log = args.log or (plan["launched"] or {}).get("log")
        data["diagnosis"] = yield from _diagnose(targets, log, context)
    answer = yield Change(
        summary=f"end {_count(targets)} of {args.name or 'the server'}: {_short(targets)}",
        call="stopping.stop",
        arguments={
            "graceful": args.graceful,
            "grace": args.grace,
            "kill_within": args.kill_within,
            **selection,
        },
        predicted={"stopped": targets, "ended": [], "zombies": [], "remaining": [], "spared": plan["spared"]},
        diffs=[Diff(f"processes of {args.name or 'the server'}", _listing(targets), "")],
        deadline=2 * args.grace + args.kill_within + 30,
    )
    stopped = [*answer["stopped"], *answer["ended"]]
    data.update(
        stopped=[_record(entry) for entry in stopped],
        pids=[entry["pid"] for entry in stopped],
        zombies=[*plan["zombies"], *answer["zombies"]],
        spared=answer["spared"],
        remaining=answer["remaining"],
        seconds=answer.get("seconds", 0.0),
    )
    if answer["remaining"]:
        log = args.log or (plan["launched"] or {}).get("log")
        found = data.get("diagnosis") or (yield from _diagnose(answer["remaining"], log, context))
        context.keep("diagnosis.json", json.dumps(found, indent=1))
    _judge(answer.values, data, args)
    killed = sum(entry.get("how") == "KILL" for entry in stopped)
    how = f", {killed} of them by KILL" if killed else ""
    return Outcome({**data, "msg": f"{_count(stopped)} ended{how}: {_short(stopped)}"})


def _selection(args: Arguments) -> dict[str, Any]:
    engines = args.engine
    if engines is not None:
        engines = [name for name in engines if name not in ("none", "")]
    return {
        "name": args.name,
        "engines": engines,
        "port": args.port,
        "holders": args.holders,
        "gpus": args.gpus,
        "extra": args.match.model_dump(),
        "protect": args.protect,
    }


def _diagnose(
    targets: Sequence[Mapping[str, Any]], log: str | None, context: StepContext
) -> Generator[Change, Answer, dict[str, Any]]:
    wanted = [{"pid": entry["pid"], "start": entry["start"]} for entry in targets]
    answer = yield Change(
        summary=f"save stacks of {_count(targets)}",
        call="diagnosis.take",
        arguments={"targets": wanted, "log": log},
        predicted={},
        deadline=120.0,
        alters=False,
    )
    found = dict(answer.values)
    try:
        found["gpus"] = context.read("gpus.read", within=15.0)["gpus"]
    except TargetError as error:
        found["gpus"] = f"not read: {error.what}"
    return found


def _warn(
    context: StepContext,
    targets: Sequence[Mapping[str, Any]],
    spared: Sequence[Mapping[str, Any]],
    zombies: Sequence[Mapping[str, Any]],
) -> None:
    for unit in sorted({entry["unit"] for entry in targets if entry["unit"]} - _SHELL_UNITS):
        if unit.startswith("cleanslate-"):
            continue  # our own launch's, which never starts anything again
        context.warn(f"systemd runs it as {unit} and may start it again: stop the unit (systemctl stop {unit})")
    for entry in spared:
        if str(entry["why"]).startswith("listens"):
            context.warn(f"pid {entry['pid']} ({entry['title']}) {entry['why']} and is left alone: {entry['spared']}")
    for entry in zombies:
        parent = entry["parent"] or {"pid": "?", "title": "?"}
        context.warn(
            f"pid {entry['pid']} ({entry['comm']}) is dead and not reaped; it goes with its parent, "
            f"pid {parent['pid']} ({parent['title']})"
        )


def _judge(report: Mapping[str, Any], data: dict[str, Any], args: Arguments) -> None:
    """Raise when something of it is left."""
    left: list[dict[str, Any]] = report["remaining"]
    if not left:
        return
    wedged = [entry for entry in left if entry["state"] == "D"]
    if wedged:
        raise GpuWedged(
            f"{_short(wedged)} cannot be ended: in the kernel, uninterruptible, {args.kill_within:g} s after KILL",
            fix="launch nothing here; the GPU needs a reset, or its machine a reboot (release_gpus on the hypervisor "
            "shows who else is attached)",
            data=data,
        )
    if report.get("denied"):
        raise StepFailed(
            f"no permission to signal {_short(report['denied'])}",
            fix="the server runs as another user: add `become: true`",
            data=data,
        )
    again = report.get("respawned_by")
    if again:
        raise StepFailed(
            f"it is started again by pid {again['pid']} ({again['title']}) as often as it is ended",
            fix="stop what supervises it first",
            data=data,
        )
    states = ", ".join(sorted({str(entry.get("state_words", entry["state"])) for entry in left}))
    raise StepFailed(
        f"{_short(left)} still there {args.kill_within:g} s after KILL ({states})",
        fix="give it more time with `kill_within`, or look at it with `diagnose: true`",
        data=data,
    )


def _record(entry: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("pid", "start", "title", "why", "how", "ended", "seconds", "parent")
    return {key: entry[key] for key in kept if key in entry}


def _listing(targets: Sequence[Mapping[str, Any]]) -> str:
    """One line a process for `--diff`."""
    return "".join(f"{entry['pid']} {entry['title']} ({entry['why']})\n" for entry in targets)


def _count(entries: Sequence[Any]) -> str:
    return "1 process" if len(entries) == 1 else f"{len(entries)} processes"


def _short(entries: Sequence[Mapping[str, Any]]) -> str:
    shown = ", ".join(f"{entry['pid']} {str(entry['title'])[:60]}" for entry in entries[:4])
    return shown + (f" and {len(entries) - 4} more" if len(entries) > 4 else "")


def _check(literal: Mapping[str, Any]) -> Sequence[tuple[str, str, str | None]]:
    from cleanslate.errors import suggest

    named = literal.get("engine")
    words = named.split(",") if isinstance(named, str) else named if isinstance(named, list) else []
    known = ("sglang", "vllm", "llama.cpp", "tgi", "triton", "ollama", "transformers", "ray", "none")
    wrong = [str(word).strip() for word in words if isinstance(word, str) and "{{" not in word]
    return [
        ("engine", f'no engine is called "{word}"', suggest(word, known) or f"known are {', '.join(known)}")
        for word in wrong
        if word not in known
    ]


STEP = StepType(
    name="stop_server",
    arguments=Arguments,
    behave=behave,
    summary="Ends an LLM server, its workers and whatever they left behind, and waits until they are gone.",
    example="""\
- name: Stop what was launched under this name, with its workers, and look for nothing else
  stop_server: {name: eagle3-example, engine: none, holders: false, grace: 20s}
""",
    notes="""\
What belongs to a server is a union, for no single trace is enough: the launch's state file (process, group, session,
each believed only with boot and start time), the engines' process titles, modules and programs, the listener of its
port, everything below these, and in a container every holder of its GPUs. Arguments of other processes are never
looked at: an editor with such a file open lives. This run itself, all that it comes from, pid 1, daemons of the driver
and of the machine, other launched servers, and whatever `protect` names are never signalled; a process whose start
time is not the recorded one is a stranger.

`--check` and `--diff` list each process with the reason. The ladder: TERM to the main process, up to `grace` for it
to drain; TERM to the rest, 5 s at most; KILL to what is left and to what is forked meanwhile; up to `kill_within` for
all of it to be gone. Gone means gone: a port that closed proves nothing, and a zombie holds no memory, so it is told
apart, with the parent that must reap it. A process that stays in state D is the verdict *wedged* (exit 6).

After this step exit code 137 or signal 9 of the server is no crash: the state file says when it was stopped.
""",
    returns={
        "stopped": "each process that was ended: pid, start, title, why it was taken, how (TERM, KILL, or null when it "
        "went by itself), seconds",
        "pids": "their pids",
        "zombies": "those that are dead but not reaped, each with its parent",
        "spared": "what looked like part of it and was left alone, and why",
        "remaining": "what is still there, with state, wait channel and kernel stack",
        "seconds": "from the first signal to the last end",
        "diagnosis": "with `diagnose`: stacks, verdict for each process, GPUs, the log's last lines",
    },
    ansible_name=None,
    any_of=[["name", "engine", "port", "match"]],
    check=_check,
)
