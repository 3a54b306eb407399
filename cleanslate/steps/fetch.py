"""The step type fetch: a file of the target is copied to the controller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cleanslate.errors import StepFailed
from cleanslate.model import Answer
from cleanslate.steps import _sources
from cleanslate.steps._text import SHOWN, content_diff
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
    """Which file, and where to."""

    src: PathText
    """The file on the target."""
    dest: Text
    """A folder of the controller, in which the file is put below the host's name and the path that it has there; a
    relative one is beside the playbook. With flat: the file itself, or (with a slash at its end) its folder."""
    flat: Flag = False
    """Put it right at dest, without host and path."""
    fail_on_missing: Flag = True
    """Fail where there is no such file."""
    validate_checksum: Flag = True
    """Compare the checksum of what has come."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Compare by checksum, then bring what differs."""
    found = context.read("files.survey", path=args.src, follow=True, digest=True)
    path = found["path"]
    if found["kind"] != "file":
        return _nothing(args, found)
    dest = _dest(args, context, path)
    if dest.is_dir():
        raise StepFailed(f"{dest} is a folder here", fix="end dest with a slash", data={"changed": False})
    before = _sources.digest(dest) if dest.exists() else None
    data: dict[str, Any] = {"dest": str(dest), "checksum": found["digest"], "md5sum": None}
    if before == found["digest"]:
        return Outcome({**data, "file": path, "md5sum": _sources.md5(dest)}, changed=False)
    answer = yield Change(
        f"fetch {path} to {dest}",
        "files.read",
        {"path": path, "digest": False},
        predicted={"path": None},
        diffs=[_diff(context, found, dest)],
        save=dest,
    )
    return Outcome(data if answer["path"] is None else {**data, **_verified(args, found, dest)})


def _nothing(args: Arguments, found: Answer) -> Outcome:
    what = f"there is no file {found['path']}" if not found["exists"] else f"{found['path']} is a {found['kind']}"
    data = {"file": found["path"], "changed": False}
    if args.fail_on_missing:
        raise StepFailed(what, data=data)
    return Outcome({**data, "msg": f"{what}: nothing was fetched"}, changed=False)


def _dest(args: Arguments, context: StepContext, path: str) -> Path:
    name = args.dest
    if args.flat:
        name = name + Path(path).name if name.endswith("/") else name
    else:
        name = f"{name.rstrip('/')}/{context.host}/{path.lstrip('/')}"
    base = Path(str(context.variables.get("playbook_dir", ".")))
    return (base / Path(name).expanduser()).absolute()


def _diff(context: StepContext, found: Answer, dest: Path) -> Any:
    size = found["size"]
    after = context.read("files.read", path=found["path"], digest=False).blob if size <= SHOWN else None
    before = dest.read_bytes() if dest.exists() and dest.stat().st_size <= SHOWN else None
    before_size = dest.stat().st_size if dest.exists() and before is None else None
    return content_diff(str(dest), before, after, size=before_size, after_size=size if after is None else None)


def _verified(args: Arguments, found: Answer, dest: Path) -> dict[str, Any]:
    has = _sources.digest(dest)
    if args.validate_checksum and has != found["digest"]:
        what = f"{dest} is not what was on the target: {found['path']} changed meanwhile, or the disk here is failing"
        raise StepFailed(what, data={"checksum": has, "remote_checksum": found["digest"]})
    return {"checksum": has, "remote_checksum": found["digest"], "md5sum": _sources.md5(dest), "remote_md5sum": None}


STEP = StepType(
    name="fetch",
    arguments=Arguments,
    behave=behave,
    summary="Copy a file of the target to the controller, where it differs from what is there.",
    example="""\
- name: A log to fetch
  copy:
    dest: "{{ workdir }}/server.log"
    content: "ready\\n"
- name: Fetch it
  fetch:
    src: "{{ workdir }}/server.log"
    dest: "{{ workdir }}/fetched/"
    flat: true
""",
    returns={
        "dest": "the file on the controller",
        "file": "the file on the target, when nothing was fetched",
        "checksum": "SHA-1 of the file",
        "remote_checksum": "SHA-1 of the file on the target",
        "md5sum": "MD5 of the file",
    },
    only_reads=True,
)
