"""The step type tempfile: a new file or folder under a name that nobody uses."""

from __future__ import annotations

from typing import Literal

from cleanslate.steps._attributes import FILE_RETURNS, file_fields
from cleanslate.steps.contract import Behaviour, Change, Outcome, PathText, StepArguments, StepContext, StepType, Text


class Arguments(StepArguments):
    """What to make, and where."""

    state: Literal["file", "directory"] = "file"
    """Whether a file or a folder is made."""
    path: PathText | None = None
    """The folder to make it in; the target's own for temporary files when not given."""
    prefix: Text = "ansible."
    """How its name begins."""
    suffix: Text = ""
    """How its name ends."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Make it; the name cannot be foretold."""
    answer = yield Change(
        f"make a temporary {args.state}",
        "temporary.make",
        {"directory": args.state == "directory", "path": args.path, "prefix": args.prefix, "suffix": args.suffix},
        unforetold={"msg": "temporary files are not made in check mode"},
    )
    return Outcome({"path": answer["path"], **file_fields(answer.values)})


STEP = StepType(
    name="tempfile",
    arguments=Arguments,
    behave=behave,
    summary="Make a new file or folder that only this user can read, under a name that nobody uses.",
    example="""\
- name: A folder to build in
  tempfile:
    state: directory
    path: "{{ workdir }}"
    suffix: .build
  register: build
""",
    returns={"path": "the new file or folder", **FILE_RETURNS},
    notes="It stays until it is removed with `file: {path: ..., state: absent}`.",
    repeatable=False,
    foretells=False,
)
