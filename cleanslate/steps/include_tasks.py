"""include_tasks: run the steps of a file, decided while the play runs."""

from __future__ import annotations

from typing import Any

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
    """Arguments of include_tasks."""

    file: Text = Field(alias="_raw_params")
    """The file, looked for beside the including file, in the role's tasks, and beside the playbook."""
    apply: dict[str, Any] = {}
    """Keywords (tags, become, when ...) for every included step."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Ask the runner to go on with the file's steps."""
    yield from ()
    return Outcome({"include": args.file}, changed=False, flow=IncludeTasks(args.file, args.apply))


STEP = StepType(
    name="include_tasks",
    arguments=Arguments,
    behave=behave,
    summary="Run the steps of another file here; the name may be a template, and the step may loop.",
    example="""\
- name: What this engine needs
  include_tasks: "{{ include_tasks_example }}"
""",
    returns={"include": "the file"},
    free_form="file",
    unrendered=("apply",),
    on_target=False,
)
