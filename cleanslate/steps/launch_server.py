"""launch_server: start a server that outlives the connection, after a look at what would make it fail."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from cleanslate.errors import CallFailed, StepFailed, TargetError, suggest
from cleanslate.model import Answer, Diff
from cleanslate.steps._engines import Engine, misnamed
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
    field_validator,
    model_validator,
)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")
# `--api-key`, HF_TOKEN; not `--tokenizer-path`, MAX_TOKENS or TOKENIZERS_PARALLELISM
_HIDDEN = re.compile(r"(?:^|[_-])(?:api_?key|key|token|secret|password|credentials?)$", re.IGNORECASE)
_SECRET_LENGTH = 8
_SPECIFIED = ("argv", "command", "env", "chdir", "user", "log", "engine", "port", "limits", "nice", "numa")
_ENDS = {"stop_server", "release_gpus", "reboot"}  # steps that leave no server running
_LIMITS = ("nofile", "memlock", "core", "stack", "nproc", "as", "cpu", "data", "fsize", "rss", "msgqueue", "rtprio")


class Preflight(StepArguments):
    """What the look before the launch asks for."""

    shm_mib: int = Field(default=64, ge=0)
    """MiB that must be free in /dev/shm."""
    disk_mib: int = Field(default=256, ge=0)
    """MiB that must be free where the log goes."""
    gpus_used_mib: int | None = Field(default=None, ge=0)
    """Refuse when a GPU uses more than this right before the launch, whatever was asserted earlier."""
    context: Flag = True
    """Refuse when the draft model reaches fewer positions than the server is to serve."""


class Arguments(StepArguments):
    """What `launch_server:` takes."""

    name: Text
    """The server's name on this host; stop_server and wait_healthy know it by this."""
    argv: list[Text] | None = Field(default=None, min_length=1)
    """The command as a list, passed on exactly as it is."""
    command: Text | None = None
    """The command as one line for /bin/sh."""
    specification: Literal["last-good"] | None = None
    """Instead of a command: all that the last launch of this name had that served, as wait_healthy noted it."""
    env: dict[Text, Text] = Field(default_factory=dict)
    """Environment of the server, over the step's `environment` and the login's own. Quote numbers with a meaning."""
    chdir: PathText | None = None
    """The folder to start in; the user's home otherwise."""
    user: Text | None = None
    """The user to run as; needs root (`become: true`)."""
    log: PathText | None = None
    """Where the log is: a link to the newest launch's own file, NAME-<launch id>.log in the same folder."""
    keep_logs: int = Field(default=10, ge=1)
    """How many launches' logs are kept."""
    engine: Engine | None = None
    """What it is (`sglang`, `vllm`, ...); by its command otherwise. `http` for whatever else speaks HTTP."""
    port: int | None = Field(default=None, ge=1, le=65535)
    """The port that it will listen on; by its command, or its engine's usual one, otherwise."""
    replace: Flag = False
    """End a server that runs under this name with another specification. Without it that is a failure."""
    grace: Seconds = Field(default=30.0, ge=0)
    """With `replace`: how long the old server may drain."""
    settle: Seconds = Field(default=1.0, ge=0)
    """How long it is watched after the start; ending in this time is a failure."""
    via: Literal["auto", "setsid", "systemd"] = "auto"
    """How it is set apart: as a transient systemd service, or in a session of its own. `auto`: systemd for root where
    systemd runs."""
    limits: dict[Text, int | Literal["unlimited"]] = Field(default_factory=dict)
    """Resource limits by their short names: `{nofile: 1048576, memlock: unlimited, core: 0}`."""
    nice: int = Field(default=0, ge=-20, le=19)
    """Its niceness."""
    numa: Text | None = None
    """NUMA nodes that CPU and memory are bound to, as numactl takes them (`0`, `0-1`)."""
    preflight: Preflight = Field(default_factory=Preflight)
    """What must hold before it is started."""

    @model_validator(mode="after")
    def _says_it_once(self) -> Arguments:
        said = [name for name in _SPECIFIED if self.specification and name in self.model_fields_set]
        if said:
            raise ValueError(f"{', '.join(said)}: the last good specification has its own")
        return self

    @field_validator("name")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError("a server's name has letters, digits, dots and dashes only (100 at most)")
        return name

    @field_validator("limits")
    @classmethod
    def _are_limits(cls, limits: dict[str, Any]) -> dict[str, Any]:
        for name in limits:
            if name not in _LIMITS:
                raise ValueError(f'"{name}" is no limit; {suggest(name, _LIMITS) or "known are " + ", ".join(_LIMITS)}')
        return limits


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Look at what is there, and launch unless the same server runs already."""
    spec = _spec(args, context)
    for text in _secrets(spec.get("argv"), spec.get("command"), spec.get("env")):
        context.secret(text)
    need = args.preflight.model_dump()
    try:
        plan = context.read("server.plan", spec=spec, need=need)
    except CallFailed as error:
        raise _failure(error) from None
    good = plan["good"]
    if good:
        for text in _secrets(good["argv"], None, None):
            context.secret(text)
        spec = {**spec, "argv": good["argv"], "env": dict.fromkeys(good["env"], "(as kept)")}
    data: dict[str, Any] = {"name": args.name, "engine": plan["engine"], "port": plan["port"]}
    ending = _ENDS & set(context.foretold)
    if plan["running"] == "same" and ending:
        context.warn(f"it runs now as specified; {' and '.join(sorted(ending))} before this would have ended it")
    elif plan["running"] == "same":
        state = plan["state"]
        return Outcome({**data, **_told(state), "msg": f"runs already as pid {state['pid']}, as specified"})
    try:
        answer = yield _launch(args, spec, need, plan)
    except CallFailed as error:
        _keep_log(error, context)
        raise _failure(error) from None
    for each in answer["findings"]:
        context.warn(each["what"] + (f"; {each['fix']}" if each["fix"] else ""))
    if plan["recent"] >= 2:
        context.warn(f"this is launch {plan['recent'] + 1} of {args.name} in 24 hours: a restart is not a repair")
    data.update(_told(answer["state"]), replaced=answer["replaced"], program=plan["program"], python=plan["python"])
    if answer["already"]:
        return Outcome({**data, "msg": "somebody else has launched it meanwhile, as specified"}, changed=False)
    return Outcome({**data, "recent": plan["recent"], "msg": _sentence(args, answer, plan)})


def _spec(args: Arguments, context: StepContext) -> dict[str, Any]:
    if args.specification:
        return {"name": args.name, "specification": args.specification}
    spec = args.model_dump(include={"name", "argv", "command", "chdir", "user", "engine", "port", "log", "limits"})
    return {**spec, "nice": args.nice, "numa": args.numa, "env": {**context.environment, **args.env}}


def _secrets(words: Sequence[Any] | None, command: str | None, env: Mapping[str, str] | None) -> list[str]:
    """Values of options and variables whose names say that they are secret; processes' titles would show them."""
    argv = [str(word) for word in words or (command or "").split()]
    found = [value for name, value in (env or {}).items() if _HIDDEN.search(name)]
    for word, following in zip(argv, [*argv[1:], ""], strict=False):
        name, sign, value = word.partition("=")
        if name.startswith("-") and _HIDDEN.search(name):
            found.append(value if sign else following)
    return [text for text in found if len(text) >= _SECRET_LENGTH]


def _launch(args: Arguments, spec: Mapping[str, Any], need: Mapping[str, Any], plan: Answer) -> Change:
    """The change. In check mode what stands in its way now becomes warnings: an earlier step may well remove it."""
    findings = list(plan["findings"])
    if plan["running"] == "different" and not args.replace:
        what = f"{args.name} runs already and differs: {'; '.join(plan['differences'])}"
        findings.insert(0, {"what": what, "fix": "an earlier step may stop it; else set replace: true"})
    settle = {"grace": args.grace, "kill_within": 120.0, "settle": args.settle}
    return Change(
        summary=f"launch {args.name}: {_line(args, plan)}",
        call="server.launch",
        arguments={
            "spec": _spec_to_send(args, spec),
            "need": need,
            "replace": args.replace,
            "via": args.via,
            "keep_logs": args.keep_logs,
            **settle,
        },
        predicted={"already": False, "state": {}, "replaced": [], "findings": findings, "log": None, "seconds": 0},
        diffs=[_diff(args, spec, plan)],
        deadline=args.settle + args.grace + 120.0 + 90.0,
    )


def _spec_to_send(args: Arguments, spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the target is told: of the last good specification its name only, since the target keeps it."""
    return {"name": args.name, "specification": args.specification} if args.specification else spec


def _keep_log(error: CallFailed, context: StepContext) -> None:
    """Have the record keep the end of the log of a server that came up and ended."""
    if error.kind == "died" and error.details.get("log"):
        with contextlib.suppress(TargetError):
            text = context.read("diagnostics.log_end", path=error.details["log"], within=30.0)["text"]
            if text:
                context.keep("server-log-end.txt", text)


def _failure(error: CallFailed) -> StepFailed:
    fixes = {
        "running": "set replace: true to end it first, or stop it with stop_server",
        "busy": "wait for the other run, or look who it is (inv lease show)",
        "stuck": "stop_server shows what hangs, and whether the GPU is wedged",
    }
    details = dict(error.details)
    fix = details.pop("fix", None) or fixes.get(error.kind)
    return StepFailed(error.what, fix=fix, data={"kind": error.kind, **details})


def _told(state: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("pid", "pgid", "start", "launch_id", "log", "log_link", "chdir", "via", "launched_at")
    return {key: state.get(key) for key in kept}


def _line(args: Arguments, plan: Answer) -> str:
    if plan["good"]:
        return f"as in launch {plan['good']['launch_id']}, which served"
    text = args.command or " ".join(args.argv or ())
    return text if len(text) <= 120 else text[:117] + "..."


def _sentence(args: Arguments, answer: Answer, plan: Answer) -> str:
    state = answer["state"]
    if not state:
        return f"would launch {args.name}"
    said = f"{args.name} runs as pid {state['pid']} ({plan['program']}), log {state['log']}"
    if plan["good"]:
        said += f", as in launch {plan['good']['launch_id']}, which served"
    if answer["replaced"]:
        said += f"; {len(answer['replaced'])} processes of the old one were ended"
    return said


def _diff(args: Arguments, spec: Mapping[str, Any], plan: Answer) -> Diff:
    """The specification, one word a line; of a running one that is replaced, what is known of it."""
    user = plan["good"]["user"] if plan["good"] else args.user
    after = _listing(spec["argv"] or [args.command], spec["env"], plan["chdir"], user)
    state = plan["state"]
    if not state:
        return Diff(f"server {args.name}", None, after)
    known = state.get("identity") or {"argv": state.get("argv") or [], "chdir": state.get("chdir"), "user": None}
    changed = {line.split()[1] for line in plan["differences"] if line.startswith("environment: ")}
    env = {name: "(another value)" if name in changed else spec["env"].get(name, "") for name in known.get("env") or {}}
    return Diff(f"server {args.name}", _listing(known["argv"], env, known["chdir"], known["user"]), after)


def _listing(argv: Sequence[Any], env: Mapping[str, str], chdir: str, user: str | None) -> str:
    lines = [str(word) for word in argv]
    hide = False
    for place, word in enumerate(lines):
        name, sign, _ = word.partition("=")
        lines[place] = "(hidden)" if hide else f"{name}=(hidden)" if sign and _HIDDEN.search(name) else word
        hide = not hide and not sign and word.startswith("-") and bool(_HIDDEN.search(word))
    lines += [f"{name}={'(hidden)' if _HIDDEN.search(name) else value}" for name, value in sorted(env.items())]
    lines.append(f"in {chdir}" + (f" as {user}" if user else ""))
    return "\n".join(lines) + "\n"


def _check(literal: Mapping[str, Any]) -> Sequence[tuple[str, str, str | None]]:
    found = misnamed(literal)
    name, argv = literal.get("name"), literal.get("argv")
    if isinstance(name, str) and "{{" not in name and not _NAME.fullmatch(name):
        found.append(("name", f'"{name}" cannot name a server', "use letters, digits, dots and dashes"))
    if isinstance(argv, str) and "{{" not in argv:
        found.append(("argv", "argv is a list of words", "write one word a line, or use command for a shell's line"))
    return found


STEP = StepType(
    name="launch_server",
    arguments=Arguments,
    behave=behave,
    summary="Launches a server that outlives the connection, with a log of its own, and sees that it lives.",
    example="""\
- name: Something that serves
  launch_server:
    name: contract-example
    argv: [/bin/sleep, "20"]
    env: {NCCL_DEBUG: WARN}
    log: "{{ workdir }}/logs/example.log"
    settle: 0.1
""",
    notes="""\
A real one:

    - launch_server:
        name: eagle3
        argv: [/opt/sglang/bin/python, -m, sglang.launch_server, --model-path, "{{ target_model }}", --tp, "8"]
        env: {NCCL_DEBUG: WARN, HF_HOME: /models/hf}
        log: /var/log/eagle3.log
        preflight: {gpus_used_mib: 64}

**Before the fork** it looks: does the command resolve, and the interpreter in its first line; is the port free, and
whose is it (from /proc, nothing is bound); room in /dev/shm and for the log; processes of an earlier launch of this
name that live on without it; whether the draft model's `max_position_embeddings` reaches the context length of the
launch; with `preflight: {gpus_used_mib: 64}` whether the GPUs are still empty. Which sitecustomize the server's
Python really imports stands in the result. `--check` tells all this as warnings, since an earlier step may well
change it; where an earlier step would have stopped the server, it foretells the launch although the server runs now.

**Apart from the channel**: a session and process group of its own, standard input from /dev/null, both outputs to the
log. A small process, the keeper, stays its parent: it notes how the server ends (`NAME.end` beside the state file),
reaps orphans, and ends with the last of them. Where systemd runs and we are root it is a transient service, so that
no logout touches it. PYTHONUNBUFFERED is set unless `env` says otherwise. A non-interactive login reads no .bashrc:
give absolute paths and what the server needs in `env`.

**The same again is ok and unchanged**: argv, env, chdir, user, limits, nice, numa are compared with the running one.
A different one is a failure that names what differs, unless `replace: true`, which ends the old one first (TERM,
`grace`, KILL) by what its launch wrote down. For a server that may be stuck, put stop_server before this step.

**`specification: last-good`** launches what the last launch of this name had that served: command, environment,
folder, user, limits, log. What each launch was given is kept on the target (`NAME.specs` beside the state file, with
the environment's values, readable for this user alone), and wait_healthy notes which served. It is the way back when
a new command line does not come up; see playbooks/restart-eagle3.yml. Where no launch is known that served, it fails
as `unknown`, and in check mode too, so that one can ask.

**The log** is a new file for each launch, and `log` a link to it, so that no earlier run's lines count. A server that
ends within `settle` fails the step with exit code, its usual cause, and the log's last lines. That it is up is no
proof that it serves: wait_healthy is the next step.
""",
    returns={
        "pid": "the server's process; it leads its process group and session",
        "launch_id": "time and four letters; part of the log's name",
        "log": "this launch's log",
        "log_link": "the link to it",
        "program": "the file that was executed",
        "python": "the server's Python: python, version, sitecustomize, usercustomize (null: no Python server)",
        "replaced": "processes of the old server that were ended",
        "recent": "launches of this name in the 24 hours before",
        "via": "setsid or systemd",
        "exit": "when it ended within settle: code, signal, text, hint",
        "log_tail": "when it ended within settle: its last lines",
    },
    ansible_name=None,
    one_of=[["argv", "command", "specification"]],
    check=_check,
)
