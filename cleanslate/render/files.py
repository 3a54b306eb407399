"""Template files: the options in their first line, their newlines, and the variables that describe them."""

from __future__ import annotations

import ast
import functools
import os
import pwd
import re
from dataclasses import asdict, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import Origin, RenderError, suggest
from cleanslate.model import SourceText, origin_of
from cleanslate.render.frames import Frame

if TYPE_CHECKING:
    from cleanslate.render.context import Compiled
    from cleanslate.render.environment import TemplateEnvironment
    from cleanslate.render.renderer import Renderer
    from cleanslate.render.variables import Variables

_HEADER = "#jinja2:"


@dataclass(frozen=True)
class TemplateOptions:
    """How a template file is read; the defaults are those of Ansible's template module."""

    block_start_string: str = "{%"
    block_end_string: str = "%}"
    variable_start_string: str = "{{"
    variable_end_string: str = "}}"
    comment_start_string: str = "{#"
    comment_end_string: str = "#}"
    trim_blocks: bool = True
    lstrip_blocks: bool = False
    newline_sequence: str = "\n"
    keep_trailing_newline: bool = False  # newlines at the end are kept anyway, as Ansible does
    line_statement_prefix: str | None = None
    line_comment_prefix: str | None = None

    def __post_init__(self) -> None:
        """Take newlines in letters (backslash, n) too, as YAML's single quotes leave them."""
        written = {"\\n": "\n", "\\r": "\r", "\\r\\n": "\r\n"}
        object.__setattr__(self, "newline_sequence", written.get(self.newline_sequence, self.newline_sequence))

    @property
    def openings(self) -> tuple[str, ...]:
        """What a text must hold to have anything for Jinja to do."""
        found = (self.variable_start_string, self.block_start_string, self.comment_start_string)
        return (*found, *filter(None, (self.line_statement_prefix, self.line_comment_prefix)))


_DEFAULTS = TemplateOptions()
_NAMES = tuple(field.name for field in fields(TemplateOptions))


def render_file(renderer: Renderer, text: SourceText, variables: Variables, options: TemplateOptions | None) -> Any:
    """Render a template file to a value (text, unless it is one expression). Undefined where it fails."""
    body, chosen = read_header(text, options or _DEFAULTS)
    if not any(opening in body for opening in chosen.openings):
        return str(body)

    def run(frame: Frame) -> Any:
        value = _compiled(str(body), chosen).value(frame.variables)
        if body.endswith("\n") and isinstance(value, str):
            return _with_newlines(value, body, chosen.newline_sequence)
        return value

    return renderer.run(Frame(body, variables, renderer), run)


def read_header(text: SourceText, options: TemplateOptions) -> tuple[SourceText, TemplateOptions]:
    """The text without a `#jinja2: name:value, ...` first line, and the options with what stands there."""
    if not has_header(text):
        return text, options
    line, _, rest = text.partition("\n")
    origin = origin_of(text)
    chosen = asdict(options)
    for part in line[len(_HEADER) :].split(","):
        name, colon, value = part.partition(":")
        name = name.strip()
        if not name and not colon:
            continue
        if name not in _NAMES:
            raise RenderError(f'the #jinja2: line has no option "{name}"', origin=origin, fix=suggest(name, _NAMES))
        try:
            chosen[name] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            raise RenderError(
                f'the #jinja2: line: "{value.strip()}" is no value for {name}',
                origin=origin,
                fix="write True, or 'text'",
            ) from None
    below = Origin(origin.file, origin.line + 1, 1) if origin else None
    return SourceText(rest, below), TemplateOptions(**chosen)


@functools.lru_cache(maxsize=512)
def _compiled(text: str, options: TemplateOptions) -> Compiled:
    return _environment(options).compile_text(text)


def _environment(options: TemplateOptions) -> TemplateEnvironment:
    from cleanslate.render import environment

    changed = tuple(item for item in asdict(options).items() if item[1] != getattr(_DEFAULTS, item[0]))
    return environment.environment_with(changed)


def has_header(text: str) -> bool:
    """Whether a template file sets options in its first line."""
    return text.startswith(_HEADER)


def environment_of(text: SourceText) -> tuple[TemplateEnvironment, str]:
    """The environment that a template file's header asks for, and the text below the header."""
    body, options = read_header(text, _DEFAULTS)
    return _environment(options), body


def _with_newlines(value: str, source: str, newline: str) -> str:
    wanted = len(source) - len(source.rstrip("\n"))
    kept = len(re.findall(rf"(?:{newline})", value[len(value.rstrip("\r\n")) :]))
    return value + newline * (wanted - kept) if wanted > kept else value


def template_variables(path: Path, destination: str | None = None) -> dict[str, Any]:
    """What a template file knows of itself: `template_path`, `template_host`, `ansible_managed` and their like."""
    status = path.stat()
    try:
        owner: Any = pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        owner = status.st_uid
    found = {
        "ansible_managed": "Ansible managed",
        "template_host": os.uname().nodename,
        "template_path": str(path),
        "template_fullpath": str(path.resolve()),
        "template_mtime": datetime.fromtimestamp(status.st_mtime),
        "template_uid": owner,
        "template_run_date": datetime.now(),
    }
    return found if destination is None else {**found, "template_destpath": destination}
