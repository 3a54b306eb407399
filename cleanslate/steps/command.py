"""The step type command: run a program, without a shell."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from cleanslate.errors import CallFailed, StepFailed
from cleanslate.steps import _commands
from cleanslate.steps.contract import Behaviour, Change, Flag, StepContext, StepType, Text


class Arguments(_commands.CommandArguments):
    """The program, and how it runs."""

    cmd: Text | None = None
    """The program and its arguments as one text, split the way a shell splits words."""
    argv: list[Text] | None = None
    """The program and its arguments as a list, taken as they are."""
    expand_argument_vars: Flag = True
    """Expand `~` and $VARIABLES in the arguments; a variable that is not set stays as it is."""


def _words(args: Arguments) -> list[str]:
    if args.argv is not None:
        words = list(args.argv)
    else:
        try:
            words = shlex.split(args.cmd or "")
        except ValueError as error:
            raise StepFailed(f"cmd cannot be split into words: {str(error).lower()}", fix="close the quotes") from None
    if not words:
        raise StepFailed("there is no command to run", fix="give cmd or argv")
    return words


def _check(literal: Mapping[str, Any]) -> Sequence[tuple[str, str, str | None]]:
    try:
        shlex.split(str(literal.get("cmd") or ""))
    except ValueError as error:
        return [("cmd", f"cannot be split into words: {str(error).lower()}", "close the quotes")]
    return []


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Run it, unless `creates` or `removes` say that it has been run."""
    words = _words(args)
    reason = _commands.unneeded(args, context)
    if reason:
        return _commands.not_run(words, reason)
    expanded = args.expand_argument_vars
    line = " ".join(_commands.expanding_word(word) if expanded else shlex.quote(word) for word in words)
    environment = dict(context.environment)
    try:
        answer = yield Change(
            f"run {_commands.shown(words)}",
            "command.run",
            {"argv": words, "chdir": args.chdir, "environment": environment, "expand": expanded},
            blob=_commands.input_of(args),
            unforetold=_commands.foretold(words, args),
            plain=_commands.plain_line(line, environment, args.chdir),
        )
    except CallFailed as error:
        raise _commands.not_started(error, words) from error
    return _commands.ended(words, answer, context, strip=args.strip_empty_ends)


STEP = StepType(
    name="command",
    arguments=Arguments,
    behave=behave,
    summary="Run a program with its arguments; no shell reads them, so there are no pipes, globs or redirections.",
    example="""\
- name: Which Python is it?
  command: python3 --version
  register: version
  changed_when: false
- name: Make the index, once
  command:
    argv: [touch, the index]
    chdir: "{{ workdir }}"
    creates: the index
""",
    returns=_commands.RETURNS,
    notes="A command is always taken to change something: say `changed_when: false` for one that only reads.",
    free_form="cmd",
    one_of=(("cmd", "argv"),),
    repeatable=False,
    foretells=False,
    check=_check,
    background=True,
)
