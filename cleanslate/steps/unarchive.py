"""The step type unarchive: unpack a tar or zip archive on the target."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from cleanslate.errors import CallFailed, StepFailed
from cleanslate.model import Answer, Diff
from cleanslate.steps import _sources
from cleanslate.steps._attributes import FILE_RETURNS, FileAttributes, file_fields
from cleanslate.steps.contract import (
    Behaviour,
    Change,
    Field,
    Flag,
    Outcome,
    PathText,
    StepContext,
    StepType,
    Text,
    Words,
)

_COMPARED = 16 << 20
"""A larger archive of the controller is sent once, and compared where it arrives."""
_IDLE_OPTIONS = ("--no-same-owner", "--no-same-permissions", "--overwrite", "-v", "--verbose", "-o", "-q")


class Arguments(FileAttributes):
    """The archive, where to unpack it, and what of it."""

    src: Text
    """The archive: on the controller, or with remote_src on the target, or then an address to download it from."""
    dest: PathText
    """The folder on the target to unpack it in; it must exist."""
    remote_src: Flag = False
    """src is on the target, or an address."""
    creates: PathText | None = None
    """A path or pattern on the target: if something matches, nothing is done."""
    list_files: Flag = False
    """Give the names of what is in the archive."""
    include: Words = Field(default_factory=list)
    """Unpack only these names or patterns."""
    exclude: Words = Field(default_factory=list)
    """Leave out these names or patterns."""
    keep_newer: Flag = False
    """Keep files that are newer than those in the archive."""
    extra_opts: Words = Field(default_factory=list)
    """Of tar's and unzip's options only `--strip-components=N`; those that make no difference here are taken."""
    decrypt: Flag = True
    """Decrypt an archive of the controller that is kept encrypted with a vault."""
    io_buffer_size: int = 65536
    """Has no effect."""
    validate_certs: Flag = True
    """Refuse an HTTPS server whose certificate is not valid."""

    copy_: Flag | None = Field(None, validation_alias="copy")
    """The opposite of remote_src, as it was called before."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Compare the archive with what is there; unpack what differs."""
    if args.creates is not None and context.read("find.matching", patterns=[args.creates])["matched"][args.creates]:
        return Outcome({"msg": f"skipped, since {args.creates} exists"}, changed=False, skipped=True)
    on_target = args.remote_src or args.copy_ is False
    options: dict[str, Any] = {
        "path": args.dest,
        "include": args.include,
        "exclude": args.exclude,
        "strip": _strip(args.extra_opts),
        "keep_newer": args.keep_newer,
        "same_owner": "--no-same-owner" not in args.extra_opts and "-o" not in args.extra_opts,
        "wanted": args.wanted(),
    }
    blob = None if on_target else _blob(args, context)
    if on_target:
        options |= {"source": args.src, "validate_certs": args.validate_certs}
    small = blob if isinstance(blob, bytes) or blob is None else blob.read_bytes() if _small(blob) else None
    if small is None and blob is not None:
        return (yield from _unpack(args, options, blob, None))
    found = context.read("archives.survey", blob=small, **options)
    if not found["folder"]:
        raise StepFailed(f"there is no folder {found['path']}", fix="make it with a file step", data=_missing(found))
    if not found["count"]:
        state = context.read("files.survey", path=args.dest)
        return _outcome(args, found, state, changed=False)
    return (yield from _unpack(args, options, small, found))


def _missing(found: Answer) -> dict[str, Any]:
    return {"changed": False, "kind": "missing", "dest": found["path"]}


def _small(path: Path) -> bool:
    return path.stat().st_size <= _COMPARED


def _blob(args: Arguments, context: StepContext) -> bytes | Path:
    if args.src.startswith(("http://", "https://", "ftp://")):
        raise StepFailed("an address is read on the target", fix="say remote_src: true", data={"changed": False})
    source = context.find_file(args.src, "files")
    if source.is_dir():
        raise StepFailed(f"{source} is a folder, not an archive", data={"changed": False})
    return _sources.content(source, context) if args.decrypt and _sources.is_vault(source) else source


def _strip(options: list[str]) -> int:
    """How many leading folders to drop; any other option that would matter is refused."""
    strip, waiting = 0, False
    for word in [part for option in options for part in option.split()]:
        match = re.fullmatch(r"--strip(?:-components)?(?:=(\d+))?", word)
        if waiting and word.isdigit():
            strip, waiting = int(word), False
        elif match:
            strip, waiting = int(match[1] or 0), match[1] is None
        elif word not in _IDLE_OPTIONS:
            what = f'the option "{word}" of tar or unzip is not known here'
            raise StepFailed(what, fix="use include, exclude, or a command", data={"changed": False})
    return strip


def _unpack(args: Arguments, options: dict[str, Any], blob: bytes | Path | None, found: Answer | None) -> Behaviour:
    diffs, predicted = [], None
    if found is not None:
        names, more = found["differing"], found["count"] - len(found["differing"])
        listed = "".join(f"{name}\n" for name in names) + (f"and {more} more\n" if more else "")
        diffs = [Diff(f"what differs below {found['path']}", "", listed)]
        predicted = {**found.values, "state": "directory", "changed": True}
    try:
        answer = yield Change(
            f"unpack {args.src} in {args.dest}",
            "archives.unpack",
            options,
            predicted=predicted,
            diffs=diffs,
            blob=blob,
            alters=found is not None,
        )
    except CallFailed as error:
        raise StepFailed(error.what, data={"changed": False, **error.details}) from error
    return _outcome(args, answer, answer, changed=answer["changed"])


def _outcome(args: Arguments, found: Answer, state: Answer, *, changed: bool) -> Outcome:
    data = {"dest": found["path"], "src": args.src, "handler": found["handler"], **file_fields(state.values)}
    if args.list_files:
        data["files"] = found["names"]
    return Outcome(data, changed=changed)


STEP = StepType(
    name="unarchive",
    arguments=Arguments,
    behave=behave,
    summary="Unpack a tar or zip archive on the target, as far as what is there differs.",
    example="""\
- name: A folder to unpack in
  file:
    path: "{{ workdir }}/unpacked"
    state: directory
- name: Unpack
  unarchive:
    src: release.tar.gz
    dest: "{{ workdir }}/unpacked"
    extra_opts: [--strip-components=1]
""",
    returns={
        "dest": "the folder",
        "src": "the archive",
        "handler": "the kind of archive: TgzArchive, TarArchive, ZipArchive, ...",
        "files": "the names in the archive, with list_files",
        **FILE_RETURNS,
    },
    notes=(
        "Files are compared by content, kind, mode and owner, so a second time changes nothing; what is there but not "
        "in the archive stays. A member that would be written outside the folder is refused. An archive of the "
        "controller larger than 16 MiB is sent before it is compared, so check mode cannot foretell it."
    ),
)
