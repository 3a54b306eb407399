"""Files on the controller that steps name: they must be there before a host is touched."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from cleanslate.errors import InputError, Origin
from cleanslate.model import SourceText, Step
from cleanslate.playbook.check.survey import Found, Survey
from cleanslate.playbook.check.templates import TemplateCheck
from cleanslate.playbook.find import expanded, file_places, near_file
from cleanslate.playbook.loader import Loader, as_map
from cleanslate.playbook.values import shown, templated
from cleanslate.yamlfile import read_text, shown_path

# step type -> the argument that names a file of the controller, and the folder in which such files are
_NAMES = {
    "copy": ("src", "files"),
    "template": ("src", "templates"),
    "script": ("cmd", "files"),
    "unarchive": ("src", "files"),
    "assemble": ("src", "files"),
    "include_vars": ("file", "vars"),
}
# Arguments that let a template be written with other signs than {{ and {%: it cannot be looked at without them.
_OTHER_SIGNS = frozenset(
    f"{kind}_{end}_string" for kind in ("block", "variable", "comment") for end in ("start", "end")
) | {"**"}
_LOCAL = ("localhost", "127.0.0.1", "::1")


def check_files(found: Found, survey: Survey, loader: Loader, templates: TemplateCheck) -> None:
    """Note a controller's file that is nowhere, and mistakes in a template file that is there."""
    named = _named(found.step)
    if named is None:
        return
    name, folder, origin = named
    places = file_places(
        name, folder, file=Path(found.step.origin.file), role=found.step.role, playbook_dir=loader.playbook_dir
    )
    path = next((place for place in places if place.exists()), None)
    if path is None:
        maybe_made = expanded(name).is_absolute() and _writes_here(survey, found)
        severity = "warning" if found.guarded or maybe_made else "error"
        what = f"{found.subject}: there is no file {shown(name)} on the controller"
        loader.problems.add(what, origin, fix=near_file(name, places), severity=severity, code="missing-file")
    elif folder == "templates" and path.is_file() and not _OTHER_SIGNS & set(found.step.args):
        _check_template(path, loader, templates)
    elif folder == "vars" and path.is_file():
        loader.read(path)


def _named(step: Step) -> tuple[str, str, Origin | None] | None:
    """The literal name of a controller's file that the step wants, and the folder for its kind."""
    if step.type not in _NAMES:
        return None
    argument, folder = _NAMES[step.type]
    value = step.args.get(argument)
    if not isinstance(value, str) or templated(value) or not value.strip() or "://" in value:
        return None
    if step.type in ("copy", "unarchive") and _perhaps(step.args.get("remote_src")):
        return None
    if step.type == "assemble" and _perhaps(step.args.get("remote_src", True)):
        return None
    if step.type == "unarchive" and not _perhaps(step.args.get("copy", True)):
        return None
    name = str(value)
    if step.type == "script":
        try:
            name = shlex.split(name)[0]
        except (ValueError, IndexError):
            return None
    return name, folder, step.args.value_origin(argument)


def _perhaps(value: Any) -> bool:
    """Whether a flag is on, or may be."""
    return templated(value) or str(value).lower() in ("true", "yes", "on", "1")


def _writes_here(survey: Survey, until: Found) -> bool:
    """Whether an earlier step runs on the controller, so that it may make the file."""
    for found in survey.steps:
        if found is until:
            return False
        keywords = found.step.keywords
        if found.step.type == "fetch" or keywords.connection == "local" or keywords.delegate_to in _LOCAL:
            return True
    return False


def _check_template(path: Path, loader: Loader, templates: TemplateCheck) -> None:
    key = path.resolve()
    if key in loader.files:
        return
    loader.files[key] = None
    try:
        text = read_text(path, vault=loader.vault)
    except InputError:
        return  # not text: the step type says so better when it runs
    templates.check_file(text, SourceText(text, Origin(shown_path(path), 1, 1)))


def check_vars_files(survey: Survey, loader: Loader) -> None:
    """A play's vars_files: each literal name, or one of a list of them, must be there and hold a map."""
    play = survey.play
    folder = play.playbook.parent
    for entry in play.vars_files:
        names = entry if isinstance(entry, list) else [entry]
        if any(templated(name) for name in names):
            survey.vars_files = None
            continue
        places = [folder / where / expanded(name) for name in names for where in ("", "vars")]
        path = next((place for place in places if place.is_file()), None)
        origin = getattr(names[0], "origin", None) or play.origin
        if path is None:
            said = " or ".join(shown(name) for name in names)
            what = f"vars_files: there is no file {said}"
            loader.problems.add(what, origin, fix=near_file(str(names[0]), places), code="missing-file")
            continue
        value = loader.read(path)
        if isinstance(value, dict):
            if survey.vars_files is not None:
                survey.vars_files.append(as_map(value))
        elif value is not None:
            what = f"a file of variables holds a map, not {shown(value)}"
            loader.problems.add(what, Origin(shown_path(path), 1, 1))
