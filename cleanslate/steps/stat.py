"""The step type stat: everything about one path."""

from __future__ import annotations

from typing import Literal

from cleanslate.steps.contract import (
    AliasChoices,
    Behaviour,
    Field,
    Flag,
    Outcome,
    PathText,
    StepArguments,
    StepContext,
    StepType,
)

Algorithm = Literal["md5", "sha1", "sha224", "sha256", "sha384", "sha512"]


class Arguments(StepArguments):
    """Which path, and what to find out."""

    path: PathText = Field(validation_alias=AliasChoices("path", "dest", "name"))
    """The path on the target."""
    follow: Flag = False
    """Tell about what a link leads to, not about the link."""
    get_checksum: Flag = True
    """Compute the checksum of a file."""
    checksum_algorithm: Algorithm = Field(
        "sha1", validation_alias=AliasChoices("checksum_algorithm", "checksum", "checksum_algo")
    )
    """How the checksum is computed."""
    get_mime: Flag = Field(True, validation_alias=AliasChoices("get_mime", "mime", "mime_type", "mime-type"))
    """Tell the kind of content and its encoding."""
    get_attributes: Flag = Field(True, validation_alias=AliasChoices("get_attributes", "attr", "attributes"))
    """Tell the flags that chattr sets."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Ask once."""
    yield from ()
    found = context.read(
        "files.stat",
        path=args.path,
        follow=args.follow,
        digest=args.checksum_algorithm if args.get_checksum else None,
        mime=args.get_mime,
        flags=args.get_attributes,
    )
    return Outcome({"stat": dict(found.values)}, changed=False)


STEP = StepType(
    name="stat",
    arguments=Arguments,
    behave=behave,
    summary="Find out everything about a path: whether it exists, what it is, its mode, owner, size, times, checksum.",
    example="""\
- name: Is there a config?
  stat:
    path: "{{ workdir }}/config.json"
  register: config
- name: Tell
  stat:
    path: "{{ workdir }}"
  when: not config.stat.exists
""",
    returns={
        "stat": (
            "`exists`, and where something is there: `path mode isdir isreg islnk ischr isblk isfifo issock uid gid "
            "size inode dev nlink atime mtime ctime pw_name gr_name readable writeable executable checksum mimetype "
            "charset attributes attr_flags version lnk_source lnk_target` and the single permission bits (`rusr` ...)"
        )
    },
    only_reads=True,
)
