"""The step type replace: every match of a pattern in a text file."""

from __future__ import annotations

import re

from cleanslate.errors import StepFailed
from cleanslate.steps._edit import EditArguments, edit, missing, pattern_error
from cleanslate.steps.contract import Behaviour, StepContext, StepType, Text


class Arguments(EditArguments):
    """What is replaced by what."""

    regexp: Text
    """A regular expression; `^` and `$` match at each line."""
    replace: Text = ""
    """What each match becomes; `\\1` and `\\g<name>` stand for groups. Without it, matches are removed."""
    after: Text | None = None
    """Replace only behind the first match of this regular expression (here `.` matches line ends too)."""
    before: Text | None = None
    """Replace only before this regular expression (here `.` matches line ends too)."""
    encoding: Text = "utf-8"
    """How the file's text is encoded."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Read the file, replace, write what differs."""
    try:
        pattern = re.compile(args.regexp, re.MULTILINE)
    except re.error as error:
        raise pattern_error("regexp", args.regexp, error) from None
    section = _section(args)
    try:
        "".encode(args.encoding)
    except LookupError:
        raise StepFailed(f'there is no encoding "{args.encoding}"', data={"changed": False}) from None

    def change(content: bytes | None) -> tuple[bytes | None, str]:
        if content is None:
            raise missing(args.path, create=None)
        text = content.decode(args.encoding, "surrogateescape")
        start, end = 0, len(text)
        if section is not None:
            match = section.search(text)
            if match is None:
                return None, f"after and before do not match anything: {section.pattern}"
            start, end = match.span("section")
        try:
            new, count = pattern.subn(args.replace, text[start:end])
        except (re.error, IndexError) as error:
            raise pattern_error("replace", args.replace, error) from None
        after = (text[:start] + new + text[end:]).encode(args.encoding, "surrogateescape")
        return (None, "") if after == content else (after, f"{count} replacements made")

    return (yield from edit(context, args, change, encoding=args.encoding, rc=0))


def _section(args: Arguments) -> re.Pattern[str] | None:
    """Finds the part of the text that `after` and `before` leave."""
    if args.after is None and args.before is None:
        return None
    lazy = "?" if args.after is not None and args.before is not None else ""
    try:
        return re.compile(f"{args.after or ''}(?P<section>.*{lazy}){args.before or ''}", re.DOTALL)
    except re.error as error:
        raise pattern_error("after or before", f"{args.after or ''} {args.before or ''}".strip(), error) from None


STEP = StepType(
    name="replace",
    arguments=Arguments,
    behave=behave,
    summary="Replace every match of a regular expression in a text file.",
    example="""\
- name: A file to edit
  copy:
    dest: "{{ workdir }}/fstab"
    content: "/dev/sda1 / ext4\\n/swapfile none swap sw\\n"
    force: false
- name: No swap
  replace:
    path: "{{ workdir }}/fstab"
    regexp: '^([^#].*\\sswap\\s.*)$'
    replace: '# \\1'
""",
    returns={
        "msg": "`N replacements made`, or nothing",
        "rc": "always 0",
        "backup_file": "the copy of the old file",
    },
    notes="Write the pattern so that it does not match its own replacement, or each run changes the file again.",
)
