"""patch_files: change several files by diffs or exact replacements, all or none, and take it all back again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from cleanslate.dataclass import dataclass
from cleanslate.errors import CallFailed, StepFailed
from cleanslate.model import Answer, Diff
from cleanslate.steps._patches import Hunk, PatchRefused, Replacement, parse_diff, patched
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
    model_validator,
)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


class Replace(StepArguments):
    """One exact replacement."""

    path: PathText
    """The file; relative to `base`."""
    old: Text = Field(min_length=1)
    """The text that stands there, exactly, with its line ends and blanks."""
    new: Text
    """The text that is to stand there."""
    count: int = Field(default=1, ge=1)
    """How often it stands there. Another number of places is refused."""


class Arguments(StepArguments):
    """What `patch_files:` takes."""

    name: Text
    """The patch's name on the host, by which it is taken back."""
    state: Literal["present", "absent"] = "present"
    """`present`: the files are as patched. `absent`: they are as they were before."""
    base: PathText | None = None
    """The folder that relative paths start from, of diffs and replacements (an installed package's)."""
    diff: Text | None = None
    """A unified diff of one or several files, as `git diff` and `diff -u` write it."""
    diff_file: Text | None = None
    """The same in a file of the controller (in `files/`)."""
    replace: list[Replace] = Field(default_factory=list)
    """Exact replacements, made after the diff."""

    @field_validator("name")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError("a patch's name has letters, digits, dots and dashes only (80 at most)")
        return name

    @model_validator(mode="after")
    def _makes_sense(self) -> Arguments:
        given = self.diff is not None or self.diff_file is not None or bool(self.replace)
        if self.state == "present" and not given:
            raise ValueError("there is nothing to patch: give diff, diff_file or replace")
        return self


@dataclass
class _File:
    """A file of the patch as it is, was before the patch, and is to be; texts."""

    path: str
    digest: str
    now: str
    base: str
    new: str = ""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Work out the new texts here, and exchange all files in one call."""
    if args.state == "absent":
        return (yield from _take_back(args, context))
    hunks = _hunks(args, context)
    replacements: dict[str, list[Replacement]] = {}
    for each in args.replace:
        replacements.setdefault(each.path, []).append(Replacement(each.old, each.new, each.count))
    wanted = list(dict.fromkeys([*hunks, *replacements]))
    answer = _look(context, args, wanted)
    files = _patch(answer, hunks, replacements, context)
    dropped = [each for each in answer["files"] if each["given"] is None]
    data: dict[str, Any] = {"name": args.name, "files": [each.path for each in files], "kept": answer["folder"]}
    moved = [each for each in files if each.new != each.now]
    if answer["known"] and not moved and not dropped:
        return Outcome({**data, "msg": "every file is as patched already"})
    yield Change(
        summary=f"patch {', '.join(each.path for each in moved)}"
        if moved
        else f"keep {args.name} for these files alone",
        call="patches.apply",
        arguments={
            "name": args.name,
            "files": [
                {"path": each.path, "expect": each.digest, "size": len(each.new.encode("utf-8"))} for each in files
            ],
        },
        blob=b"".join(each.new.encode("utf-8") for each in files),
        predicted={},
        diffs=[Diff(each.path, each.now, each.new) for each in moved] + _dropped(answer),
    )
    return Outcome({**data, "msg": f"{len(files)} files are patched as {args.name}"})


def _hunks(args: Arguments, context: StepContext) -> dict[str, list[Hunk]]:
    text = args.diff
    if args.diff_file is not None:
        text = context.find_file(args.diff_file, "files").read_text("utf-8")
    if text is None:
        return {}
    try:
        return parse_diff(text)
    except PatchRefused as error:
        raise StepFailed(f"{args.diff_file or 'diff'}: {error}", fix="write it with git diff or diff -u") from None


def _look(context: StepContext, args: Arguments, paths: Sequence[str]) -> Answer:
    try:
        return context.read("patches.look", name=args.name, paths=list(paths), base=args.base)
    except CallFailed as error:
        fix = "give base, or absolute paths" if error.kind in ("wrong", "missing") else None
        raise StepFailed(error.what, fix=fix, data={"kind": error.kind, **error.details}) from None


def _texts(answer: Answer) -> list[tuple[Mapping[str, Any], bytes, bytes]]:
    """(file, its content, its original) of a look's answer."""
    found, at = [], 0
    for each in answer["files"]:
        middle, end = at + each["size"], at + each["size"] + each["original_size"]
        found.append((each, answer.blob[at:middle], answer.blob[middle:end]))
        at = end
    return found


def _patch(
    answer: Answer,
    hunks: Mapping[str, Sequence[Hunk]],
    replacements: Mapping[str, Sequence[Replacement]],
    context: StepContext,
) -> list[_File]:
    """Every file with its new text; StepFailed with all that does not fit, and nothing was changed."""
    wrong: list[str] = []
    files: dict[str, _File] = {}
    for each, content, original in _texts(answer):
        given = each["given"]
        if said := _obstacle(each):
            wrong.append(said)
        elif given is not None:
            try:
                base = (original if each.get("after") == each["digest"] else content).decode("utf-8")
                file = files.setdefault(
                    each["path"], _File(each["path"], each["digest"], content.decode("utf-8"), base)
                )
                file.new, notes = patched(file.new or file.base, hunks.get(given, ()), replacements.get(given, ()))
                for note in notes:
                    context.warn(f"{given}: {note}")
            except PatchRefused as error:
                wrong += [f"{given}: {text}" for text in error.found]
            except UnicodeDecodeError as error:
                wrong.append(f"{each['path']} is not UTF-8 text (byte {error.start})")
    if wrong:
        raise StepFailed(
            f"{'; '.join(wrong)}; nothing was changed",
            fix="the patch was made for another version of these files: make it anew",
            data={"refused": wrong},
        )
    return list(files.values())


def _obstacle(each: Mapping[str, Any]) -> str | None:
    if each["obstacle"]:
        return str(each["obstacle"])
    if each["owner"]:
        return f"{each['path']} is patched as {each['owner']} already: take that back first"
    if "after" in each and each["digest"] not in (each["after"], each["before"]):
        return f"{each['path']} was changed since it was patched"
    return None


def _dropped(answer: Answer) -> list[Diff]:
    """What goes back to what it was, as differences."""
    found = []
    for each, content, original in _texts(answer):
        if each["given"] is None and content != original:
            found.append(Diff(each["path"], content.decode("utf-8", "replace"), original.decode("utf-8", "replace")))
    return found


def _take_back(args: Arguments, context: StepContext) -> Behaviour:
    answer = _look(context, args, [])
    data: dict[str, Any] = {"name": args.name, "files": [each["path"] for each in answer["files"]]}
    if not answer["known"]:
        return Outcome({**data, "msg": f"nothing is patched as {args.name}"})
    wrong = [said for each in answer["files"] if (said := _obstacle({**each, "owner": None}))]
    if wrong:
        raise StepFailed(
            f"{'; '.join(wrong)}; nothing was changed",
            fix=f"the originals are in {answer['folder']}; remove that folder to forget the patch",
            data={"refused": wrong},
        )
    yield Change(
        summary=f"take {args.name} back: {', '.join(data['files'])}",
        call="patches.revert",
        arguments={"name": args.name},
        predicted={},
        diffs=_dropped(answer),
    )
    return Outcome({**data, "msg": f"{len(data['files'])} files are as they were"})


def _check(literal: Mapping[str, Any]) -> Sequence[tuple[str, str, str | None]]:
    found: list[tuple[str, str, str | None]] = []
    name, diff = literal.get("name"), literal.get("diff")
    if isinstance(name, str) and "{{" not in name and not _NAME.fullmatch(name):
        found.append(("name", f'"{name}" cannot name a patch', "use letters, digits, dots and dashes"))
    if isinstance(diff, str) and "{{" not in diff:
        try:
            parse_diff(diff)
        except PatchRefused as error:
            found.append(("diff", str(error), "write it with git diff or diff -u; in YAML, as a block with |"))
    return found


STEP = StepType(
    name="patch_files",
    arguments=Arguments,
    behave=behave,
    summary="Patches several files by diffs or exact replacements, all or none, and takes that back as one.",
    example="""\
- name: The sources of a package
  copy:
    dest: "{{ workdir }}/{{ item }}.py"
    content: |
      def {{ item }}(batch):
          return batch
    force: false
  loop: [draft, verify]
- name: Say what goes in and out
  patch_files:
    name: say-batches
    base: "{{ workdir }}"
    diff: |
      --- a/draft.py
      +++ b/draft.py
      @@ -1,2 +1,3 @@
       def draft(batch):
      +    print("draft", len(batch), flush=True)
           return batch
    replace:
      - path: verify.py
        old: "    return batch\\n"
        new: "    print('verify', len(batch), flush=True)\\n    return batch\\n"
""",
    notes="""\
For instrumenting source files of an installed package, and leaving no trace of it:

    - patch_files: {name: debug, base: /opt/sglang/lib/python3.12/site-packages/sglang, diff_file: debug.patch}
    - ...                                     # restart, look, collect
    - patch_files: {name: debug, state: absent}

**All or none.** Every hunk and replacement must fit exactly in every file, or the step fails, names each file, hunk
and line that does not, and changes nothing. A hunk whose lines stand once elsewhere is applied there, with a warning.
The files are exchanged one after the other, each whole; where one fails the others get their old content again.

**Taking it back.** What the files were is kept in `cleanslate/patches/NAME` in the state folder, with mode and times,
so Python's compiled files are valid or not exactly as before. A file that somebody else has changed since is never
overwritten: the step fails, and names it and its original. The same patch again is ok and unchanged; another one
under the same name starts from the originals, so a debug patch can be edited and run again. One file belongs to one
patch at a time.

Running servers have read their code already: restart them. Links are refused, so that nothing shared is changed by
accident. Files are neither made nor removed.
""",
    returns={
        "name": "the patch's name",
        "files": "the files that it has",
        "kept": "the folder with their originals",
        "refused": "of a failure: each reason, with file and hunk",
    },
    ansible_name=None,
    exclusive=[["diff", "diff_file"]],
    check=_check,
)
