"""The step type reboot: restart the target's machine, and wait until it works again."""

from __future__ import annotations

import time
from pathlib import Path

from cleanslate.errors import OutcomeUnknown, StepFailed, TargetError
from cleanslate.steps.contract import (
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

_FOLDERS = ["/sbin", "/bin", "/usr/sbin", "/usr/bin", "/usr/local/sbin"]
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 3.0  # seconds between tries: more and more


class Arguments(StepArguments):
    """How to restart, and how to know that it is done."""

    reboot_command: Text | None = None
    """A command that restarts; `shutdown -r` when not given."""
    msg: Text = "Reboot initiated by cleanslate"
    """What users who are logged in are told."""
    pre_reboot_delay: Seconds = 0.0
    """How long to wait before it restarts."""
    post_reboot_delay: Seconds = 0.0
    """How long to wait once it can be reached again."""
    reboot_timeout: Seconds = 600.0
    """How long the restart may take, and again how long until test_command works."""
    connect_timeout: Seconds = 5.0
    """How long one try to connect may take."""
    test_command: Text = "whoami"
    """A command that works once the machine is ready."""
    boot_time_command: Text | None = None
    """A command that prints something else after each start; the kernel's boot id when not given."""
    search_paths: Words = Field(default_factory=lambda: list(_FOLDERS))
    """The folders to look for `shutdown` in."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Note which start it is, restart, wait for another one, then for the test command."""
    before = context.read("power.boot", command=args.boot_time_command)["boot"]
    if args.reboot_command is None and args.boot_time_command is None and before == _own_boot():
        what = "the target runs on this very machine, which would be restarted"
        raise StepFailed(what, fix="give reboot_command if that is meant", data={"changed": False, "rebooted": False})
    began = time.monotonic()
    try:
        answer = yield Change(
            "restart the machine",
            "power.reboot",
            {
                "command": args.reboot_command,
                "message": args.msg,
                "delay": args.pre_reboot_delay,
                "search": args.search_paths,
            },
            predicted={"command": None},
        )
    except OutcomeUnknown:
        pass  # it was so quick that the answer did not come back
    else:
        if answer["command"] is None:
            return Outcome({"rebooted": True, "elapsed": 0})
    _wait_for_another(args, context, before)
    if args.post_reboot_delay:
        context.sleep(args.post_reboot_delay)
    _wait_for_test(args, context)
    return Outcome({"rebooted": True, "elapsed": int(time.monotonic() - began)})


def _own_boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _wait_for_another(args: Arguments, context: StepContext, before: str) -> None:
    end = time.monotonic() + args.reboot_timeout + args.pre_reboot_delay
    said, pause = "it has not restarted yet", _FIRST_PAUSE
    while time.monotonic() < end:
        context.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
        try:
            now = context.read("power.boot", within=args.connect_timeout + 5, command=args.boot_time_command)["boot"]
        except TargetError as error:
            said = f"it cannot be reached: {error.what}"
        else:
            if now != before:
                return
            said = "it has not restarted yet"
        context.progress(f"waiting for {context.host} to restart: {said}")
    data = {"changed": True, "rebooted": False, "elapsed": int(args.reboot_timeout)}
    raise StepFailed(f"after {args.reboot_timeout:g} s {context.host} is not back: {said}", data=data)


def _wait_for_test(args: Arguments, context: StepContext) -> None:
    end = time.monotonic() + args.reboot_timeout
    while True:
        try:
            context.read("power.works", within=args.connect_timeout + 30, command=args.test_command)
            return
        except TargetError as error:
            said = error.what
        if time.monotonic() >= end:
            data = {"changed": True, "rebooted": True, "elapsed": int(args.reboot_timeout)}
            raise StepFailed(f"{context.host} has restarted, but does not become ready: {said}", data=data)
        context.sleep(_LONGEST_PAUSE)


STEP = StepType(
    name="reboot",
    arguments=Arguments,
    behave=behave,
    summary="Restart the target's machine, and wait until it has really started anew and works.",
    example="""\
- name: After a new driver
  reboot:
    reboot_timeout: 20m
""",
    returns={
        "rebooted": "whether it has started anew",
        "elapsed": "whole seconds that it took",
    },
    notes=(
        "That it has started anew is told by the kernel's boot id, not by a connection that broke. A target that runs "
        "on the controller's own machine is not restarted unless reboot_command is given."
    ),
    repeatable=False,
)
