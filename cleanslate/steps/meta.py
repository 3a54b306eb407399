"""meta: change the order of things rather than a host."""

from __future__ import annotations

from typing import Literal

from cleanslate.steps.contract import Behaviour, Field, Meta, Outcome, StepArguments, StepContext, StepType

Action = Literal[
    "flush_handlers",
    "end_play",
    "end_host",
    "end_batch",
    "end_role",
    "clear_facts",
    "clear_host_errors",
    "noop",
    "refresh_inventory",
    "reset_connection",
]


class Arguments(StepArguments):
    """Arguments of meta."""

    action: Action = Field(alias="_raw_params")
    """flush_handlers runs the notified handlers now. end_host ends this host's play, end_play everybody's,
    end_batch the batch's, end_role the role. clear_facts forgets facts, clear_host_errors lets failed hosts take part
    again, reset_connection closes the connection so that the next step opens a new one, refresh_inventory reads
    group and host variables anew, noop does nothing."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Ask the runner to do it."""
    yield from ()
    return Outcome(changed=False, flow=Meta(args.action))


STEP = StepType(
    name="meta",
    arguments=Arguments,
    behave=behave,
    summary="Run handlers now, end a host or the play, forget facts, reset a connection.",
    example="""\
- name: Restart what has changed before the check below
  meta: flush_handlers
""",
    free_form="action",
    on_target=False,
)
