"""Lookups of files on this machine."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cleanslate.errors import Origin, RenderError
from cleanslate.model import SourceText
from cleanslate.render.lookups import Lookups
from cleanslate.render.marks import Undefined


def file(lookups: Lookups, terms: list[Any], lstrip: bool = False, rstrip: bool = True) -> list[Any]:
    """Files' texts, without blanks at their ends."""
    found = []
    for term in terms:
        text = lookups.text(lookups.find(term, "files"))
        text = text.lstrip() if lstrip else text
        found.append(text.rstrip() if rstrip else text)
    return found


def unvault(lookups: Lookups, terms: list[Any]) -> list[Any]:
    """Files' texts as they are, decrypted where they are encrypted."""
    return [lookups.text(lookups.find(term, "files")) for term in terms]


def fileglob(lookups: Lookups, terms: list[Any]) -> list[Any]:
    """The files that patterns name, of the first folder where there are any."""
    found: list[str] = []
    for term in terms:
        for place in lookups.places(str(term), "files"):
            names = sorted(name for name in glob.glob(str(place)) if Path(name).is_file())  # noqa: PTH207 - absolute
            if names:
                found += names
                break
    return found


def first_found(
    lookups: Lookups, terms: list[Any], files: Any = None, paths: Any = None, skip: bool = False
) -> list[Any]:
    """The first file that exists; with `skip`, nothing where none does."""
    given = {"files": files, "paths": paths}
    wanted = list(_candidates([*terms, *([given] if files is not None else [])], paths))
    skip = skip or any(isinstance(term, Mapping) and term.get("skip", False) for term in _opened(terms))
    tried: list[Path] = []
    for name in wanted:
        for place in lookups.places(name, lookups.folder):
            if place.exists():
                return [str(place)]
            tried.append(place)
    if skip:
        return []
    shown = ", ".join(str(place) for place in tried[:12]) or "nothing, as no name was given"
    raise RenderError("first_found: no file was found", fix=f"looked for {shown}; skip: true allows that")


def _opened(terms: Any) -> Iterator[Any]:
    for term in terms:
        if isinstance(term, list | tuple):
            yield from _opened(term)
        elif not isinstance(term, Undefined):  # a name that needs an unknown variable is no candidate
            yield term


def _candidates(terms: list[Any], paths: Any) -> Iterator[str]:
    for term in _opened(terms):
        if isinstance(term, Mapping):
            folders = _words(term.get("paths")) or [""]
            for folder in folders:
                for name in _words(term.get("files")):
                    yield str(Path(folder) / name) if folder else name
        elif isinstance(term, str):
            for folder in _words(paths) or [""]:
                yield str(Path(folder) / term) if folder else str(term)
        else:
            raise RenderError(f"first_found wants names or mappings of files and paths, not {type(term).__name__}")


def _words(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return [word for word in re.split(r"[,;]", value) if word]
    return [str(word) for word in _opened(value)]


def template(
    lookups: Lookups,
    terms: list[Any],
    template_vars: Mapping[str, Any] | None = None,
    convert_data: bool = True,
    variable_start_string: str = "{{",
    variable_end_string: str = "}}",
    comment_start_string: str = "{#",
    comment_end_string: str = "#}",
    trim_blocks: bool = True,
    lstrip_blocks: bool = False,
) -> list[Any]:
    """Templates of this repository, rendered; like an expression they may give other values than text."""
    from cleanslate.render.files import TemplateOptions, render_file, template_variables

    options = TemplateOptions(
        variable_start_string=variable_start_string,
        variable_end_string=variable_end_string,
        comment_start_string=comment_start_string,
        comment_end_string=comment_end_string,
        trim_blocks=trim_blocks,
        lstrip_blocks=lstrip_blocks,
    )
    found: list[Any] = []
    for term in terms:
        path = lookups.find(term, "templates")
        text = SourceText(lookups.text(path), Origin(str(path), 1, 1))
        scope = lookups.variables.with_layers(template_variables(path), template_vars or {})
        found.append(render_file(lookups.renderer, text, scope, options))
    return found


FUNCTIONS = {
    "file": file,
    "fileglob": fileglob,
    "first_found": first_found,
    "template": template,
    "unvault": unvault,
}
