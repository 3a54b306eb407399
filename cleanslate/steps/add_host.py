"""add_host: put a host into the inventory of the running run."""

from __future__ import annotations

from typing import Annotated, Any

from cleanslate.steps.contract import (
    AddHost,
    BeforeValidator,
    Behaviour,
    ConfigDict,
    Field,
    Outcome,
    StepArguments,
    StepContext,
    StepType,
    Text,
)


def _groups(value: Any) -> Any:
    if value is None:
        return []
    if isinstance(value, str):
        return [word.strip() for word in value.split(",") if word.strip()]
    return value


class Arguments(StepArguments):
    """Arguments of add_host: the name, its groups, and any variables."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True, defer_build=True)

    name: Text = Field(alias="hostname")
    """The inventory name of the host; `name:port` sets ansible_port too."""
    groups: Annotated[list[Text], BeforeValidator(_groups)] = []
    """Groups that the host joins; they are made when they do not exist. Also `group`, `groupname`."""
    group: Annotated[list[Text], BeforeValidator(_groups)] = []
    """The same as groups."""
    groupname: Annotated[list[Text], BeforeValidator(_groups)] = []
    """The same as groups."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Ask the runner to add the host; plays that follow see it."""
    yield from ()
    variables = dict(args.model_extra or {})
    name, colon, port = args.name.rpartition(":")
    if colon and port.isdigit() and ":" not in name:
        variables["ansible_port"] = int(port)
    else:
        name = args.name
    groups = [*args.groups, *args.group, *args.groupname]
    added = {"host_name": name, "groups": groups, "host_vars": variables}
    return Outcome({"add_host": added}, changed=True, flow=AddHost(name, groups, variables=variables))


STEP = StepType(
    name="add_host",
    arguments=Arguments,
    behave=behave,
    summary="Add a host, with groups and variables, for the plays that follow.",
    example="""\
- name: The machine that was just rented
  add_host:
    name: rented-1
    groups: [rented]
    ansible_host: 192.0.2.7
""",
    returns={"add_host": "the name, groups and variables"},
    on_target=False,
    once=True,
    repeatable=False,
)
