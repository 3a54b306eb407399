"""The step type raw: a line for the login shell, over a plain channel, no Python needed."""

from __future__ import annotations

import shlex

from cleanslate.steps import _commands
from cleanslate.steps.contract import Behaviour, Change, StepArguments, StepContext, StepType, Text


class Arguments(StepArguments):
    """The line, and who reads it."""

    cmd: Text
    """The command line."""
    executable: Text | None = None
    """A shell to read the line instead of the login shell."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Run it; what it printed is given as it is."""
    line = f"{args.executable} -c {shlex.quote(args.cmd)}" if args.executable else args.cmd
    answer = yield Change(
        f"run {_commands.shown(args.cmd)}",
        "",
        plain=_commands.plain_line(line, context.environment),
        unforetold={"msg": "raw commands are not run in check mode"},
    )
    return _commands.ended(None, answer, context, strip=False)


STEP = StepType(
    name="raw",
    arguments=Arguments,
    behave=behave,
    summary="Run a line in the login shell of a target that may have no Python yet.",
    example="""\
- name: Is there a Python?
  raw: command -v python3
  changed_when: false
""",
    returns={name: text for name, text in _commands.RETURNS.items() if name not in ("cmd", "start", "end", "delta")},
    free_form="cmd",
    repeatable=False,
    foretells=False,
)
