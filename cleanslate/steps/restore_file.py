"""restore_file: put a backup of a file back in its place."""

from __future__ import annotations

from typing import Any

from cleanslate.errors import CallFailed, StepFailed
from cleanslate.model import Diff
from cleanslate.steps.contract import (
    Behaviour,
    Change,
    Flag,
    Outcome,
    PathText,
    StepArguments,
    StepContext,
    StepType,
    Text,
)


class Arguments(StepArguments):
    """What `restore_file:` takes."""

    path: PathText
    """The file."""
    name: Text = "last"
    """Which backup: `last`, `first`, the name that backup_file gave it, or (the start of) its time (`20261129T16`)."""
    follow: Flag = False
    """Where `path` is a link by now: write what it leads to, instead of replacing the link."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Put it back, unless the file is that already."""
    try:
        now = context.read("backups.look", path=args.path, name=args.name)
    except CallFailed as error:
        fix = "backup_file and patch_config make backups" if error.kind == "missing" else None
        raise StepFailed(error.what, fix=fix, data={"kind": error.kind, **error.details}) from None
    data: dict[str, Any] = {"path": now["path"], "restored": now["chosen"]["path"]}
    if now["same"]:
        return Outcome({**data, "msg": "the file is that already"})
    shown = now["before"] != now["after"] and now["after"] is not None
    yield Change(
        summary=f"put {now['chosen']['path']} back as {now['path']}",
        call="backups.restore",
        arguments={"path": args.path, "name": now["chosen"]["stamp"], "follow": args.follow},
        predicted={},
        diffs=[Diff(now["path"], now["before"], now["after"])] if shown else [],
    )
    return Outcome(data)


STEP = StepType(
    name="restore_file",
    arguments=Arguments,
    behave=behave,
    summary="Puts a backup of a file, made by backup_file or patch_config, back in its place.",
    example="""\
- name: A file with a backup that was changed since
  copy: {dest: "{{ workdir }}/served.yml", content: "port: 30000\\n", force: false}
- name: Keep it
  backup_file: {path: "{{ workdir }}/served.yml", name: good}
- name: Back to what was good
  restore_file: {path: "{{ workdir }}/served.yml", name: good}
""",
    notes="""\
The backup stays where it is, so the step can be run again; then it is ok and unchanged. The file comes back whole or
not at all, with the backup's mode and owner. Where patch_config had replaced a link into a Hugging Face cache by a
file, its backup is that link, and the link comes back. The present content is not backed up first: put a backup_file
before this step where it matters.
""",
    returns={"path": "the file", "restored": "the backup that it came from"},
    ansible_name=None,
)
