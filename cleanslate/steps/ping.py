"""The step type ping: see whether the target answers, with a Python that works."""

from __future__ import annotations

from cleanslate.errors import StepFailed
from cleanslate.steps.contract import Behaviour, Outcome, StepArguments, StepContext, StepType, Text


class Arguments(StepArguments):
    """What to answer."""

    data: Text = "pong"
    """The word that comes back; `crash` makes the step fail, to try out failures."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Ask once."""
    yield from ()
    if args.data == "crash":
        raise StepFailed("boom", fix="say anything but crash", data={"changed": False})
    return Outcome({"ping": context.read("facts.echo", data=args.data)["data"]}, changed=False)


STEP = StepType(
    name="ping",
    arguments=Arguments,
    behave=behave,
    summary="See whether the target can be reached and has a Python that works.",
    example="""\
- name: Is it there?
  ping:
""",
    returns={"ping": "the word that came back"},
    only_reads=True,
)
