"""The step type copy: put a file, a folder or a text on the target."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from cleanslate.errors import StepFailed
from cleanslate.model import Answer, Diff
from cleanslate.steps import _put, _put_folder, _sources
from cleanslate.steps._attributes import FILE_RETURNS, FileAttributes, attribute_diff, file_fields
from cleanslate.steps._text import SHOWN, content_diff
from cleanslate.steps.contract import (
    Behaviour,
    Change,
    Field,
    Flag,
    Mode,
    Outcome,
    PathText,
    StepContext,
    StepType,
    Text,
    field_validator,
)


class Arguments(FileAttributes):
    """What is copied, and where to."""

    src: PathText | None = None
    """A file or folder of the controller (or of the target, with remote_src). A folder that ends with a slash stands
    for what is in it."""
    content: Text | None = None
    """The text itself, instead of src. A mapping or list is written as JSON."""
    dest: PathText
    """Where it goes on the target. When it is a folder, or ends with a slash, the file is put in it."""
    backup: Flag = False
    """Keep what was there, beside it, under a name with the time."""
    force: Flag = True
    """Replace what is there and differs; otherwise only put what is not there at all."""
    remote_src: Flag = False
    """Take src from the target itself."""
    follow: Flag = False
    """Where dest is a link, write what it leads to instead of putting a file in its place."""
    local_follow: Flag = True
    """Copy what links in a source folder lead to, not the links."""
    directory_mode: Mode | None = None
    """The mode of folders that are made on the way."""
    validate_: Text | None = Field(None, validation_alias="validate")
    """A command that says whether the new file is right, with %s for its path, before it is put in place."""
    checksum: Text | None = None
    """The SHA-1 that the source must have."""
    decrypt: Flag = True
    """Decrypt a source that is kept encrypted with a vault."""

    @field_validator("content", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return json.dumps(value) if isinstance(value, dict | list) else value


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Find the source and hand it to whoever puts such a thing."""
    if args.remote_src and args.src is not None:
        return (yield from _on_target(args, context))
    if args.content is not None:
        return (yield from _one(args, context, _put.Content(args.content.encode("utf-8", "surrogateescape"))))
    if args.src is None:
        raise StepFailed("there is nothing to copy", fix="give src or content")
    source = context.find_file(args.src, "files")
    if source.is_dir():
        return (yield from _folder(args, context, source))
    vault = args.decrypt and _sources.is_vault(source)
    data = _sources.content(source, context) if vault else source
    return (yield from _one(args, context, _put.Content(data, source.name), source))


def _place(args: Arguments, **wanted: Any) -> _put.Place:
    return _put.Place(
        args.dest,
        args.wanted(**wanted),
        follow=args.follow,
        force=args.force,
        backup=args.backup,
        validate=args.validate_,
        unsafe=args.unsafe_writes,
        directory_mode=args.directory_mode,
    )


def _one(args: Arguments, context: StepContext, content: _put.Content, source: Path | None = None) -> Behaviour:
    if args.checksum is not None and args.checksum.lower() != content.sha1():
        data = {"checksum": content.sha1(), "expected_checksum": args.checksum, "changed": False}
        raise StepFailed("the source does not have the checksum that it must have", data=data)
    wanted = {}
    if args.mode == "preserve":
        wanted["mode"] = _sources.mode(source) if source is not None else None
    extra = {"src": str(source)} if source is not None else {}
    return (yield from _put.put(context, content, _place(args, **wanted), **extra))


def _folder(args: Arguments, context: StepContext, source: Path) -> Behaviour:
    base = args.dest if (args.src or "").endswith("/") else f"{args.dest.rstrip('/')}/"
    name = "" if (args.src or "").endswith("/") else source.name
    entries = _put_folder.entries_of(
        source, context, follow=args.local_follow, decrypt=args.decrypt, preserve=args.mode == "preserve"
    )
    if name:
        top = {"path": name, "kind": "directory", "mode": None}
        entries = [top, *({**entry, "path": f"{name}/{entry['path']}"} for entry in entries)]
    wanted = {"mode": None} if args.mode == "preserve" else {}
    place = replace(_place(args, **wanted), dest=base)
    return (yield from _put_folder.put_folder(context, entries, place, args.src or str(source)))


def _on_target(args: Arguments, context: StepContext) -> Behaviour:
    found = context.read(
        "copies.survey",
        source=args.src,
        path=args.dest,
        follow=args.follow,
        local_follow=args.local_follow,
        content=SHOWN,
        wanted=args.wanted(),
    )
    source, path = found["source"], found["path"]
    if not source["exists"]:
        raise StepFailed(f"there is no {source['path']} on the target", data={"changed": False})
    data: dict[str, Any] = {"src": args.src, "dest": path, "checksum": source["digest"], "md5sum": source["md5"]}
    if found["exists"] and not args.force:
        return Outcome({"dest": path, "src": args.src})
    if source["kind"] == "directory":
        return (yield from _folder_on_target(args, found, data))
    if found["kind"] == "directory":
        raise StepFailed(f"{path} is a folder, so no file can be put there", data={"changed": False})
    if found["digest"] == source["digest"] and found["kind"] == "file":
        return (yield from _attributes_on_target(args, found, data))
    before = found.blob if found["exists"] and found["cut"] is None else None
    shown = content_diff(path, before, None, size=found["cut"]).before
    after = f"(what is in {source['path']}, SHA-1 {source['digest']})\n"
    answer = yield Change(
        f"copy {source['path']} to {path}",
        "files.write",
        {
            "path": path,
            "source": source["path"],
            "backup": args.backup,
            "validate": args.validate_,
            "unsafe": args.unsafe_writes,
            "make_parents": args.dest.endswith("/"),
            "directory_mode": args.directory_mode,
            **args.wanted(),
        },
        predicted={**found["after"], "state": "file"},
        diffs=[Diff(path, shown, after)],
    )
    kept = {"backup_file": answer["backup_file"]} if answer.get("backup_file") else {}
    return Outcome({**data, **file_fields(answer.values), **kept})


def _attributes_on_target(args: Arguments, found: Answer, data: dict[str, Any]) -> Behaviour:
    if not found["changes"]:
        return Outcome({**data, **file_fields(found.values)})
    mode = found["changes"]["mode"][1] if "mode" in found["changes"] else None
    answer = yield Change(
        f"set attributes of {found['path']}",
        "files.set_attributes",
        {"path": found["path"], **args.wanted(mode=mode)},
        predicted={**found.values, **found["after"]},
        diffs=[attribute_diff(found["path"], found["changes"])],
    )
    return Outcome({**data, **file_fields(answer.values)})


def _folder_on_target(args: Arguments, found: Answer, data: dict[str, Any]) -> Behaviour:
    if not found["count"]:
        return Outcome({**data, **file_fields(found.values)})
    path, names = found["path"], found["differing"]
    more = f"and {found['count'] - len(names)} more\n" if found["count"] > len(names) else ""
    answer = yield Change(
        f"copy the folder {found['source']['path']} to {path}",
        "copies.copy_folder",
        {
            "source": found["source"]["path"],
            "path": args.dest,
            "local_follow": args.local_follow,
            "directory_mode": args.directory_mode,
            **args.wanted(),
        },
        predicted={**found["after"], "state": "directory"},
        diffs=[Diff(f"what differs below {path}", "", "".join(f"{name}\n" for name in names) + more)],
    )
    return Outcome({**data, "dest": path, **file_fields(answer.values)})


STEP = StepType(
    name="copy",
    arguments=Arguments,
    behave=behave,
    summary="Put a file, a folder or a text on the target, where it differs from what is there.",
    example="""\
- name: A text of its own
  copy:
    dest: "{{ workdir }}/motd"
    content: "GPU node: ask before you reboot\\n"
    mode: "0644"
- name: Settings as JSON
  copy:
    dest: "{{ workdir }}/settings.json"
    content: {ports: [30000, 30001]}
""",
    returns={
        "dest": "where it was put",
        "src": "where it came from",
        "checksum": "SHA-1 of the content",
        "md5sum": "MD5 of the content, when it was written",
        "backup_file": "the copy of what was there before",
        **FILE_RETURNS,
    },
    notes=(
        "One round trip compares, a second one writes. Files are replaced as a whole, with the mode and owner "
        "that they had unless others are asked for; new files get the target's default mode. A relative src is looked "
        "for in the `files` folders of the role and the playbook, then beside them."
    ),
    exclusive=(("src", "content"),),
    any_of=(("src", "content"),),
)
