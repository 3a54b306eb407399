"""patch_config: change single values in a configuration file, and nothing else in it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from cleanslate.configtext import (
    FORMATS,
    MISSING,
    Edit,
    EditRefused,
    edit,
    format_of,
    load,
    lookup,
    parse_path,
    same,
    wanted_value,
)
from cleanslate.configtext.expect import shown, unmet, wrong_rule
from cleanslate.errors import CallFailed, StepFailed, suggest
from cleanslate.model import Answer, Diff
from cleanslate.steps.contract import (
    Behaviour,
    Change,
    Field,
    Flag,
    Outcome,
    PathText,
    StepArguments,
    StepContext,
    StepType,
    Text,
    Words,
    model_validator,
)

_FIXES = {
    "dangling": "load the model again, or point the path at the file that is meant",
    "missing": "check the path; patch_config changes files that exist, copy and template make them",
    "denied": "add `become: true`, or run as the file's owner",
    "changed": "run it again",
}


class Arguments(StepArguments):
    """What `patch_config:` takes."""

    path: PathText
    """The file. A link is replaced by a real file with the new content, unless `follow`."""
    set: dict[Text, Any] = Field(default_factory=dict)
    """Value by path: `rope_scaling.factor`, `architectures.0`, or a JSON pointer (`/a/b`). The whole value there is
    exchanged. Text that reads as a number becomes one where a number stands now."""
    remove: Words = Field(default_factory=list)
    """Paths that must not be there."""
    expect: dict[Text, Any] = Field(default_factory=dict)
    """What must stand at a path before anything is changed: a value, a list of allowed ones, or rules (`type`, `in`,
    `min`, `max`, `value`, `absent`). A path that already has what `set` wants is as expected."""
    create: Flag = False
    """Add keys that are missing; without it a missing key fails."""
    format: Text | None = None
    """`json`, `yaml`, `toml`, `ini` or `env`; without it, by the file's name."""
    follow: Flag = False
    """Change what a link leads to, for everybody who shares it, instead of replacing the link."""
    backup: Flag = True
    """Keep what was there beside `path`, as NAME.<time>.bak (see restore_file)."""
    keep: int = Field(default=5, ge=1)
    """How many backups are kept; those with a name of their own (backup_file) do not count."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Arguments:
        for path in (*self.set, *self.remove, *self.expect):
            try:
                parse_path(path)
            except EditRefused as error:
                raise ValueError(f"{error.what}; {error.fix}") from None
        for path, rule in self.expect.items():
            if said := wrong_rule(rule):
                raise ValueError(f'expect of "{path}": {said}')
        if self.format is not None and self.format not in FORMATS:
            raise ValueError(f'no format is called "{self.format}"; known are {", ".join(FORMATS)}')
        return self


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Read the file, work out the new text here, and exchange it if it differs."""
    answer = _read(args, context)
    text = _decoded(answer.blob, args.path)
    format_name = args.format or format_of(answer["path"])
    if format_name is None:
        raise StepFailed(f"the name of {args.path} does not tell its format", fix=f"set format: {', '.join(FORMATS)}")
    try:
        _as_expected(args, load(text, format_name), format_name)
        new, edits = edit(text, format_name, values=args.set, removed=args.remove, create=args.create)
    except EditRefused as error:
        raise StepFailed(f"{args.path}: {error.what}; nothing was changed", fix=error.fix) from None
    _warn(answer, edits, context)
    data: dict[str, Any] = {
        "path": answer["path"],
        "format": format_name,
        "patched": [_record(each) for each in edits],
        "hub": answer["hub"],
    }
    if not edits:
        return Outcome({**data, "digest": answer["digest"], "backup": None, "msg": "every value is there already"})
    if answer["obstacle"]:
        raise StepFailed(f"{answer['obstacle']}; nothing was changed", fix=_FIXES["denied"])
    written = yield _write(args, answer, text, new, edits)
    data.update(digest=written["digest"], backup=written["backup"], link=_fate(args, answer))
    return Outcome({**data, "msg": _sentence(edits, args, answer)})


def _read(args: Arguments, context: StepContext) -> Answer:
    try:
        return context.read("config.read", path=args.path, follow=args.follow)
    except CallFailed as error:
        raise StepFailed(error.what, fix=_FIXES.get(error.kind), data={"kind": error.kind, **error.details}) from None


def _decoded(blob: bytes, path: str) -> str:
    try:
        return blob.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StepFailed(f"{path} is not UTF-8 text: byte {error.start} is 0x{blob[error.start]:02x}") from None


def _as_expected(args: Arguments, data: Any, format_name: str) -> None:
    """Raise StepFailed, naming everything that is not as expected."""
    wrong = []
    for path, expected in args.expect.items():
        now = lookup(data, parse_path(path))
        done = path in args.set and same(now, wanted_value(args.set[path], now, format_name))
        said = None if done or (path in args.remove and now is MISSING) else unmet(expected, now)
        if said:
            wrong.append(f'"{path}" is {shown(now)}, expected {said}')
    if wrong:
        raise StepFailed(
            f"{args.path}: {'; '.join(wrong)}; nothing was changed",
            fix="this is not the file that the playbook was written for: look at it, then correct `expect`",
        )


def _write(args: Arguments, answer: Answer, text: str, new: str, edits: Sequence[Edit]) -> Change:
    blob = new.encode("utf-8")
    return Change(
        summary=f"{answer['path']}: {'; '.join(_line(each) for each in edits)}",
        call="config.write",
        arguments={
            "path": args.path,
            "expect_digest": answer["digest"],
            "follow": args.follow,
            "backup": args.backup,
            "most": args.keep,
        },
        blob=blob,
        predicted={"digest": hashlib.sha256(blob).hexdigest(), "backup": None},
        diffs=[Diff(answer["path"], text, new)],
    )


def _warn(answer: Answer, edits: Sequence[Edit], context: StepContext) -> None:
    """Say what people would otherwise find out weeks later."""
    for each in edits:
        if MISSING not in (each.before, each.after) and None not in (each.before, each.after):
            kinds = [isinstance(each.before, kind) == isinstance(each.after, kind) for kind in (str, list, dict, bool)]
            if not all(kinds):
                context.warn(f'"{each.path}" changes its type: {shown(each.before)} becomes {shown(each.after)}')
    hub = answer["hub"]
    if not hub:
        return
    if hub["head"] and hub["head"] != hub["commit"]:
        context.warn(
            f"main of {hub['name']} means commit {hub['head'][:12]} now, and this is a file of {hub['commit'][:12]}: a "
            f"server that loads {hub['name']} by name does not read it; pin the revision, or load this folder"
        )
    if answer["link"] and answer["backups"] and edits:
        last = answer["backups"][-1]["stamp"]
        context.warn(f"the file was patched before ({last}) and has been the hub's own again since: downloaded anew")


def _record(each: Edit) -> dict[str, Any]:
    record: dict[str, Any] = {"path": each.path}
    if each.before is not MISSING:
        record["before"] = each.before
    if each.after is not MISSING:
        record["after"] = each.after
    return record


def _line(each: Edit) -> str:
    if each.after is MISSING:
        return f"{each.path} removed"
    return f"{each.path} {shown(each.before)} -> {shown(each.after)}"


def _fate(args: Arguments, answer: Answer) -> str | None:
    """What becomes of a link: `replaced` by a real file, or `followed`; None where there is none."""
    if not answer["link"]:
        return None
    return "followed" if args.follow else "replaced"


def _sentence(edits: Sequence[Edit], args: Arguments, answer: Answer) -> str:
    said = "; ".join(_line(each) for each in edits)
    fate = _fate(args, answer)
    hub = answer["hub"]
    if fate == "followed":
        others = f", seen by {1 + len(hub['shared_with'])} snapshots" if hub else ""
        said += f" (in {answer['real']}, where the link leads{others})"
    elif fate == "replaced":
        whose = f"snapshot {hub['commit'][:12]} of {hub['name']} alone" if hub else "this path alone"
        said += f" (the link is a file of its own now, for {whose}; {answer['real']} stays as it was)"
    elif answer["names"] > 1:
        said += f" (it had {answer['names']} hard links; the others stay as they were)"
    return said


def _check(literal: Mapping[str, Any]) -> Sequence[tuple[str, str, str | None]]:
    found: list[tuple[str, str, str | None]] = []
    for name in ("set", "expect"):
        paths = literal.get(name)
        for path in paths if isinstance(paths, dict) else ():
            try:
                parse_path(str(path))
            except EditRefused as error:
                found.append((name, error.what, error.fix))
    named = literal.get("format")
    if isinstance(named, str) and "{{" not in named and named not in FORMATS:
        found.append(("format", f'no format is called "{named}"', suggest(named, FORMATS) or ", ".join(FORMATS)))
    path = literal.get("path")
    if named is None and isinstance(path, str) and "{{" not in path and format_of(path) is None:
        found.append(("path", f'the name "{path}" does not tell its format', f"set format: {', '.join(FORMATS)}"))
    return found


STEP = StepType(
    name="patch_config",
    arguments=Arguments,
    behave=behave,
    summary="Changes single values in a JSON, YAML, TOML, INI or .env file; every other byte stays.",
    example="""\
- name: A draft model's configuration
  copy:
    dest: "{{ workdir }}/config.json"
    content: |
      {
        "architectures": ["LlamaForCausalLMEagle3"],
        "max_position_embeddings": 131072
      }
    force: false
- name: The draft model accepts the target's context length
  patch_config:
    path: "{{ workdir }}/config.json"
    expect: {max_position_embeddings: [131072, 262144]}
    set: {max_position_embeddings: 262144}
""",
    notes="""\
The text is edited by position and never written anew from its data: key order, indentation, number forms, comments
and the end of the file stay, and the diff of one value is one line. What was written is read again and must mean the
old data with exactly that change, or the step fails and writes nothing. Where YAML or TOML cannot be edited that way
(block scalars, values shared through an anchor, whole tables) the step says so.

The file is exchanged whole or not at all, with its mode, owner and extended attributes; where they could not be kept
the step fails. A second run finds the values there, says ok, and makes no backup. In INI and .env files every value
is text; a path in INI is `section.key`.

**Hugging Face cache.** `snapshots/<commit>/config.json` is a link to a blob that every revision with the same
content shares. By default only this link becomes a file of its own: the blob and the other snapshots stay byte for
byte, and the backup beside the link is the same link again. `follow: true` changes the blob, for all of them; a
read-only blob belongs to a store that others share and is refused. The result names the commit and the file's SHA-256.
The hub's client never looks at a file's content again, so a patch stays in use silently, until the branch moves: each
run says when `main` no longer means the patched commit, and when the patched file was downloaded anew. Pin a revision.

**What it does not do.** Raising `max_position_embeddings` of a draft model lets the server start; it does not teach
the draft, and beyond its trained length speculation can be slower than none (sgl-project/sglang#6783).
""",
    returns={
        "path": "the file, with ~ and variables expanded",
        "patched": "each changed value: path, before, after (left out where there is none)",
        "backup": "the backup's path, null where none was made",
        "digest": "the file's SHA-256 now",
        "link": "`replaced` or `followed` where the path was a link",
        "hub": "in a Hugging Face cache: name, commit, refs that mean it, head (main's commit), shared_with, blob",
        "format": "the format it was read as",
    },
    ansible_name=None,
    any_of=[["set", "remove", "expect"]],
    check=_check,
)
