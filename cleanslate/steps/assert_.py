"""assert: stop a host where something does not hold."""

from __future__ import annotations

from typing import Annotated, Any

from cleanslate.steps.contract import (
    BeforeValidator,
    Behaviour,
    Field,
    Flag,
    Outcome,
    StepArguments,
    StepContext,
    StepType,
)


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


class Arguments(StepArguments):
    """Arguments of assert."""

    that: Annotated[list[Any], BeforeValidator(_listed)]
    """One condition or a list of them, as `when:` takes them; all must hold."""
    fail_msg: Any = Field(default=None, alias="msg")
    """What to say when one does not hold."""
    success_msg: Any = None
    """What to say when all hold."""
    quiet: Flag = False
    """Leave the conditions that hold out of the output."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Evaluate the conditions in order; the first that does not hold fails the step."""
    yield from ()
    for condition in args.that:
        if not context.evaluate(condition):
            data = {"evaluated_to": False, "assertion": str(condition)}
            message = args.fail_msg if args.fail_msg is not None else "Assertion failed"
            return Outcome({**data, "msg": message}, changed=False, failed=True)
    message = args.success_msg if args.success_msg is not None else "All assertions passed"
    return Outcome({"msg": message}, changed=False)


STEP = StepType(
    name="assert",
    arguments=Arguments,
    behave=behave,
    summary="Fail unless conditions hold.",
    example="""\
- name: There is a work folder
  assert:
    that:
      - workdir is defined
      - workdir | length > 0
    fail_msg: "give -e workdir=..."
""",
    returns={
        "msg": "fail_msg or success_msg",
        "assertion": "the condition that did not hold",
        "evaluated_to": "false, when a condition did not hold",
    },
    unrendered=("that",),
    on_target=False,
)
