"""The step type wait_for_connection: wait until the target can be reached again."""

from __future__ import annotations

import time

from cleanslate.errors import StepFailed, TargetError
from cleanslate.steps.contract import Behaviour, Outcome, Seconds, StepArguments, StepContext, StepType


class Arguments(StepArguments):
    """How long, and how often."""

    timeout: Seconds = 600.0
    """How long to wait at most."""
    delay: Seconds = 0.0
    """How long to wait before the first try."""
    sleep: Seconds = 1.0
    """How long to wait between tries."""
    connect_timeout: Seconds = 5.0
    """How long one try may take."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Try to make a call until one is answered."""
    yield from ()
    began = time.monotonic()
    if args.delay:
        context.sleep(args.delay)
    last = until_answered(context, args.timeout, args.sleep, args.connect_timeout)
    elapsed = time.monotonic() - began
    if last is not None:
        data = {"changed": False, "elapsed": int(elapsed)}
        raise StepFailed(f"after {args.timeout:g} s {context.host} cannot be reached: {last}", data=data)
    return Outcome({"elapsed": int(elapsed)}, changed=False)


def until_answered(context: StepContext, timeout: float, pause: float, each: float) -> str | None:
    """Try a call until one is answered; why the last one was not, if none was in time."""
    end = time.monotonic() + timeout
    while True:
        try:
            context.read("facts.echo", within=max(min(each, end - time.monotonic()), 0.1), data="")
            return None
        except TargetError as error:
            last = error.what
        left = end - time.monotonic()
        if left <= 0:
            return last
        context.progress(f"waiting for {context.host}: {last}", left=round(left))
        context.sleep(min(pause, left))


STEP = StepType(
    name="wait_for_connection",
    arguments=Arguments,
    behave=behave,
    summary="Wait until the target can be reached and answers.",
    example="""\
- name: It is there again
  wait_for_connection:
    timeout: 5m
""",
    returns={"elapsed": "whole seconds waited"},
    observes=True,
    only_reads=True,
)
