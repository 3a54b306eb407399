"""fail: stop a host with a message."""

from __future__ import annotations

from typing import Any

from cleanslate.steps.contract import Behaviour, Outcome, StepArguments, StepContext, StepType


class Arguments(StepArguments):
    """Arguments of fail."""

    msg: Any = "Failed as requested from task"
    """Why it stops here."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Fail with the message."""
    yield from ()
    return Outcome({"msg": args.msg}, changed=False, failed=True)


STEP = StepType(
    name="fail",
    arguments=Arguments,
    behave=behave,
    summary="Fail with a message; useful with `when:`.",
    example="""\
- name: Only where there is a work folder
  fail:
    msg: no work folder was given
  when: workdir is not defined
""",
    returns={"msg": "the message"},
    on_target=False,
)
