"""import_tasks: the steps of a file, taken in when the playbook is read."""

from __future__ import annotations

from cleanslate.steps.contract import (
    Behaviour,
    Field,
    IncludeTasks,
    Outcome,
    StepArguments,
    StepContext,
    StepType,
    Text,
)


class Arguments(StepArguments):
    """Arguments of import_tasks."""

    file: Text = Field(alias="_raw_params")
    """The file; a template may use only what is known before a host is reached."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Imports are resolved when the playbook is read; should one get here, it acts as an include."""
    yield from ()
    return Outcome({"include": args.file}, changed=False, flow=IncludeTasks(args.file))


STEP = StepType(
    name="import_tasks",
    arguments=Arguments,
    behave=behave,
    summary="Take in the steps of another file when the playbook is read; keywords go to every one of them.",
    example="""\
- name: What every engine needs
  import_tasks: "{{ include_tasks_example }}"
""",
    returns={"include": "the file"},
    free_form="file",
    on_target=False,
)
