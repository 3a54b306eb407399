"""The step type file: make folders and links, touch, remove, and set modes and owners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from cleanslate.errors import StepFailed
from cleanslate.model import Answer, Diff
from cleanslate.steps import _times
from cleanslate.steps._attributes import FILE_RETURNS, FileAttributes, attribute_diff, file_fields
from cleanslate.steps.contract import (
    AliasChoices,
    Behaviour,
    Change,
    Field,
    Flag,
    Outcome,
    PathText,
    StepContext,
    StepType,
    Text,
)


class Arguments(FileAttributes):
    """What shall be at a path."""

    path: PathText = Field(validation_alias=AliasChoices("path", "dest", "name"))
    """The path on the target."""
    state: Literal["absent", "directory", "file", "hard", "link", "touch"] | None = None
    """What shall be there. `directory` makes missing folders above it too; `absent` removes a folder with all that
    is in it; `file` only sets attributes; `touch` makes an empty file and sets its times; not given: as it is."""
    src: PathText | None = None
    """Where a `link` or `hard` link leads; a relative path is relative to the link's folder."""
    recurse: Flag = False
    """Set the attributes on everything below a `directory` too."""
    force: Flag = False
    """Make a link although it leads to nothing, or although a file or an empty folder is in its place."""
    follow: Flag = True
    """Set attributes on what a link leads to, not on the link."""
    modification_time: Text | None = None
    """`preserve`, `now`, or a time in modification_time_format; `now` for `touch` when not given."""
    modification_time_format: Text = "%Y%m%d%H%M.%S"
    """The format of modification_time, as strptime takes it."""
    access_time: Text | None = None
    """`preserve`, `now`, or a time in access_time_format; `now` for `touch` when not given."""
    access_time_format: Text = "%Y%m%d%H%M.%S"
    """The format of access_time, as strptime takes it."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Look at the path once, then make what differs."""
    if args.state in ("link", "hard"):
        return (yield from _link(args, context))
    if args.recurse and args.state not in (None, "directory"):
        raise StepFailed("recurse is only for state: directory", data={"path": args.path})
    follow = args.follow and args.state in ("directory", "file", "touch")
    found = context.read(
        "files.survey",
        path=args.path,
        follow=follow,
        through=args.follow,
        wanted=args.wanted(),
        directory=args.state == "directory",
    )
    state = args.state or ("directory" if args.recurse else found["kind"] or "file")
    done: dict[str, Callable[[Arguments, StepContext, Answer], Behaviour]] = {
        "absent": _absent,
        "directory": _directory,
        "touch": _touch,
        "link": _link_attributes,
    }
    return (yield from done.get(state, _file)(args, context, found))


def _absent(args: Arguments, context: StepContext, found: Answer) -> Behaviour:
    path = found["path"]
    if found["exists"]:
        diff = Diff(path, f"state: {found['state']}\n", "state: absent\n")
        yield Change(f"remove {path}", "files.remove", {"path": path}, predicted={}, diffs=[diff])
    return Outcome({"path": path, "state": "absent"})


def _directory(args: Arguments, context: StepContext, found: Answer) -> Behaviour:
    path, wanted = found["path"], args.wanted()
    if found["exists"] and found["kind"] != "directory":
        raise _refused(
            found, f"{path} is a {found['kind']}, not a folder", "remove it first if a folder is wanted there"
        )
    if not found["exists"]:
        if found["parent"] in ("other", "denied"):
            raise _refused(found, f"{path} cannot be made: what is above it is no folder that may be written to")
        diff = Diff(path, "state: absent\n", "state: directory\n")
        answer = yield Change(
            f"make the folder {path}",
            "files.make_directory",
            {"path": path, **wanted},
            predicted={**found["after"], "state": "directory"},
            diffs=[diff],
        )
        return _outcome(path, answer)
    below = None
    if args.recurse and wanted:
        below = context.read("files.differing_below", path=path, follow=args.follow, **wanted)
    return (yield from _attributes(args, found, below=below))


def _file(args: Arguments, context: StepContext, found: Answer) -> Behaviour:
    path = found["path"]
    if not found["exists"]:
        fix = "state: touch makes an empty file, state: directory a folder"
        raise StepFailed(
            f"there is nothing at {path}", fix=fix, data={"path": path, "state": "absent", "changed": False}
        )
    if args.state == "file" and found["kind"] == "directory":
        raise _refused(found, f"{path} is a folder, not a file")
    return (yield from _attributes(args, found))


def _attributes(args: Arguments, found: Answer, *, below: Answer | None = None) -> Behaviour:
    """Set attributes on what is there (and on what is below it)."""
    path, recursive = found["path"], below is not None and below["count"] > 0
    if not found["changes"] and not recursive:
        return _outcome(path, found)
    diffs = [attribute_diff(path, found["changes"])] if found["changes"] else []
    if below is not None and recursive:
        names = "".join(f"{name}\n" for name in below["some"])
        more = f"and {below['count'] - len(below['some'])} more\n" if below["count"] > len(below["some"]) else ""
        diffs.append(Diff(f"attributes below {path}", "", names + more))
    answer = yield Change(
        f"set attributes of {path}",
        "files.set_attributes",
        {"path": path, "follow": args.follow, "recurse": recursive, **args.wanted()},
        predicted={**found.values, **found["after"]},
        diffs=diffs,
    )
    return _outcome(path, answer)


def _touch(args: Arguments, context: StepContext, found: Answer) -> Behaviour:
    path = found["path"]
    mtime = _times.wish(args.modification_time, args.modification_time_format, new=not found["exists"])
    atime = _times.wish(args.access_time, args.access_time_format, new=not found["exists"])
    if not found["exists"] and found["parent"] != "directory":
        raise _refused(found, f"{path} cannot be made: its folder is missing or may not be written to")
    times = {"mtime": found.get("mtime"), "atime": found.get("atime")}
    stays = _times.stays(mtime, times["mtime"]) and _times.stays(atime, times["atime"])
    if found["exists"] and stays and not found["changes"]:
        return _outcome(path, found, dest=path)
    before = "absent" if not found["exists"] else "file"
    diff = attribute_diff(path, {"state": [before, "touch"], **found["changes"]})
    after = {"state": found["state"] if found["exists"] else "file", "size": found.get("size", 0)}
    answer = yield Change(
        f"touch {path}",
        "files.touch",
        {"path": path, "follow": args.follow, "atime": atime, "mtime": mtime, **args.wanted()},
        predicted={**found.values, **found["after"], **after},
        diffs=[diff],
    )
    return _outcome(path, answer, dest=path)


def _link_attributes(args: Arguments, context: StepContext, found: Answer) -> Behaviour:
    """No state was asked for and a link is there: set attributes on what it leads to."""
    path = found["path"]
    extra = {"dest": path, "src": found["target"] if args.follow else None}
    if not found["changes"]:
        return _outcome(path, found, **extra)
    answer = yield Change(
        f"set attributes of {path}",
        "links.settle_attributes",
        {"path": path, "follow": args.follow, **args.wanted()},
        predicted=found.values,
        diffs=[attribute_diff(path, found["changes"])],
    )
    return _outcome(path, answer, **extra)


def _link(args: Arguments, context: StepContext) -> Behaviour:
    hard = args.state == "hard"
    if args.src is None:
        return (yield from _link_without_source(args, context))
    found = context.read(
        "links.survey", path=args.path, target=args.src, hard=hard, follow=args.follow, wanted=args.wanted()
    )
    path, target = found["path"], found["target"]
    extra = {"dest": path, "src": args.src}
    _refuse_link(args, found, hard)
    if found["same"]:
        if not found["changes"]:
            return _outcome(path, found, **extra)
        change, predicted = "links.settle_attributes", found.values
        arguments: dict[str, Any] = {"path": path, "follow": args.follow, **args.wanted()}
        diff = attribute_diff(path, found["changes"])
    else:
        change, predicted = "links.make", {"state": args.state}
        arguments = {"path": path, "target": target, "hard": hard, "follow": args.follow, **args.wanted()}
        before = found["leads_to"] or ("absent" if not found["exists"] else f"(a {found['kind']})")
        diff = attribute_diff(path, {"leads to": [before, target], **found["changes"]})
    answer = yield Change(
        f"{'hard ' if hard else ''}link {path} to {target}", change, arguments, predicted=predicted, diffs=[diff]
    )
    return _outcome(path, answer, **extra)


def _link_without_source(args: Arguments, context: StepContext) -> Behaviour:
    found = context.read("files.survey", path=args.path, through=args.follow, wanted=args.wanted())
    if found["kind"] != "link" and not (args.state == "hard" and found.get("state") == "hard"):
        raise StepFailed("a new link needs src", fix="say where it leads with src", data={"changed": False})
    return (yield from _link_attributes(args, context, found))


def _refuse_link(args: Arguments, found: Answer, hard: bool) -> None:
    path = found["path"]
    if not found["source"] and (hard or not args.force):
        fix = None if hard else "force: true makes a link that leads to nothing"
        raise _refused(found, f"there is no {found['source_path']} for {path} to lead to", fix)
    if found["parent"] == "missing":
        raise _refused(found, f"{path} cannot be made: its folder is missing")
    if found["same"] or not found["exists"] or (found["kind"] == "link" and not hard):
        return
    if found["kind"] == "directory" and not found["empty"]:
        raise _refused(found, f"{path} is a folder with something in it, so no link is put there")
    if not args.force:
        raise _refused(found, f"{path} is a {found['kind']}, not this link", "force: true puts the link in its place")


def _refused(found: Answer, what: str, fix: str | None = None) -> StepFailed:
    return StepFailed(what, fix=fix, data={"changed": False, "path": found["path"], **file_fields(found.values)})


def _outcome(path: str, answer: Answer, **extra: Any) -> Outcome:
    return Outcome({"path": path, **extra, **file_fields(answer.values)})


STEP = StepType(
    name="file",
    arguments=Arguments,
    behave=behave,
    summary="Make folders and links, touch and remove files, and set modes and owners.",
    example="""\
- name: A folder for logs
  file:
    path: "{{ workdir }}/logs"
    state: directory
    mode: "0750"
- name: A name that always leads to the current one
  file:
    src: logs
    path: "{{ workdir }}/current"
    state: link
- name: No old state
  file:
    path: "{{ workdir }}/state.old"
    state: absent
""",
    returns={
        "path": "the path, with `~` and links resolved where they were followed",
        "dest": "the same, for links and `touch`",
        "src": "where the link leads",
        **FILE_RETURNS,
    },
    notes="Touching with the current time changes the file each time; give fixed times or `preserve` to avoid that.",
)
