"""The step type blockinfile: a block of lines between two marker lines of a text file."""

from __future__ import annotations

import re
from typing import Literal

from cleanslate.errors import StepFailed
from cleanslate.steps._edit import EditArguments, edit, missing, pattern_error
from cleanslate.steps.contract import AliasChoices, Behaviour, Field, Flag, StepContext, StepType, Text


class Arguments(EditArguments):
    """The block, its markers, and where it stands."""

    block: Text = Field("", validation_alias=AliasChoices("block", "content"))
    """The lines of the block; without any, the block is removed."""
    state: Literal["present", "absent"] = "present"
    """Whether the block shall be there."""
    marker: Text = "# {mark} ANSIBLE MANAGED BLOCK"
    """The marker lines, with `{mark}` for marker_begin and marker_end. Each block needs markers of its own."""
    marker_begin: Text = "BEGIN"
    """What `{mark}` is in the line before the block."""
    marker_end: Text = "END"
    """What `{mark}` is in the line after the block."""
    insertafter: Text | None = None
    """Put a new block after the last match of this regular expression; `EOF`: at the end (as by default)."""
    insertbefore: Text | None = None
    """Put a new block before the last match of this regular expression; `BOF`: at the beginning."""
    create: Flag = False
    """Make the file (and its folders) where it does not exist."""
    append_newline: Flag = False
    """An empty line after the block, unless it ends the file."""
    prepend_newline: Flag = False
    """An empty line before the block, unless it begins the file."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Read the file, put the block in its place, write what differs."""
    if "{mark}" not in args.marker or args.marker_begin == args.marker_end:
        what = "the two markers are the same line, so the block would not be found again"
        raise StepFailed(what, fix="put {mark} into marker", data={"changed": False})
    block = args.block.encode("utf-8", "surrogateescape") if args.state == "present" else b""

    def change(content: bytes | None) -> tuple[bytes | None, str]:
        if content is None and not args.create:
            raise missing(args.path)
        if content is None and not block:
            return None, f"File {args.path} not present"
        lines = (content or b"").splitlines(keepends=True)
        after = b"".join(_arranged(lines, block, args, content or b""))
        said = "File created" if content is None else "Block inserted" if block else "Block removed"
        return (None, "") if after == content else (after, said)

    return (yield from edit(context, args, change, create=args.create))


def _markers(args: Arguments) -> tuple[bytes, bytes]:
    begin = args.marker.replace("{mark}", args.marker_begin)
    return begin.encode(), args.marker.replace("{mark}", args.marker_end).encode()


def _arranged(lines: list[bytes], block: bytes, args: Arguments, content: bytes) -> list[bytes]:
    """The file's lines with the block (or without it) between its markers."""
    begin, end = _markers(args)
    bare = [line.rstrip(b"\r\n") for line in lines]
    first = max((at for at, line in enumerate(bare) if line == begin), default=None)
    last = max((at for at, line in enumerate(bare) if line == end), default=None)
    if first is not None and last is not None:
        at = min(first, last)
        lines = lines[:at] + lines[max(first, last) + 1 :]
    else:
        at = _place(lines, args, content) if block else 0
    if not block:
        return lines
    inside = block.splitlines(keepends=True)
    if not inside[-1].endswith(b"\n"):
        inside[-1] += b"\n"
    before, after = lines[:at], lines[at:]
    if before and not before[-1].endswith(b"\n"):
        before[-1] += b"\n"
    if args.prepend_newline and before and before[-1].strip(b"\r\n"):
        before.append(b"\n")
    if args.append_newline and after and after[0].strip(b"\r\n"):
        after = [b"\n", *after]
    return [*before, begin + b"\n", *inside, end + b"\n", *after]


def _place(lines: list[bytes], args: Arguments, content: bytes) -> int:
    """The index of the line before which a new block goes."""
    if args.insertbefore == "BOF":
        return 0
    pattern = args.insertbefore or args.insertafter
    if pattern in (None, "EOF", ""):
        return len(lines)
    try:
        compiled = re.compile(str(pattern).encode("utf-8", "surrogateescape"))
    except re.error as error:
        raise pattern_error("insertbefore" if args.insertbefore else "insertafter", str(pattern), error) from None
    if compiled.flags & re.MULTILINE:
        return _place_in_text(compiled, args, content, len(lines))
    found = [at for at, line in enumerate(lines) if compiled.search(line)]
    if not found:
        return len(lines)
    return found[-1] if args.insertbefore else found[-1] + 1


def _place_in_text(compiled: re.Pattern[bytes], args: Arguments, content: bytes, end: int) -> int:
    """The same for a pattern that may match several lines at once."""
    found = list(compiled.finditer(content))
    if not found:
        return end
    at = found[-1].start() if args.insertbefore else found[-1].end()
    before = content[:at].count(b"\n")
    return before if args.insertbefore or content[:at].endswith(b"\n") else before + 1


STEP = StepType(
    name="blockinfile",
    arguments=Arguments,
    behave=behave,
    summary="See to it that a block of lines, between two marker lines, is in a text file, or is not.",
    example="""\
- name: Names of the other nodes
  blockinfile:
    path: "{{ workdir }}/hosts"
    create: true
    block: |
      10.0.0.1 node1
      10.0.0.2 node2
""",
    returns={
        "msg": "`Block inserted`, `Block removed`, `File created`, or nothing",
        "backup_file": "the copy of the old file",
    },
    notes="Several blocks of one file need different markers: put a name of your own into `marker`.",
    exclusive=(("insertbefore", "insertafter"),),
)
