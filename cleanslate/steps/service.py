"""The step type service: the state of a service, through systemd."""

from __future__ import annotations

from typing import Literal

from cleanslate.steps import systemd
from cleanslate.steps.contract import AliasChoices, Behaviour, Field, Flag, StepArguments, StepContext, StepType, Text


class Arguments(StepArguments):
    """The service, and how it shall be."""

    name: Text
    """The service."""
    state: Literal["reloaded", "restarted", "started", "stopped"] | None = None
    """`started` and `stopped` do nothing where it is so already; `restarted` and `reloaded` always act."""
    enabled: Flag | None = None
    """Whether it is started at boot."""
    arguments: Text = Field("", validation_alias=AliasChoices("arguments", "args"))
    """Has no effect with systemd."""
    pattern: Text | None = None
    """Has no effect with systemd."""
    runlevel: Text = "default"
    """Has no effect with systemd."""
    sleep: int | None = None
    """Has no effect with systemd."""
    use: Text = "auto"
    """The service manager; only systemd is known (`auto`, `systemd`, `service`)."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Do what systemd does."""
    if args.arguments or args.pattern:
        context.warn("arguments and pattern have no effect with systemd")
    wanted = systemd.Arguments.model_validate({"name": args.name, "state": args.state, "enabled": args.enabled})
    return (yield from systemd.behave(wanted, context))


STEP = StepType(
    name="service",
    arguments=Arguments,
    behave=behave,
    summary="Start, stop, restart, reload or enable a service, where it is not so already.",
    example="""\
- name: The server runs
  service:
    name: eagle3
    state: started
""",
    returns=systemd.STEP.returns,
    notes="Services are controlled through systemd; where it does not run, the step says so and fails.",
    any_of=(("state", "enabled"),),
)
