"""The step type gather_facts: what a play does at its start, as a step."""

from __future__ import annotations

from cleanslate.steps import setup
from cleanslate.steps.contract import Behaviour, Flag, StepContext, StepType


class Arguments(setup.Arguments):
    """Which facts; the same as setup's."""

    parallel: Flag | None = None
    """Has no effect: there is one way to gather facts."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Do what setup does."""
    return (yield from setup.behave(args, context))


STEP = StepType(
    name="gather_facts",
    arguments=Arguments,
    behave=behave,
    summary="Gather facts about the target, as a play with `gather_facts: true` does at its start.",
    example="""\
- name: The facts of now
  gather_facts:
    gather_subset: [min, network]
""",
    returns=setup.STEP.returns,
    notes="See setup for what is gathered.",
    only_reads=True,
)
