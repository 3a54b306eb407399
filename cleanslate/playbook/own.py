"""A repository's own step types: one Python file each in its folder `steps/`, held to the contract of ours.

What they call on targets is in `steps/remote/`, in files that are sent there like those of cleanslate/remote.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from cleanslate.errors import InputError, Origin, Problem
from cleanslate.playbook.find import repository_of
from cleanslate.steps import registry
from cleanslate.yamlfile import shown_path

if TYPE_CHECKING:
    from cleanslate.steps.contract import StepType

FOLDER = "steps"
_REMOTE_PYTHON = (3, 8)  # the oldest that a target may have


def own_files(playbook_dir: Path) -> dict[str, Path]:
    """The names of the repository's own step types, and their files."""
    found: dict[str, Path] = {}
    for folder in _folders(playbook_dir):
        for file in sorted(folder.glob("[!_.]*.py")):
            found.setdefault(file.stem, file)
    return found


def _folders(playbook_dir: Path) -> Iterator[Path]:
    root = repository_of(playbook_dir)
    beside = playbook_dir.parent if playbook_dir.name == "playbooks" else playbook_dir
    for folder in dict.fromkeys(one.absolute() for one in (beside, root or beside)):
        if (folder / FOLDER).is_dir():
            yield folder / FOLDER


def own_type(name: str, playbook_dir: Path) -> tuple[StepType, Path] | None:
    """The repository's own step type of that name, with its file, or None; InputError where its file is broken."""
    file = own_files(playbook_dir).get(name)
    if file is None:
        return None
    found = _load(file, file.stat().st_mtime_ns)
    _use_remote(file.parent / "remote")
    registry.add_own(found)
    return found, file


@cache
def _load(file: Path, _changed: int) -> StepType:
    """Run the file and hold what it gives to the contract; InputError tells all that is wrong."""
    from cleanslate.steps.contract import StepType

    spec = importlib.util.spec_from_file_location(f"cleanslate_own_steps.{file.stem}", file)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where models look for what their annotations name
    try:
        exec(compile(file.read_bytes(), str(file), "exec", dont_inherit=True), module.__dict__)
    except SyntaxError as error:
        raise _broken(file, f"this is not Python: {error.msg}", error.lineno, error.offset) from None
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the file's
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
        said = f"{type(error).__name__}: {error}"
        raise _broken(file, f"it cannot be loaded: {said}", lines[-1] if lines else None) from None
    found = getattr(module, "STEP", None)
    if not isinstance(found, StepType):
        raise _broken(file, "it has no STEP, which makes it a step type", fix="STEP = StepType(name=..., ...)")
    problems = list(_against_contract(found, file))
    if problems:
        raise InputError(problems=problems)
    return replace(found, ansible_name=None)


def _broken(
    file: Path, what: str, line: int | None = None, column: int | None = None, fix: str | None = None
) -> InputError:
    return InputError(what, origin=Origin(shown_path(file), line or 1, column or 1), fix=fix)


def _against_contract(found: StepType, file: Path) -> Iterator[Problem]:
    """What the contract wants of every step type and this one lacks, each at its place."""
    from cleanslate.playbook.keywords import STEP
    from cleanslate.steps.contract import StepArguments, with_descriptions

    def told(what: str, fix: str | None = None, at: str = "STEP") -> Problem:
        return Problem(f"step type {found.name}: {what}", Origin(shown_path(file), _line_of(file, at), 1), fix)

    if found.name != file.stem:
        yield told(f'it is called "{found.name}", and its file {file.name}', f"name it {file.stem}, or the file")
    if found.name in registry.step_names() or found.name in registry.ALIASES or found.name in STEP:
        yield told("there is a step type or keyword of that name already", "take another name, for it and its file")
    if not found.summary.strip():
        yield told("it has no summary", "say in one sentence what it does")
    if not (isinstance(found.arguments, type) and issubclass(found.arguments, StepArguments)):
        yield told("its arguments are no StepArguments", "class Arguments(StepArguments): ...")
        return
    for name, info in with_descriptions(found.arguments).model_fields.items():
        if not info.description:
            yield told(f'its argument "{name}" has no docstring', "write one below it", name)
    yield from _example(found, told)


def _example(found: StepType, told: object) -> Iterator[Problem]:
    from cleanslate.yamlfile import load_foreign

    assert callable(told)
    try:
        steps = load_foreign(found.example)
    except ValueError as error:
        yield told(f"its example is not YAML: {error}")
        return
    if not isinstance(steps, list) or not any(isinstance(step, dict) and found.name in step for step in steps):
        yield told(f"its example is no list of steps with a {found.name} among them")


def _line_of(file: Path, name: str) -> int:
    """The line on which a name is given its value or type."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(node, ast.Assign | ast.AnnAssign) and any(getattr(one, "id", "") == name for one in targets):
            return node.lineno
    return 1


def _use_remote(folder: Path) -> None:
    """Have what the step types call on targets sent along; InputError for a file that no target could run."""
    if not folder.is_dir():
        return
    from cleanslate.connect import bundle

    for file in sorted(folder.glob("*.py")):
        if bundle.is_ours(file.stem):
            raise _broken(
                file, f'cleanslate has calls in a module "{file.stem}" itself', fix="give the file another name"
            )
        try:
            ast.parse(file.read_bytes(), feature_version=_REMOTE_PYTHON)
        except SyntaxError as error:
            what = f"this does not run on a target with Python 3.8: {error.msg}"
            raise _broken(file, what, error.lineno, error.offset) from None
    bundle.also(folder)
