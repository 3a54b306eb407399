"""The step type shell: run a command line through a shell."""

from __future__ import annotations

import shlex

from cleanslate.errors import CallFailed, StepFailed
from cleanslate.steps import _commands
from cleanslate.steps.contract import Behaviour, Change, PathText, StepContext, StepType, Text


class Arguments(_commands.CommandArguments):
    """The command line, and how it runs."""

    cmd: Text
    """The command line; it may have several lines."""
    executable: PathText | None = None
    """The shell, as an absolute path; /bin/sh when not given."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Run it, unless `creates` or `removes` say that it has been run."""
    if not args.cmd.strip():
        raise StepFailed("there is no command to run", fix="give cmd")
    reason = _commands.unneeded(args, context)
    if reason:
        return _commands.not_run(args.cmd, reason)
    environment = dict(context.environment)
    line = f"{shlex.quote(args.executable or '/bin/sh')} -c {shlex.quote(args.cmd)}"
    try:
        answer = yield Change(
            f"run {_commands.shown(args.cmd)}",
            "command.run",
            {"command": args.cmd, "executable": args.executable, "chdir": args.chdir, "environment": environment},
            blob=_commands.input_of(args),
            unforetold=_commands.foretold(args.cmd, args),
            plain=_commands.plain_line(line, environment, args.chdir),
        )
    except CallFailed as error:
        raise _commands.not_started(error, args.cmd) from error
    return _commands.ended(args.cmd, answer, context, strip=args.strip_empty_ends)


STEP = StepType(
    name="shell",
    arguments=Arguments,
    behave=behave,
    summary="Run a command line through a shell, with pipes, globs and redirections.",
    example="""\
- name: Sort the names and keep each once
  shell: printf 'b\\na\\nb\\n' | sort -u > names
  args:
    chdir: "{{ workdir }}"
    creates: "{{ workdir }}/names"
""",
    returns=_commands.RETURNS,
    notes=(
        "Quote what comes from variables with the `quote` filter. A process that shall outlive the step is better "
        "started with `launch_server`."
    ),
    free_form="cmd",
    repeatable=False,
    foretells=False,
    background=True,
)
