"""The step type assemble: one file from the files of a folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from cleanslate.errors import StepFailed
from cleanslate.steps import _put, _sources
from cleanslate.steps._attributes import FILE_RETURNS, FileAttributes
from cleanslate.steps._text import md5
from cleanslate.steps.contract import Behaviour, Field, Flag, Outcome, PathText, StepContext, StepType, Text


class Arguments(FileAttributes):
    """The fragments, and where the whole goes."""

    src: PathText
    """The folder with the fragments; they are put together in the order of their names."""
    dest: PathText
    """The file that is made of them."""
    delimiter: Text | None = None
    """A text between the fragments; `\\n` in it is a line end."""
    regexp: Text | None = None
    """Take only files whose name matches this regular expression."""
    ignore_hidden: Flag = False
    """Leave out files whose name begins with a dot."""
    remote_src: Flag = True
    """The folder is on the target; otherwise on the controller."""
    backup: Flag = False
    """Keep what was there, beside it, under a name with the time."""
    validate_: Text | None = Field(None, validation_alias="validate")
    """A command that says whether the new file is right, with %s for its path, before it is put in place."""
    decrypt: Flag = True
    """Decrypt fragments of the controller that are kept encrypted with a vault."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Put the fragments together, then put the whole as copy does."""
    try:
        pattern = re.compile(args.regexp) if args.regexp else None
    except re.error as error:
        raise StepFailed(f"regexp is not a regular expression: {error}", data={"changed": False}) from None
    pieces = _from_target(args, context) if args.remote_src else _from_here(args, context, pattern)
    content = b"".join(_joined(pieces, args.delimiter))
    place = _put.Place(args.dest, args.wanted(), backup=args.backup, validate=args.validate_, unsafe=args.unsafe_writes)
    outcome = yield from _put.put(context, _put.Content(content), place, src=args.src)
    data = {"msg": "OK", "md5sum": md5(content), **outcome.data}
    return Outcome(data, changed=outcome.changed)


def _from_target(args: Arguments, context: StepContext) -> Iterator[bytes]:
    found = context.read("fragments.read_all", path=args.src, regexp=args.regexp, ignore_hidden=args.ignore_hidden)
    at = 0
    for size in found["sizes"]:
        yield found.blob[at : at + size]
        at += size


def _from_here(args: Arguments, context: StepContext, pattern: re.Pattern[str] | None) -> Iterator[bytes]:
    folder = context.find_file(args.src, "files")
    if not folder.is_dir():
        raise StepFailed(f"{folder} is not a folder", data={"changed": False})

    def chosen(path: Path) -> bool:
        hidden = args.ignore_hidden and path.name.startswith(".")
        return path.is_file() and not hidden and (pattern is None or pattern.search(path.name) is not None)

    for path in sorted(path for path in folder.iterdir() if chosen(path)):
        yield _sources.content(path, context) if args.decrypt else path.read_bytes()


def _joined(pieces: Iterable[bytes], delimiter: str | None) -> Iterator[bytes]:
    """The pieces; each that another one follows ends a line, and the delimiter is a line between them."""
    between = b""
    if delimiter:
        between = delimiter.encode("utf-8", "surrogateescape").replace(b"\\n", b"\n")
        between += b"" if between.endswith(b"\n") else b"\n"
    last: bytes | None = None
    for piece in pieces:
        if last is not None:
            yield (b"\n" if last and not last.endswith(b"\n") else b"") + between
        yield piece
        last = piece


STEP = StepType(
    name="assemble",
    arguments=Arguments,
    behave=behave,
    summary="Make one file of the files of a folder, in the order of their names.",
    example="""\
- name: Fragments
  copy:
    dest: "{{ workdir }}/parts/"
    src: "{{ item }}"
  loop: [10-head.conf, 20-body.conf]
- name: The whole
  assemble:
    src: "{{ workdir }}/parts"
    dest: "{{ workdir }}/whole.conf"
    delimiter: "# ---"
""",
    returns={
        "dest": "the file",
        "src": "the folder",
        "checksum": "SHA-1 of the content",
        "md5sum": "MD5 of the content",
        "backup_file": "the copy of what was there before",
        **FILE_RETURNS,
    },
)
