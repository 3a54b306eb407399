"""Edits a text file on the target: one call reads it, and where the edit changes something one call writes it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from cleanslate.errors import StepFailed
from cleanslate.model import Answer
from cleanslate.steps._attributes import FileAttributes, attribute_diff
from cleanslate.steps._text import content_diff
from cleanslate.steps.contract import AliasChoices, Change, Field, Flag, Outcome, PathText, StepContext, Text

_LARGEST = 256 << 20
_ATTRIBUTES = "ownership, perms or SE linux context changed"

# Takes the content (None: there is no file), gives the new content (None: leave it alone) and Ansible's msg.
Edit = Callable[[bytes | None], tuple[bytes | None, str]]


class EditArguments(FileAttributes):
    """A text file that is edited in place."""

    path: PathText = Field(validation_alias=AliasChoices("path", "dest", "destfile", "name"))
    """The file to edit; what a link leads to is edited, the link stays."""
    backup: Flag = False
    """Keep the old file, beside it, under a name with the time."""
    validate_: Text | None = Field(None, validation_alias="validate")
    """A command that says whether the new file is right, with %s for its path, before it is put in place."""


def edit(
    context: StepContext,
    args: EditArguments,
    change: Edit,
    *,
    create: bool = False,
    encoding: str = "utf-8",
    **extra: Any,
) -> Generator[Change, Answer, Outcome]:
    """Read, edit, write. `extra` are more result fields; msg is Ansible's for this kind of edit."""
    found = context.read(
        "files.survey", path=args.path, follow=True, digest=True, content=_LARGEST, wanted=args.wanted()
    )
    path = found["path"]
    if found["exists"] and found["kind"] != "file":
        raise StepFailed(f"{path} is a {found['kind']}, not a text file", data={"rc": 256, "changed": False})
    if found["cut"] is not None:
        raise StepFailed(f"{path} is too large to edit ({found['cut']} bytes)", data={"changed": False})
    before = found.blob if found["exists"] else None
    after, msg = change(before)
    if after is None and before is None:
        return Outcome({"msg": msg, **extra}, changed=False)
    said = " and ".join(part for part in (msg, _ATTRIBUTES if found["changes"] else "") if part)
    if after is None or after == before:
        return (yield from _attributes(found, args, {"msg": said, **extra}))
    diffs = [content_diff(path, before, after, encoding=encoding)]
    if found["changes"]:
        diffs.append(attribute_diff(path, found["changes"]))
    answer = yield Change(
        f"edit {path}",
        "files.write",
        {
            "path": path,
            "expect_digest": found["digest"] if found["exists"] else "absent",
            "backup": args.backup,
            "validate": args.validate_,
            "unsafe": args.unsafe_writes,
            "make_parents": create,
            **args.wanted(),
        },
        predicted={"backup_file": None},
        diffs=diffs,
        blob=after,
    )
    kept = {"backup_file": answer["backup_file"]} if answer["backup_file"] else {}
    return Outcome({"msg": said, **extra, **kept})


def _attributes(found: Answer, args: EditArguments, data: dict[str, Any]) -> Generator[Change, Answer, Outcome]:
    if found["changes"]:
        yield Change(
            f"set attributes of {found['path']}",
            "files.set_attributes",
            {"path": found["path"], **args.wanted()},
            predicted={},
            diffs=[attribute_diff(found["path"], found["changes"])],
        )
    return Outcome(data)


def missing(path: str, create: str | None = "create: true makes it") -> StepFailed:
    """The failure for a file that is not there."""
    return StepFailed(f"there is no file {path}", fix=create, data={"rc": 257, "changed": False, "kind": "missing"})


def pattern_error(name: str, pattern: str, error: Exception) -> StepFailed:
    """The failure for a regular expression that is none."""
    return StepFailed(f'{name} is not a regular expression: "{pattern}": {error}', data={"changed": False})
