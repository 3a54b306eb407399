"""include_vars: read variables from files of the repository while a play runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from cleanslate.errors import StepFailed
from cleanslate.steps.contract import (
    BeforeValidator,
    Behaviour,
    Field,
    Flag,
    Outcome,
    SetFacts,
    StepArguments,
    StepContext,
    StepType,
    Text,
    Words,
)

_EXTENSIONS = ["yaml", "yml", "json"]


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Arguments(StepArguments):
    """Arguments of include_vars."""

    file: Text | None = Field(default=None, alias="_raw_params")
    """The file, looked for in the role's vars, beside the steps, and in the playbook's vars."""
    dir: Text | None = None
    """A folder whose files are read in alphabetical order."""
    name: Text | None = None
    """Put the variables into one variable of this name instead."""
    depth: int = 0
    """How many folders down to go; 0 means all the way."""
    files_matching: Text | None = None
    """Only files of the folder whose name matches this regular expression."""
    ignore_files: Annotated[list[Text], BeforeValidator(_listed)] = []
    """Regular expressions of file names to leave out."""
    extensions: Words = _EXTENSIONS
    """Which file name endings count in a folder."""
    ignore_unknown_extensions: Flag = False
    """Leave files with other endings out instead of failing."""
    hash_behaviour: Literal["replace", "merge"] = "replace"
    """merge: maps are merged, level by level, with what the host's variables of these names hold."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Read the files, and ask the runner to keep the variables for this host."""
    yield from ()
    if args.dir is not None:
        files = _folder_files(args, context.find_file(args.dir, "vars"))
    else:
        files = [context.find_file(str(args.file), "vars")]
    variables: dict[str, Any] = {}
    for path in files:
        content = context.load_variables(path)
        if not isinstance(content, Mapping):
            raise StepFailed(f"{path} must hold variables: name: value")
        variables |= dict(content)
    if args.name is not None:
        variables = {args.name: variables}
    if args.hash_behaviour == "merge":
        variables = {key: _merged(context.variables.get(key), value) for key, value in variables.items()}
    included = [str(path) for path in files]
    data = {"ansible_facts": variables, "ansible_included_var_files": included}
    return Outcome(data, changed=False, flow=SetFacts(variables, layer="include_vars"))


def _merged(before: Any, value: Any) -> Any:
    """A map over another, level by level; anything else replaces what was there."""
    if not (isinstance(before, Mapping) and isinstance(value, Mapping)):
        return value
    return {**before, **{key: _merged(before.get(key), inner) for key, inner in value.items()}}


def _folder_files(args: Arguments, folder: Path) -> list[Path]:
    found: list[Path] = []
    for path in sorted(folder.rglob("*")):
        depth = len(path.relative_to(folder).parts)
        if not path.is_file() or (args.depth and depth > args.depth) or path.name.startswith("."):
            continue
        if any(re.search(pattern, path.name) for pattern in args.ignore_files):
            continue
        if args.files_matching is not None and not re.search(args.files_matching, path.name):
            continue
        if path.suffix.lstrip(".") not in args.extensions:
            if args.ignore_unknown_extensions or args.files_matching is not None:
                continue
            raise StepFailed(f"{path} does not end in one of {', '.join(args.extensions)}")
        found.append(path)
    return found


STEP = StepType(
    name="include_vars",
    arguments=Arguments,
    behave=behave,
    summary="Read variables from a file, or from every file of a folder.",
    example="""\
- name: What differs for this kind of machine
  include_vars: "{{ include_vars_example }}"
""",
    returns={"ansible_facts": "the variables", "ansible_included_var_files": "the files that were read"},
    free_form="file",
    any_of=(("file", "dir"),),
    exclusive=(("file", "dir"),),
    on_target=False,
)
