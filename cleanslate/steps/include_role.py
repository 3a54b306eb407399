"""include_role: run a role's steps, decided while the play runs."""

from __future__ import annotations

from typing import Any

from cleanslate.steps.contract import (
    Behaviour,
    Field,
    Flag,
    IncludeRole,
    Outcome,
    StepArguments,
    StepContext,
    StepType,
    Text,
)


class Arguments(StepArguments):
    """Arguments of include_role."""

    name: Text = Field(alias="role")
    """The role."""
    tasks_from: Text = "main"
    """Which file of its tasks folder to run."""
    vars_from: Text = "main"
    """Which file of its vars folder to read."""
    defaults_from: Text = "main"
    """Which file of its defaults folder to read."""
    handlers_from: Text = "main"
    """Which file of its handlers folder to read."""
    allow_duplicates: Flag = True
    """Run it even if it has run with the same parameters before."""
    public: Flag = False
    """Let later steps of the play see its variables and defaults."""
    apply: dict[str, Any] = {}
    """Keywords (tags, become, when ...) for every step of the role."""
    rolespec_validate: Flag = True
    """Check the role's parameters against its argument_specs."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Ask the runner to go on with the role's steps."""
    yield from ()
    flow = IncludeRole(
        args.name,
        args.tasks_from,
        args.vars_from,
        args.defaults_from,
        args.handlers_from,
        args.allow_duplicates,
        args.public,
        args.rolespec_validate,
        args.apply,
    )
    return Outcome({"include_variables": {"name": args.name}}, changed=False, flow=flow)


STEP = StepType(
    name="include_role",
    arguments=Arguments,
    behave=behave,
    summary="Run a role here; its name may be a template, and the step may loop.",
    example="""\
- name: The engine of this host
  include_role:
    name: "{{ include_role_example }}"
""",
    returns={"include_variables": "the role's name"},
    unrendered=("apply",),
    on_target=False,
)
