"""The step type find: which files below some folders meet some conditions."""

from __future__ import annotations

import re
from typing import Literal

from cleanslate.errors import StepFailed
from cleanslate.steps.contract import (
    AliasChoices,
    Behaviour,
    Field,
    Flag,
    Mode,
    Outcome,
    StepArguments,
    StepContext,
    StepType,
    Text,
    Words,
)
from cleanslate.steps.stat import Algorithm

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SIZES = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class Arguments(StepArguments):
    """Where to look, and what for."""

    paths: Words = Field(validation_alias=AliasChoices("paths", "path", "name"))
    """The folders to look in."""
    patterns: Words = Field(default_factory=list, validation_alias=AliasChoices("patterns", "pattern"))
    """Patterns for the name (`*.log`), one of which must fit; regular expressions with use_regex."""
    excludes: Words = Field(default_factory=list, validation_alias=AliasChoices("excludes", "exclude"))
    """Patterns of which none may fit."""
    use_regex: Flag = False
    """patterns and excludes are regular expressions, matched at the beginning of the name."""
    contains: Text | None = None
    """A regular expression that must match at the beginning of a line of the file."""
    read_whole_file: Flag = False
    """contains is searched in the file as one text, not line by line."""
    encoding: Text | None = None
    """How the files' text is encoded, for contains; UTF-8 when not given."""
    file_type: Literal["any", "directory", "file", "link"] = "file"
    """What kind of thing to find."""
    recurse: Flag = False
    """Look in the folders below too."""
    depth: int | None = None
    """How many levels deep to look, with recurse."""
    follow: Flag = False
    """Follow links to folders, with recurse."""
    hidden: Flag = False
    """Find names that begin with a dot too."""
    age: Text | None = None
    """Only what is at least so old: seconds, or with a unit of `s m h d w`. Negative: at most so old."""
    age_stamp: Literal["atime", "ctime", "mtime"] = "mtime"
    """Which of its times tells its age."""
    size: Text | None = None
    """Only files that are at least so large: bytes, or with a unit of `b k m g t`. Negative: at most so large."""
    mode: Mode | None = None
    """Only what has this mode."""
    exact_mode: Flag = True
    """The mode must be exactly so; otherwise at least those bits must be set."""
    get_checksum: Flag = False
    """Compute the checksum of each file."""
    checksum_algorithm: Algorithm = Field(
        "sha1", validation_alias=AliasChoices("checksum_algorithm", "checksum", "checksum_algo")
    )
    """How the checksum is computed."""
    limit: int | None = None
    """Stop when so many have been found."""


def _quantity(text: str | None, units: dict[str, int], name: str) -> int | None:
    if text is None:
        return None
    match = re.fullmatch(r"(-?\d+)([a-z]?)", text.strip().lower())
    if not match or (match[2] and match[2] not in units):
        raise StepFailed(f'{name} is "{text}": write a number and one of {" ".join(units)}', data={"changed": False})
    return int(match[1]) * units.get(match[2], 1)


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Ask once."""
    yield from ()
    found = context.read(
        "find.find",
        paths=args.paths,
        recurse=args.recurse,
        depth=args.depth,
        follow=args.follow,
        limit=args.limit,
        digest=args.checksum_algorithm if args.get_checksum else None,
        kind=args.file_type,
        patterns=args.patterns,
        excludes=args.excludes,
        regex=args.use_regex,
        hidden=args.hidden,
        contains=args.contains,
        whole=args.read_whole_file,
        encoding=args.encoding,
        age=_quantity(args.age, _UNITS, "age"),
        stamp=args.age_stamp,
        size=_quantity(args.size, _SIZES, "size"),
        mode=args.mode,
        exact_mode=args.exact_mode,
    )
    reached = args.limit is not None and found["matched"] >= args.limit
    said = "Limit of matches reached" if reached else "All paths examined"
    if found["skipped"]:
        said = "Not all paths examined, check warnings for details"
        for path, why in found["skipped"].items():
            context.warn(f"{path} was skipped: {why}")
    names = ("files", "matched", "examined")
    data = {name: found[name] for name in names}
    return Outcome({**data, "skipped_paths": found["skipped"], "msg": said}, changed=False)


STEP = StepType(
    name="find",
    arguments=Arguments,
    behave=behave,
    summary="Find files, folders or links below some folders by name, age, size, mode or content.",
    example="""\
- name: Old logs
  find:
    paths: "{{ workdir }}"
    patterns: "*.log"
    recurse: true
    age: 2d
  register: old
""",
    returns={
        "files": "what was found: for each its `path`, and the fields of stat; `checksum` if asked for",
        "matched": "how many were found",
        "examined": "how many were looked at",
        "skipped_paths": "folders that could not be looked at, with the reason",
        "msg": "whether all could be looked at",
    },
    only_reads=True,
)
