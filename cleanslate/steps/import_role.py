"""import_role: a role's steps, taken in when the playbook is read."""

from __future__ import annotations

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
    """Arguments of import_role."""

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
    public: Flag = True
    """Let later steps of the play see its variables and defaults."""
    rolespec_validate: Flag = True
    """Check the role's parameters against its argument_specs."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Imports are resolved when the playbook is read; should one get here, it acts as an include."""
    yield from ()
    flow = IncludeRole(args.name, args.tasks_from, args.vars_from, args.defaults_from, args.handlers_from)
    return Outcome({"include_variables": {"name": args.name}}, changed=False, flow=flow)


STEP = StepType(
    name="import_role",
    arguments=Arguments,
    behave=behave,
    summary="Take in a role when the playbook is read; keywords go to every one of its steps.",
    example="""\
- name: What every engine needs
  import_role:
    name: "{{ include_role_example }}"
""",
    returns={"include_variables": "the role's name"},
    on_target=False,
)
