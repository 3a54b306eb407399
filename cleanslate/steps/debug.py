"""debug: print a message or a variable while a play runs."""

from __future__ import annotations

from typing import Any

from cleanslate.errors import RenderError
from cleanslate.model import SourceText
from cleanslate.steps.contract import Behaviour, Outcome, StepArguments, StepContext, StepType

UNDEFINED = "VARIABLE IS NOT DEFINED!"


class Arguments(StepArguments):
    """Arguments of debug."""

    msg: Any = "Hello world!"
    """What to print: text, or any value."""
    var: Any = None
    """A variable or expression, without braces, whose value is printed under its own name."""
    verbosity: int = 0
    """Print only with this many `-v` or more; the step is skipped otherwise."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Give the message or the value as the result."""
    yield from ()
    if args.verbosity > context.verbosity:
        return Outcome({"skipped_reason": "Verbosity threshold not met."}, skipped=True)
    if args.var is None:
        return Outcome({"msg": args.msg})
    if not isinstance(args.var, str):
        return Outcome({str(args.var): args.var})
    try:
        value = context.expression(SourceText(args.var, getattr(args.var, "origin", None)))
    except RenderError as error:
        value = f"{UNDEFINED}: {error}" if context.verbosity else UNDEFINED
    return Outcome({str(args.var): value})


STEP = StepType(
    name="debug",
    arguments=Arguments,
    behave=behave,
    summary="Print a message or the value of a variable.",
    example="""\
- name: Say where we are
  debug:
    msg: "working in {{ workdir }}"
- debug:
    var: workdir
""",
    returns={"msg": "the message, rendered", "<var>": "the value of the variable that was asked for"},
    unrendered=("var",),
    exclusive=(("msg", "var"),),
    on_target=False,
)
