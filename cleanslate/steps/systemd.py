"""The step type systemd: the state of a unit, now and at boot."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Literal

from cleanslate.errors import CallFailed, StepFailed
from cleanslate.model import Answer
from cleanslate.steps._attributes import attribute_diff
from cleanslate.steps.contract import (
    AliasChoices,
    Behaviour,
    Change,
    Field,
    Flag,
    Outcome,
    StepArguments,
    StepContext,
    StepType,
    Text,
)

_RUNNING = ("active", "activating")


class Arguments(StepArguments):
    """The unit, and how it shall be."""

    name: Text | None = Field(None, validation_alias=AliasChoices("name", "service", "unit"))
    """The unit; `.service` may be left out."""
    state: Literal["reloaded", "restarted", "started", "stopped"] | None = None
    """`started` and `stopped` do nothing where it is so already; `restarted` and `reloaded` always act, and start what
    does not run."""
    enabled: Flag | None = None
    """Whether it is started at boot."""
    masked: Flag | None = None
    """Whether it cannot be started at all."""
    force: Flag = False
    """Replace links of other units when enabling."""
    daemon_reload: Flag = Field(False, validation_alias=AliasChoices("daemon_reload", "daemon-reload"))
    """Read all unit files again first."""
    daemon_reexec: Flag = Field(False, validation_alias=AliasChoices("daemon_reexec", "daemon-reexec"))
    """Start systemd itself anew first."""
    scope: Literal["system", "user", "global"] = "system"
    """Whose units: the system's, the user's, or all users'."""
    no_block: Flag = False
    """Do not wait until the unit has done it."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Look at the unit once, then ask systemd for what differs."""
    if args.name is None and (args.state or args.enabled is not None or args.masked is not None):
        raise StepFailed("state, enabled and masked need name", data={"changed": False})
    if args.daemon_reexec:
        yield _verb(args, "daemon-reexec", None, "start systemd anew", alters=False)
    if args.daemon_reload:
        yield _verb(args, "daemon-reload", None, "read all unit files again", alters=False)
    if args.name is None:
        context.read("services.running", scope=args.scope)
        return Outcome({"name": None, "changed": False, "status": {}}, changed=False)
    found = context.read("services.show", name=args.name, scope=args.scope)
    data: dict[str, Any] = {"name": args.name, "status": found["status"]}
    if not found["exists"] and not found["masked"]:
        raise _no_unit(args, context)
    yield from _masked(args, found, data)
    yield from _enabled(args, found, data)
    yield from _state(args, found, data)
    return Outcome(data)


def _no_unit(args: Arguments, context: StepContext) -> StepFailed:
    data = {"changed": False, "name": args.name, "kind": "missing"}
    fix = None if args.daemon_reload else "if its file is new, say daemon_reload: true"
    return StepFailed(f"systemd knows no unit {args.name} on {context.host}", fix=fix, data=data)


Steps = Generator[Change, Answer, None]


def _masked(args: Arguments, found: Answer, data: dict[str, Any]) -> Steps:
    if args.masked is not None and args.masked != found["masked"]:
        words = (
            ("mask", "mask {}", ["unmasked", "masked"])
            if args.masked
            else ("unmask", "unmask {}", ["masked", "unmasked"])
        )
        yield from _asked(args, words[0], words[1], words[2])


def _enabled(args: Arguments, found: Answer, data: dict[str, Any]) -> Steps:
    if args.enabled is None:
        return
    data["enabled"] = args.enabled
    if args.enabled != bool(found["enabled"]):
        before, after = ("disabled", "enabled") if args.enabled else ("enabled", "disabled")
        verb = "enable" if args.enabled else "disable"
        options = ["--force"] if args.force and args.enabled else []
        yield from _asked(args, verb, verb + " {}", [found["enabled_word"] or before, after], options)


def _state(args: Arguments, found: Answer, data: dict[str, Any]) -> Steps:
    if args.state is None:
        return
    runs = found["active"] in _RUNNING
    data["state"] = "stopped" if args.state == "stopped" else "started"
    verb = {
        "started": None if runs else "start",
        "stopped": "stop" if runs or found["active"] == "deactivating" else None,
        "restarted": "restart" if runs else "start",
        "reloaded": "reload" if runs else "start",
    }[args.state]
    if verb is None:
        return
    options = ["--no-block"] if args.no_block else []
    after = {"stop": "inactive", "start": "active", "restart": "restarted", "reload": "reloaded"}[verb]
    yield from _asked(args, verb, verb + " {}", [found["active"] or "inactive", after], options)


def _asked(args: Arguments, verb: str, said: str, moves: list[str], options: list[str] | None = None) -> Steps:
    name = str(args.name)
    try:
        yield _verb(args, verb, name, said.format(name), options=options, moves=moves)
    except CallFailed as error:
        fix = "journalctl -u " + name if verb in ("start", "restart", "reload") else None
        raise StepFailed(error.what, fix=fix, data={"name": name, **error.details}) from error


def _verb(
    args: Arguments,
    verb: str,
    name: str | None,
    summary: str,
    *,
    options: list[str] | None = None,
    moves: list[str] | None = None,
    alters: bool = True,
) -> Change:
    return Change(
        summary,
        "services.control",
        {"verb": verb, "name": name, "scope": args.scope, "options": options or []},
        predicted={},
        diffs=[attribute_diff(str(name), {"unit": moves})] if moves else [],
        alters=alters,
    )


STEP = StepType(
    name="systemd",
    arguments=Arguments,
    behave=behave,
    summary="Start, stop, restart, reload, enable or mask a unit of systemd, where it is not so already.",
    example="""\
- name: The server runs, now and after a boot
  systemd:
    name: eagle3
    state: started
    enabled: true
    daemon_reload: true
""",
    returns={
        "name": "the unit",
        "state": "started or stopped, if it was asked for",
        "enabled": "whether it is started at boot, if it was asked for",
        "status": "every property of the unit, as it was before",
        "journal": "what the unit last said, when it could not be started",
    },
    notes="Reading unit files again does not count as a change. Where systemd does not run, the step says so.",
    aliases=("systemd_service",),
)
