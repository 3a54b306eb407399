"""Renders templates, conditions and expressions over a host's variables; imports Jinja when there is a template."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleanslate.errors import Origin, RenderError
from cleanslate.model import SourceText, origin_of
from cleanslate.render.frames import Frame, stack
from cleanslate.render.lazy import LazyList, LazyMap
from cleanslate.render.marks import OMIT, Undefined, is_template_text, may_hold_template
from cleanslate.render.values import plain
from cleanslate.render.variables import MISSING, Variables

if TYPE_CHECKING:
    from cleanslate.redaction import Secrets
    from cleanslate.render.files import TemplateOptions

_BARE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_CONTAINERS = (dict, list, tuple)


class Renderer:
    """Renders for one place in the repository: `lookup_paths(kind)` are the folders in which lookups and includes
    search, kind being "files", "templates" or "vars".

    `secrets` is told of secrets that lookups make; `decrypt` opens vault envelopes that the `file` lookup meets;
    `note` is told (text, origin) of what works but should be written otherwise, `used` of every file that is read.
    Without `outside`, lookups that run, make or ask for something are refused: for those who only want to look.
    """

    def __init__(
        self,
        *,
        lookup_paths: Callable[[str], list[Path]] | None = None,
        secrets: Secrets | None = None,
        decrypt: Callable[[str], str] | None = None,
        note: Callable[[str, Origin | None], None] | None = None,
        used: Callable[[Path], None] | None = None,
        outside: bool = True,
    ) -> None:
        self.secrets = secrets
        self.decrypt = decrypt
        self._lookup_paths = lookup_paths
        self._note = note
        self.used = used or (lambda _path: None)
        self.outside = outside

    # ------------------------------------------------------------------ what others call

    def render(self, value: Any, variables: Mapping[str, Any]) -> Any:
        """Give plain data with every template in `value` rendered; OMIT for one that is omitted as a whole.

        Raises RenderError (UndefinedVariable for a missing name) with the place of the expression.
        """
        if isinstance(value, _CONTAINERS) or type(value) is SourceText:
            return self.plain(self.lazy(value, self._variables(variables)), value)
        return self.plain(value, value)

    def expression(self, text: str, variables: Mapping[str, Any]) -> Any:
        """Evaluate a bare expression to plain data."""
        return self.plain(self.evaluate_bare(text, self._variables(variables)), text, bare=True)

    def condition(self, value: Any, variables: Mapping[str, Any]) -> bool:
        """Whether a condition holds: a boolean as it is, repository text as an expression, a list if all hold.

        Raises RenderError where the outcome is not a boolean.
        """
        if isinstance(value, bool):
            return value
        if isinstance(value, list | tuple):
            return all(self.condition(part, variables) for part in value)
        from cleanslate.render.conditions import evaluate

        return evaluate(self, value, self._variables(variables))

    def template_text(
        self, text: SourceText, variables: Mapping[str, Any], *, options: TemplateOptions | None = None
    ) -> str:
        """Render the text of a template file, as the template step does; a `#jinja2:` first line sets options."""
        from cleanslate.render.files import render_file

        value = render_file(self, text, self._variables(variables), options)
        if isinstance(value, Undefined):
            raise value.as_error()
        if self.plain(value, text) is OMIT:  # and what is undefined inside raises
            raise RenderError(
                "the template is omitted as a whole", origin=origin_of(text), fix="omit belongs to arguments"
            )
        return "" if value is None else str(value)

    def lookup_paths(self, kind: str) -> list[Path]:
        """The folders in which files of a kind are looked for, in order; the working directory where nobody said."""
        return self._lookup_paths(kind) if self._lookup_paths else [Path.cwd()]

    def template_folders(self, text: str) -> list[Path]:
        """Where the templates that a template names are: in the folders for templates, then beside it."""
        origin = origin_of(text)
        beside = [Path(origin.file).parent] if origin is not None else []
        return list(dict.fromkeys([*self.lookup_paths("templates"), *beside]))

    def find_template(self, name: str, text: str) -> Path | None:
        """The template that another one names; None where it is not there."""
        place = next((place for folder in self.template_folders(text) if (place := folder / name).is_file()), None)
        if place is not None:
            self.used(place)
        return place

    # ------------------------------------------------------------------ what the other parts of this room call

    def lazy(self, raw: Any, variables: Variables) -> Any:
        """Render a raw value for use in a template. Never raises: what fails becomes an Undefined."""
        if type(raw) is SourceText:
            return self.evaluate(raw, variables) if is_template_text(raw) else raw
        if isinstance(raw, _CONTAINERS) and not isinstance(raw, LazyMap | LazyList) and may_hold_template(raw):
            make = LazyMap if isinstance(raw, dict) else LazyList
            return make(raw, lambda value: self.lazy(value, variables))  # type: ignore[arg-type]
        return raw

    def evaluate(self, text: str, variables: Variables) -> Any:
        """Evaluate a template. Never raises: what fails becomes an Undefined."""
        name = _BARE.fullmatch(text)
        if name is None:
            return self.run(Frame(text, variables, self), _from_text)
        return self.run(Frame(text, variables, self), lambda frame: self._variable(name[1], frame))

    def _variable(self, name: str, frame: Frame) -> Any:
        value = frame.variables.resolve(name)
        return _from_text(frame) if value is MISSING else value

    def evaluate_bare(self, text: str, variables: Variables, *, embedded: bool = False) -> Any:
        """Evaluate an expression without `{{ }}`; `embedded` renders templates in its text constants too."""

        def run(frame: Frame) -> Any:
            from cleanslate.render.environment import compiled_bare

            return compiled_bare(text, embedded).value(frame.variables)

        return self.run(Frame(text, variables, self, bare=True), run)

    def run(self, frame: Frame, run: Callable[[Frame], Any]) -> Any:
        """Run something as the template of `frame`. Never raises: what fails becomes an Undefined."""
        frames = stack()
        for outer in frames:
            if outer.text is frame.text and outer.variables is frame.variables:
                from cleanslate.render.failures import circle

                return circle(frames, frame)
        frames.append(frame)
        try:
            return run(frame)
        except Exception as error:  # noqa: BLE001 - a template may call anything, and all of it is the template's failure
            from cleanslate.render.failures import failure

            return failure(error, frame)
        finally:
            frames.pop()

    def _variables(self, variables: Mapping[str, Any]) -> Variables:
        return variables if isinstance(variables, Variables) else Variables([variables], self)

    def plain(self, value: Any, source: Any, *, bare: bool = False) -> Any:
        """Make plain data of what the template `source` computed; RenderError for what is undefined or no data."""
        try:
            return plain(value)
        except RenderError as error:
            failed = error
        except RecursionError:
            failed = RenderError(
                "the value holds itself: it needs its own outcome, without end", fix="break the circle"
            )
        from cleanslate.render.failures import seen_from

        raise seen_from(failed, source, bare=bare)

    def note(self, text: str, origin: Origin | None) -> None:
        """Tell people of something that works but should be written otherwise."""
        if self._note is not None:
            self._note(text, origin)


def _from_text(frame: Frame) -> Any:
    from cleanslate.render.environment import compiled

    value = compiled(frame.text).value(frame.variables)
    if frame.text.endswith("\n") and isinstance(value, str):
        return with_trailing_newlines(value, frame.text)
    return value


def with_trailing_newlines(value: str, source: str) -> str:
    """Give text as many newlines at its end as its template has; Jinja drops one, and Ansible keeps them all."""
    wanted = len(source) - len(source.rstrip("\n"))
    found = len(value) - len(value.rstrip("\n"))
    return value + "\n" * (wanted - found) if wanted > found else value
