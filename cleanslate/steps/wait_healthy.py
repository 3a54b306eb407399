"""wait_healthy: wait until a server really serves, or fail at once and say exactly why it will not."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from cleanslate.errors import CallFailed, StepFailed, TargetError, suggest
from cleanslate.model import Answer
from cleanslate.steps._engines import PHASES, STATIC, Engine, misnamed
from cleanslate.steps.contract import (
    Behaviour,
    Change,
    Field,
    Outcome,
    PathText,
    Seconds,
    StepArguments,
    StepContext,
    StepType,
    Text,
    as_flag,
    field_validator,
)

_SAVED = ("died", "fatal", "worker", "silent", "mute", "foreign", "timeout")


class Probe(StepArguments):
    """The generation that proves it."""

    requests: int = Field(default=3, ge=1)
    """How many must come, one after the other."""
    seconds: Seconds = Field(default=60.0, gt=0)
    """How long one may take."""
    path: Text | None = None
    """Where to ask; the engine's own path otherwise."""
    body: dict[str, Any] | None = None
    """What to ask, with few tokens; the engine's own form otherwise."""


class Arguments(StepArguments):
    """What `wait_healthy:` takes."""

    name: Text | None = None
    """The server, as launch_server was given it. Without it only HTTP and `log` are watched: no process, no workers."""
    engine: Engine | None = None
    """Its engine; as launched otherwise."""
    port: int | None = Field(default=None, ge=1, le=65535)
    """Its port; as launched otherwise."""
    host: Text | None = None
    """The address to ask, on the target; by its command line, or 127.0.0.1, otherwise."""
    within: Seconds = Field(default=1800.0, gt=0)
    """How long it may take in all. Large models take up to half an hour; a death or a hang is told long before."""
    probe: Probe | None = Field(default_factory=Probe)
    """Whether and how it must generate; `false` leaves it out."""
    silence: Seconds | dict[Text, Seconds] | None = None
    """How long nothing at all may happen (no line, no CPU, no reading, no GPU memory moving): for all phases, or by
    phase (`{load: 10m, after load: 5m}`); the engine's own limits otherwise."""
    ready_line: Text | None = None
    """A regular expression for the line it writes when it serves, instead of the engine's; empty: no line is needed."""
    health_path: Text | None = None
    """The path that answers 200 when it serves, instead of the engine's."""
    workers: int | None = Field(default=None, ge=0)
    """How many workers must live; by its command line (tp, pp) otherwise; 0: not counted."""
    fatal: list[Text] = Field(default_factory=list)
    """Regular expressions of lines after which it never comes up, beside the engine's."""
    log: PathText | None = None
    """The log of a server that launch_server did not launch: for phases, and for what is fatal."""
    api_key: Text | None = None
    """The key to ask with; by its command line otherwise."""

    @field_validator("probe", mode="before")
    @classmethod
    def _flag_or_rules(cls, value: Any) -> Any:
        flag = as_flag(value)
        return None if flag is False else {} if flag is True else value

    @field_validator("ready_line", "fatal")
    @classmethod
    def _are_patterns(cls, value: Any) -> Any:
        import re

        for pattern in [value] if isinstance(value, str) else value or ():
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f'"{pattern}" is no regular expression: {error}') from None
        return value


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """One call that waits on the target. When it fails, save what is known about the server before saying so."""
    options = args.model_dump(exclude={"within", "probe"})
    probe = args.probe.model_dump() if args.probe else None
    if args.api_key:
        context.secret(args.api_key)
    try:
        seen = context.read(
            "health.wait",
            within=args.within + 30.0,
            on_progress=lambda facts: context.progress(**{"text": "", **facts}),
            options={**options, "probe": probe, "within": args.within},
        )
    except CallFailed as error:
        failure = yield from _told(error, args, context)
        raise failure from None
    for note in seen["notes"]:
        context.warn(note)
    if args.name and seen["after_launch"]:
        yield Change(
            summary=f"remember how long {args.name} took",
            call="health.note",
            arguments={"name": args.name, "launch_id": seen["launch_id"], "seconds": seen["after_launch"]},
            predicted={},
            alters=False,
        )
    return Outcome({**seen.values, "msg": _sentence(args, seen)})


def _told(error: CallFailed, args: Arguments, context: StepContext) -> Generator[Change, Answer, StepFailed]:
    """The failure, with the folder where the diagnostics lie."""
    data: dict[str, Any] = {"kind": error.kind, **error.details}
    fix = data.pop("fix", None)
    if error.kind in _SAVED:
        try:
            saved = yield Change(
                summary="save diagnostics of the server",
                call="diagnostics.save",
                arguments={"name": args.name, "report": error.details},
                predicted={"folder": None, "verdicts": []},
                deadline=60.0,
                alters=False,
            )
            data.update(diagnostics=saved["folder"], verdicts=saved["verdicts"])
            if saved["folder"]:
                found = context.read("diagnostics.read", folder=saved["folder"], within=30.0)
                for name, text in found["files"].items():
                    context.keep(name, text)
        except TargetError as also:
            data["diagnostics_failed"] = also.what
    if data.get("diagnostics"):
        fix = f"{fix or 'look at its log'}; stacks, states and log are in {data['diagnostics']}"
    return StepFailed(error.what, fix=fix, data=data)


def _sentence(args: Arguments, seen: Answer) -> str:
    who = args.name or f"port {args.port}"
    said = f"{who} serves after {seen['seconds']:.1f} s"
    if seen.get("probe") is not None:
        took = seen["probe_seconds"]
        said += f": {len(took)} generations, {min(took):.2f} to {max(took):.2f} s"
    if seen.get("workers"):
        said += f", {seen['workers']} workers"
    return said


def _check(literal: Mapping[str, Any]) -> Sequence[tuple[str, str, str | None]]:
    found = misnamed(literal)
    path, silence = literal.get("health_path"), literal.get("silence")
    if isinstance(path, str) and path.rstrip("/") in STATIC:
        what = f"{path} answers 200 during warm-up and with a dead engine, so it proves nothing"
        found.append(("health_path", what, "leave it out: the engine's profile knows the path that does"))
    strange = [str(phase) for phase in silence or () if str(phase) not in PHASES] if isinstance(silence, dict) else []
    for phase in strange:
        found += [("silence", f'no phase is called "{phase}"', suggest(phase, PHASES) or ", ".join(PHASES))]
    return found


STEP = StepType(
    name="wait_healthy",
    arguments=Arguments,
    behave=behave,
    summary="Waits until a server really serves (process, log, HTTP, workers, a generation), or says why it will not.",
    example="""\
- name: Something that says when it serves
  launch_server:
    name: contract-line
    argv: [/bin/sh, -c, "echo serving; exec sleep 20"]
    log: "{{ workdir }}/logs/line.log"
    settle: 0.1
- name: Healthy
  wait_healthy: {name: contract-line, ready_line: ^serving, probe: false, within: 10s}
""",
    notes="""\
For a server of one of the known engines the name is enough, and says port, workers and how to let it generate:

    - wait_healthy: {name: eagle3, engine: sglang, port: 30000, within: 30m}

**Each tick on the target** (five a second, one call over the connection) asks in this order. Does the process live,
with that start time? Did it write a line after which it never comes up? Do its workers live? Is the ready line there
(in this launch's own log), and HTTP 200, and `probe.requests` generations of a few tokens, and one worker for each
rank, and is it this server that listens on the port? Only all of it together is healthy. Endpoints that answer 200
with a dead engine (`/v1/models`, `/get_model_info`, `/ping`) are never taken for readiness, and refused as
`health_path`.

**A death is told within a second**, with exit code or signal, what that usually means (-7: /dev/shm; -9: the OOM
killer, where the kernel counted one), and the log's last lines. If stop_server ended it, that is said instead.

**Silence is no verdict, idleness is.** Loading, compiling and graph capture can be silent for many minutes. What
counts is that nothing at all happens: no line, no process of it using 5 % of a core, nothing read from storage, no
GPU memory moving. Each phase has its own limit (sglang: 5 minutes after load, 10 while loading, 15 in capture, 12.5
in its own warm-up, so that the server's own verdict comes first). A start that is silent but busy goes on, with its
phase shown.

**What is shown meanwhile**: phase, shards, seconds of silence and whether it is busy in them, GPU memory, HTTP
status, and how long this very specification took before. Progress bars with carriage returns are read as they are
written.

**When it fails**, stacks, wait channels and states of all its processes (two looks a second apart), and the log's end
are saved on the target, and the result names the folder; the run's record keeps them, too.

Nothing is ever ended or restarted by this step, and one 503 of a busy server is no failure. After it, a server that
dies under load is another matter: verify with real requests (measure_server).
""",
    returns={
        "seconds": "how long was waited; after_launch counts from the launch",
        "phases": "the phases of the start, each with its seconds",
        "shards": "[done, all] of the last loading",
        "http": "the last status of the health path, or refused, timeout, ...",
        "probe": "what was generated; probe_seconds is how long each took",
        "workers": "how many workers live",
        "processes": "its processes: pid, title, state, CPU seconds",
        "kind": "of a failure: died, fatal, worker, silent, mute, foreign, timeout, unknown",
        "exit": "of a death: code, signal, text, hint, asked",
        "last_line": "the last line of its log; log_tail has more",
        "diagnostics": "of a failure: the folder on the target with stacks, states and log",
    },
    observes=True,
    ansible_name=None,
    any_of=[["name", "port", "engine"]],
    check=_check,
    only_reads=True,
)
