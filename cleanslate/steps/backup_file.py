"""backup_file: keep a copy of a file beside it, to come back to by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cleanslate.errors import StepFailed
from cleanslate.steps.contract import (
    Behaviour,
    Change,
    Field,
    Outcome,
    PathText,
    StepArguments,
    StepContext,
    StepType,
    Text,
    field_validator,
)

RESERVED = ("last", "first")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")


class Arguments(StepArguments):
    """What `backup_file:` takes."""

    path: PathText
    """The file."""
    name: Text | None = None
    """A name to restore it by (`before-eagle3`). Backups with a name are never removed by themselves."""
    keep: int = Field(default=5, ge=1)
    """How many backups without a name are kept."""

    @field_validator("name")
    @classmethod
    def _is_a_word(cls, name: str | None) -> str | None:
        if name is not None and (not _NAME.fullmatch(name) or name in RESERVED):
            raise ValueError("a backup's name is a letter with letters, digits, - and _, and neither last nor first")
        return name


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Make a copy, unless the newest one holds the same already."""
    now = context.read("backups.look", path=args.path, label=args.name)
    if now["digest"] is None:
        what = "is a link that leads nowhere" if now["exists"] else "does not exist"
        raise StepFailed(f"{now['path']} {what}, so it cannot be backed up")
    newest = now["newest"]
    data: dict[str, Any] = {"path": now["path"], "digest": now["digest"]}
    if newest and newest["same"]:
        return Outcome({**data, "backup": newest["path"], "removed": [], "msg": f"{newest['path']} holds the same"})
    answer = yield Change(
        summary=f"copy {now['path']} beside itself",
        call="backups.make",
        arguments={"path": args.path, "label": args.name, "most": args.keep},
        predicted={"backup": None, "removed": []},
    )
    return Outcome({**data, "backup": answer["backup"], "removed": answer["removed"]})


def _check(literal: Mapping[str, Any]) -> Sequence[tuple[str, str, str | None]]:
    name = literal.get("name")
    if isinstance(name, str) and "{{" not in name and (not _NAME.fullmatch(name) or name in RESERVED):
        return [
            ("name", f'"{name}" cannot name a backup', "a letter, then letters, digits, - and _; not last or first")
        ]
    return []


STEP = StepType(
    name="backup_file",
    arguments=Arguments,
    behave=behave,
    summary="Keeps a copy of a file beside it, to be restored by name.",
    example="""\
- name: A file
  copy: {dest: "{{ workdir }}/server.yml", content: "port: 30000\\n", force: false}
- name: Keep it as it is before the experiment
  backup_file: {path: "{{ workdir }}/server.yml", name: before-experiment}
""",
    notes="""\
The copy is NAME.<time>[.<name>].bak in the same folder, with mode, owner and times. When the newest backup (with
that name) holds the same content, nothing is done. Of backups without a name, which patch_config makes too, the
newest `keep` are kept.
""",
    returns={
        "backup": "the backup's path (null in check mode, where it would be new)",
        "removed": "older backups that were removed",
        "digest": "the file's SHA-256",
    },
    ansible_name=None,
    check=_check,
)
