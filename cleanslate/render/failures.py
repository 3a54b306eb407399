"""Turns whatever went wrong in a template into one error that names the expression and its place."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

import jinja2

from cleanslate.errors import CleanslateError, Origin, RenderError
from cleanslate.model import origin_of
from cleanslate.render import explain
from cleanslate.render.frames import Frame
from cleanslate.render.undefined import Broken, UndefinedUsed


def failure(error: Exception, frame: Frame) -> Any:
    """The undefined value that a failed template leaves."""
    if isinstance(error, UndefinedUsed):
        return error.value
    if isinstance(error, RenderError) and error.origin is not None:
        return Broken(error)
    what, fix = _what(error, frame)
    origin, shown = _where(error, frame)
    return Broken(RenderError(f"{what}, in {shown}" if shown else what, origin=origin, fix=fix))


def circle(frames: Sequence[Frame], again: Frame) -> Any:
    """The undefined value of a template that needs its own outcome."""
    first = next(index for index, frame in enumerate(frames) if frame.text is again.text)
    chain = [*frames[first:], again]
    steps = " -> ".join(explain.expression_at(frame.text, 0, bare=frame.bare) for frame in chain)
    error = RenderError(
        f"the template needs its own outcome: {steps}", origin=origin_of(again.text), fix="break the circle"
    )
    return Broken(error)


def seen_from(error: RenderError, source: Any, *, bare: bool = False) -> RenderError:
    """The same error, with the template that was asked for, where the failure lies in another one."""
    here = origin_of(source)
    if not isinstance(source, str):
        return error
    shown = explain.expression_at(source, 0, bare=bare)
    if error.origin is None:
        return _copy(error, f"{error.what}, in {shown}" if shown not in error.what else error.what, here)
    if here is None or _within(error.origin, source, here):
        return error
    return _copy(error, f"{error.what} (needed by {shown} at {here})", error.origin)


def syntax_error(error: jinja2.TemplateSyntaxError) -> tuple[str, str | None]:
    """What Jinja did not understand, and what to do, in our words where people often make that mistake."""
    message = (error.message or "").rstrip(".")
    for kind in ("filter", "test"):
        if message.startswith(f"No {kind} named "):
            from cleanslate.render.static import unknown_name

            return unknown_name(kind, message.split("'")[1])
    if "got '}'" in message or "expected token ':'" in message:
        return (
            f"the expression is not understood: {message}",
            "an expression has no {{ }} inside: names stand there bare",
        )
    if "end of print statement" in message and "unexpected end of template" in message:
        return 'a "{{" is never closed', 'close it with "}}"'
    if "Missing end of comment tag" in message:
        return (
            'a "{#" is never closed',
            'close the comment with "#}", or write {{ "{#" }} for the characters themselves',
        )
    return f"the template is not understood: {message}", None


def _what(error: Exception, frame: Frame) -> tuple[str, str | None]:
    if isinstance(error, jinja2.TemplateSyntaxError):
        return syntax_error(error)
    if isinstance(error, CleanslateError):
        return error.what, error.fix
    if isinstance(error, RecursionError):
        return "the template needs its own outcome, without end", "break the circle"
    if isinstance(error, jinja2.TemplateNotFound):
        folders = ", ".join(map(str, frame.renderer.template_folders(frame.text)))
        return f'no template "{error.name}"', f"looked in {folders}"
    if isinstance(error, jinja2.TemplateRuntimeError) and str(error).startswith("No "):
        from cleanslate.render.static import unknown_name

        kind, _, rest = str(error).removeprefix("No ").partition(" named ")
        return unknown_name(kind, rest.split("'")[1]) if rest[:1] == "'" else (str(error), None)
    message = str(error) or type(error).__name__
    hint = 'join text with "~", which takes numbers too' if "can only concatenate str" in message else None
    return message, hint


def _where(error: Exception, frame: Frame) -> tuple[Origin | None, str]:
    """The place, and the expression there."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        if error.filename and error.source is not None:
            return Origin(error.filename, error.lineno), ""
        line: int | None = error.lineno
    else:
        line, included = _line_of(error.__traceback__)
        if included is not None:
            return Origin(included, line or 1), ""
    at = 0 if frame.bare else explain.first_expression(frame.text, line or 1)
    return explain.place_of(frame.text, at), explain.expression_at(frame.text, at, bare=frame.bare)


def _line_of(trace: TracebackType | None) -> tuple[int | None, str | None]:
    """The template line that was being run, and the file if it is an included one."""
    line, name = None, None
    while trace is not None:
        template = trace.tb_frame.f_globals.get("__jinja_template__")
        if template is not None:
            line, name = template.get_corresponding_lineno(trace.tb_lineno), template.name
        trace = trace.tb_next
    return line, name


def _within(place: Origin, text: str, start: Origin) -> bool:
    lines = text.count("\n") + 1
    return place.file == start.file and start.line <= place.line < start.line + lines


def _copy(error: RenderError, what: str, origin: Origin | None) -> RenderError:
    return type(error)(what, origin=origin, fix=error.fix)
