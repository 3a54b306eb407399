"""group_by: sort hosts into groups by a value."""

from __future__ import annotations

from typing import Annotated, Any

from cleanslate.steps.contract import (
    AddHost,
    BeforeValidator,
    Behaviour,
    Outcome,
    StepArguments,
    StepContext,
    StepType,
    Text,
)


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


class Arguments(StepArguments):
    """Arguments of group_by."""

    key: Text
    """The name of the group that the host joins; blanks become dashes."""
    parents: Annotated[list[Text], BeforeValidator(_listed)] = ["all"]
    """Groups that the new group belongs to."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Ask the runner to put the host into the group."""
    yield from ()
    group = args.key.replace(" ", "-")
    parents = [parent.replace(" ", "-") for parent in args.parents]
    data = {"add_group": group, "parent_groups": parents}
    return Outcome(data, changed=True, flow=AddHost(context.host, [group], parents))


STEP = StepType(
    name="group_by",
    arguments=Arguments,
    behave=behave,
    summary="Put each host into a group named by a value, for the plays that follow.",
    example="""\
- name: One group for each GPU type
  group_by:
    key: "gpu_{{ gpu_type | default('none') }}"
""",
    returns={"add_group": "the group", "parent_groups": "its parents"},
    on_target=False,
    repeatable=False,
)
