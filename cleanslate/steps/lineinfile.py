"""The step type lineinfile: one line of a text file is there, or is not."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from cleanslate.errors import StepFailed
from cleanslate.steps._edit import EditArguments, edit, missing, pattern_error
from cleanslate.steps.contract import AliasChoices, Behaviour, Field, Flag, Outcome, StepContext, StepType, Text


class Arguments(EditArguments):
    """Which line, and where."""

    line: Text | None = Field(None, validation_alias=AliasChoices("line", "value"))
    """The line as it shall be; needed for `present`. With backrefs it may use groups of regexp."""
    state: Literal["present", "absent"] = "present"
    """Whether the line shall be there. `absent` removes every line that matches."""
    regexp: Text | None = Field(None, validation_alias=AliasChoices("regexp", "regex"))
    """The line to replace is the last one that matches this; all that match are removed by `absent`."""
    search_string: Text | None = None
    """The same as regexp, as plain text that is part of the line."""
    backrefs: Flag = False
    """Use groups of regexp in line (`\\1`); where nothing matches, nothing is changed."""
    insertafter: Text | None = None
    """Put a new line after the last line that matches this regular expression; `EOF`: at the end (as by default)."""
    insertbefore: Text | None = None
    """Put a new line before the last line that matches this regular expression; `BOF`: at the beginning."""
    firstmatch: Flag = False
    """Use the first line that matches, not the last."""
    create: Flag = False
    """Make the file (and its folders) where it does not exist."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Read the file, find the line, write what differs."""
    _refuse(args)
    if args.state == "absent":
        return (yield from _absent(args, context))
    return (yield from _present(args, context))


def _refuse(args: Arguments) -> None:
    if args.state == "present" and args.line is None:
        raise StepFailed("state: present needs line", data={"changed": False})
    if args.backrefs and args.regexp is None:
        raise StepFailed("backrefs needs regexp, whose groups line uses", data={"changed": False})
    if args.state == "absent" and args.line is None and args.regexp is None and args.search_string is None:
        raise StepFailed("state: absent needs line, regexp or search_string", data={"changed": False})


def _compiled(name: str, pattern: str) -> re.Pattern[bytes]:
    try:
        return re.compile(pattern.encode("utf-8", "surrogateescape"))
    except re.error as error:
        raise pattern_error(name, pattern, error) from None


def _finder(args: Arguments) -> Callable[[bytes], Any] | None:
    """Tells whether (with regexp: how) a line is the one that regexp or search_string mean; None: neither is given."""
    if args.regexp is not None:
        return _compiled("regexp", args.regexp).search
    if args.search_string is not None:
        wanted = args.search_string.encode()
        return lambda line: wanted in line
    return None


def _bare(line: bytes) -> bytes:
    return line.rstrip(b"\r\n")


def _present(args: Arguments, context: StepContext) -> Behaviour:
    line = (args.line or "").encode("utf-8", "surrogateescape").rstrip(b"\n")
    finder = _finder(args)
    place = _place_finder(args)

    def change(content: bytes | None) -> tuple[bytes | None, str]:
        if content is None and not args.create:
            raise missing(args.path)
        lines = (content or b"").splitlines(keepends=True)
        found = _pick([(at, match) for at, text in enumerate(lines) if finder and (match := finder(text))], args)
        if found is not None:
            at, match = found
            new = (match.expand(line) if args.backrefs else line) + b"\n"
            return _replaced(lines, at, new)
        if args.backrefs:
            return None, ""
        same = [at for at, text in enumerate(lines) if _bare(text) == line]
        if same:
            return _replaced(lines, same[-1], line + b"\n" if not lines[same[-1]].endswith(b"\n") else lines[same[-1]])
        return _inserted(lines, place(lines), line + b"\n"), "line added"

    outcome = yield from edit(context, args, change, create=args.create)
    return _with_backup(outcome)


def _pick(matches: list[tuple[int, Any]], args: Arguments) -> tuple[int, Any] | None:
    if not matches:
        return None
    return matches[0] if args.firstmatch else matches[-1]


def _replaced(lines: list[bytes], at: int, new: bytes) -> tuple[bytes | None, str]:
    if lines[at] == new:
        return None, ""
    return b"".join([*lines[:at], new, *lines[at + 1 :]]), "line replaced"


def _inserted(lines: list[bytes], at: int, new: bytes) -> bytes:
    """Put a line at an index; the line before it gets the end that it lacks."""
    before = list(lines[:at])
    if before and not before[-1].endswith(b"\n"):
        before[-1] += b"\n"
    return b"".join([*before, new, *lines[at:]])


def _place_finder(args: Arguments) -> Callable[[list[bytes]], int]:
    """Gives the index at which a new line is put."""
    if args.insertbefore == "BOF":
        return lambda lines: 0
    pattern, name = args.insertbefore or args.insertafter, "insertbefore" if args.insertbefore else "insertafter"
    if pattern in (None, "EOF", ""):
        return len
    matches = _compiled(name, str(pattern)).search
    shift = 0 if args.insertbefore else 1

    def find(lines: list[bytes]) -> int:
        found = _pick([(at, None) for at, text in enumerate(lines) if matches(text)], args)
        return len(lines) if found is None else found[0] + shift

    return find


def _absent(args: Arguments, context: StepContext) -> Behaviour:
    finder = _finder(args)
    line = (args.line or "").encode("utf-8", "surrogateescape").rstrip(b"\n")
    removed: list[bytes] = []
    gone = False

    def change(content: bytes | None) -> tuple[bytes | None, str]:
        nonlocal gone
        if content is None:
            gone = True
            return None, "file not present"
        lines = content.splitlines(keepends=True)
        removed.extend(text for text in lines if (finder(text) if finder else _bare(text) == line))
        kept = [text for text in lines if not (finder(text) if finder else _bare(text) == line)]
        return b"".join(kept), f"{len(removed)} line(s) removed" if removed else ""

    outcome = yield from edit(context, args, change)
    return outcome if gone else _with_backup(outcome, found=len(removed))


def _with_backup(outcome: Outcome, **extra: Any) -> Outcome:
    data = {**outcome.data, "backup": outcome.data.get("backup_file", ""), **extra}
    return Outcome(data, changed=outcome.changed)


def _check(literal: Mapping[str, Any]) -> Sequence[tuple[str, str, str | None]]:
    problems: list[tuple[str, str, str | None]] = []
    for name in ("regexp", "regex", "insertafter", "insertbefore"):
        try:
            re.compile(str(literal.get(name) or ""))
        except re.error as error:
            problems.append((name, f"is not a regular expression: {error}", "a text as it is: search_string"))
    return problems


STEP = StepType(
    name="lineinfile",
    arguments=Arguments,
    behave=behave,
    summary="See to it that one line of a text file is there, or is not.",
    example="""\
- name: A file to edit
  copy:
    dest: "{{ workdir }}/app.env"
    content: "PORT=80\\nHOST=a\\n"
    force: false
- name: The port
  lineinfile:
    path: "{{ workdir }}/app.env"
    regexp: "^PORT="
    line: PORT=30000
""",
    returns={
        "msg": "`line added`, `line replaced`, `N line(s) removed`, or nothing",
        "found": "how many lines `absent` removed",
        "backup": "the copy of the old file, or nothing",
        "backup_file": "the same, when there is one",
    },
    notes=(
        "A line end at the end of `line` is ignored. For several lines together use blockinfile; for parts of lines, "
        "replace."
    ),
    exclusive=(("regexp", "search_string"), ("backrefs", "search_string"), ("insertbefore", "insertafter")),
    check=_check,
)
