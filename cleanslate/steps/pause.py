"""pause: wait some time, or for the person at the terminal."""

from __future__ import annotations

import time
from datetime import datetime

from cleanslate.steps.contract import Behaviour, Flag, Outcome, Seconds, StepArguments, StepContext, StepType, Text


class Arguments(StepArguments):
    """Arguments of pause."""

    seconds: Seconds | None = None
    """How long to wait; durations like 90s are taken too."""
    minutes: float | None = None
    """How long to wait, in minutes."""
    prompt: Text | None = None
    """What to ask; without seconds or minutes the run waits for Return."""
    echo: Flag = True
    """Show what is typed."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Wait on the controller, once for all hosts. Without a terminal a prompt does not wait, as in Ansible."""
    yield from ()
    began, started = time.monotonic(), datetime.now().astimezone()
    wanted = args.seconds if args.seconds is not None else (args.minutes * 60 if args.minutes is not None else None)
    typed = ""
    if wanted is None or args.prompt is not None:
        typed = context.ask(args.prompt or "Press Return to continue", echo=args.echo, seconds=wanted)
    if wanted is not None:
        _wait(context, began + max(0.0, wanted))
    took = time.monotonic() - began
    data = {
        "start": str(started.replace(tzinfo=None)),
        "stop": str(datetime.now()),
        "delta": int(took),
        "echo": args.echo,
        "user_input": typed,
        "stdout": f"Paused for {took:.2f} seconds",
        "rc": 0,
    }
    return Outcome(data, changed=False)


def _wait(context: StepContext, until: float) -> None:
    while (left := until - time.monotonic()) > 0:
        if left > 1:
            context.progress(f"{left:.0f} s left", seconds_left=round(left))
        context.sleep(min(left, 1.0))


STEP = StepType(
    name="pause",
    arguments=Arguments,
    behave=behave,
    summary="Wait some time, or for the person at the terminal; once for all hosts.",
    example="""\
- name: Give the balancer a moment
  pause:
    seconds: 0.1
""",
    returns={"user_input": "what was typed", "delta": "seconds that passed", "start": "when it began"},
    notes="Prefer a step that waits for the fact itself (wait_for, assert_gpus, wait_healthy).",
    exclusive=(("seconds", "minutes"),),
    on_target=False,
    once=True,
)
