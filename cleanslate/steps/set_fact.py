"""set_fact: give a host variables that later steps see."""

from __future__ import annotations

from cleanslate.errors import StepFailed
from cleanslate.steps.contract import (
    Behaviour,
    ConfigDict,
    Flag,
    Outcome,
    SetFacts,
    StepArguments,
    StepContext,
    StepType,
)


class Arguments(StepArguments):
    """Arguments of set_fact: any names, and `cacheable`."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    cacheable: Flag = False
    """Also keep the variables as facts, under ansible_facts."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Ask the runner to keep the variables for this host; they win over everything but `-e`."""
    yield from ()
    variables = dict(args.model_extra or {})
    wrong = [name for name in variables if not name.isidentifier()]
    if wrong:
        raise StepFailed(
            f'"{wrong[0]}" cannot be a variable name', fix="letters, digits and underscores, not starting with a digit"
        )
    if not variables:
        raise StepFailed("set_fact was given nothing to set", fix="write name: value below it")
    return Outcome(changed=False, flow=SetFacts(variables, cacheable=args.cacheable))


STEP = StepType(
    name="set_fact",
    arguments=Arguments,
    behave=behave,
    summary="Set variables of a host for the rest of the run.",
    example="""\
- name: Remember the log folder
  set_fact:
    log_dir: "{{ workdir }}/logs"
""",
    returns={"ansible_facts": "the variables that were set"},
    on_target=False,
)
