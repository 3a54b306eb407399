"""What the steps that run a user's command share: creates and removes, results as Ansible gives them, plain lines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from cleanslate.errors import CallFailed, StepFailed
from cleanslate.model import Answer
from cleanslate.steps.contract import Flag, Outcome, PathText, StepArguments, StepContext, Text

RETURNS = {
    "cmd": "what was run: a list for command, text for shell",
    "rc": "the exit code; negative: ended by that signal",
    "stdout": "standard output",
    "stdout_lines": "standard output as lines",
    "stderr": "standard error",
    "stderr_lines": "standard error as lines",
    "start": "when it started, on the target's clock",
    "end": "when it ended",
    "delta": "how long it took",
    "msg": "why it failed or was not run",
    "stdout_cut": "true when the middle of a very long output was left out (also stderr_cut)",
}


class CommandArguments(StepArguments):
    """Where, whether and with what input a command runs."""

    chdir: PathText | None = None
    """The folder to run in."""
    creates: PathText | None = None
    """A path or pattern: if something matches, the command is not run."""
    removes: PathText | None = None
    """A path or pattern: if nothing matches, the command is not run."""
    stdin: Text | None = None
    """Text for its standard input."""
    stdin_add_newline: Flag = True
    """Put a newline at the end of `stdin`."""
    strip_empty_ends: Flag = True
    """Remove empty lines at the end of the outputs."""


def unneeded(args: CommandArguments, context: StepContext) -> tuple[str, str] | None:
    """Why the command need not run, by `creates` and `removes`, as (path, "exists" or "does not exist"); else None."""
    patterns = [pattern for pattern in (args.creates, args.removes) if pattern is not None]
    if not patterns:
        return None
    found = context.read("find.matching", patterns=patterns, chdir=args.chdir)["matched"]
    if args.creates is not None and found[args.creates]:
        return args.creates, "exists"
    if args.removes is not None and not found[args.removes]:
        return args.removes, "does not exist"
    return None


def not_run(cmd: Any, reason: tuple[str, str]) -> Outcome:
    """The outcome of a command that need not run."""
    path, state = reason
    text = f"skipped, since {path} {state}"
    data = {"cmd": cmd, "rc": 0, "stdout": text, "stderr": "", "start": None, "end": None, "delta": None}
    said = f"Did not run command since '{path}' {state}"
    return Outcome({**data, "stdout_lines": [text], "stderr_lines": [], "msg": said}, changed=False)


def foretold(cmd: Any, args: CommandArguments) -> dict[str, Any]:
    """What check mode registers for a command: Ansible's fields, so that conditions on `rc` and `stdout` work."""
    bound = args.creates is not None or args.removes is not None
    data = {"cmd": cmd, "rc": 0, "stdout": "", "stderr": "", "start": None, "end": None, "delta": None}
    said = "Command would have run if not in check mode"
    return {**data, "stdout_lines": [], "stderr_lines": [], "msg": said, "changed": bound, "skipped": not bound}


def ended(cmd: Any, answer: Answer, context: StepContext, *, strip: bool) -> Outcome:
    """The outcome of a command that ran."""
    data: dict[str, Any] = {"cmd": cmd} if cmd is not None else {}
    data["rc"] = answer["rc"]
    for name in ("stdout", "stderr"):
        text = answer[name].rstrip("\r\n") if strip else answer[name]
        data[name], data[f"{name}_lines"] = text, text.splitlines()
        if answer.get(f"{name}_cut"):
            data[f"{name}_cut"], data[f"{name}_bytes"] = True, answer.get(f"{name}_bytes")
            context.warn(f"{name} was too long to keep: its first and last part are in the result")
    for name in ("start", "end", "delta"):
        if answer.get(name) is not None:
            data[name] = answer[name]
    failed = answer["rc"] != 0
    data["msg"] = "non-zero return code" if failed else ""
    return Outcome(data, failed=failed)


def not_started(error: CallFailed, cmd: Any) -> StepFailed:
    """The failure of a command that could not be started: nothing was changed."""
    code = {"missing": 2, "denied": 13}.get(error.kind, 8)
    data = {"changed": False, "cmd": cmd, "stdout": "", "stderr": "", "stdout_lines": [], "stderr_lines": []}
    data["rc"] = None if "folder" in error.details else code
    return StepFailed(error.what, data=data)


def input_of(args: CommandArguments) -> bytes | None:
    """The bytes for standard input; None where there is none."""
    if args.stdin is None:
        return None
    return (args.stdin + ("\n" if args.stdin_add_newline else "")).encode()


_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")


def expanding_word(text: str) -> str:
    """A shell word in which only `~` and $VARIABLES are expanded; a variable that is not set stays as it is."""
    home, rest = ("~", text[1:]) if text == "~" or text.startswith("~/") else ("", text)
    parts, at = [home], 0
    for match in _VARIABLE.finditer(rest):
        name = match[1] or match[2]
        parts.append(shlex.quote(rest[at : match.start()]) if rest[at : match.start()] else "")
        unset = match[0].replace("}", "\\}")
        parts.append(f'"${{{name}-\\{unset}}}"')
        at = match.end()
    tail = rest[at:]
    return "".join(parts) + (shlex.quote(tail) if tail or not any(parts) else "")


def plain_line(words: str, environment: Mapping[str, str], chdir: str | None = None) -> str:
    """A login shell's line that does `words` with an environment, in a folder."""
    parts = [f"export {name}={shlex.quote(str(value))};" for name, value in environment.items()]
    if chdir is not None:
        parts.append(f"cd {expanding_word(chdir)} &&")
    return " ".join([*parts, words])


def shown(words: Sequence[str] | str) -> str:
    """A command as one short line for people."""
    text = words if isinstance(words, str) else shlex.join(words)
    line = " ".join(text.split())
    return line if len(line) <= 100 else line[:97] + "..."
