"""The step type slurp: a file's content as data."""

from __future__ import annotations

import base64

from cleanslate.steps.contract import (
    AliasChoices,
    Behaviour,
    Field,
    Outcome,
    PathText,
    StepArguments,
    StepContext,
    StepType,
)


class Arguments(StepArguments):
    """Which file."""

    src: PathText = Field(validation_alias=AliasChoices("src", "path"))
    """The file on the target."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Read it once."""
    yield from ()
    found = context.read("files.read", path=args.src, digest=False)
    content = base64.b64encode(found.blob).decode("ascii")
    return Outcome({"content": content, "encoding": "base64", "source": found["path"]}, changed=False)


STEP = StepType(
    name="slurp",
    arguments=Arguments,
    behave=behave,
    summary="Read a file of the target into the result, base64-encoded; `b64decode` gives its text.",
    example="""\
- name: A file to read
  copy:
    dest: "{{ workdir }}/version"
    content: "1.2.3\\n"
- name: Read it
  slurp:
    src: "{{ workdir }}/version"
  register: version
""",
    returns={
        "content": "the bytes, base64-encoded",
        "encoding": "always base64",
        "source": "the file's path",
    },
    only_reads=True,
)
