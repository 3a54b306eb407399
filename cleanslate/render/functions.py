"""The functions that templates may call (`lookup`, `query`, `now`, `undef`), and `with_*`, lookups in a loop."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from cleanslate.errors import RenderError, suggest
from cleanslate.model import SourceText, origin_of
from cleanslate.render.frames import Frame, current, stack
from cleanslate.render.lookups import ACTING, Lookups, find_lookup
from cleanslate.render.marks import Undefined
from cleanslate.render.registry import short_name, takes_undefined
from cleanslate.render.renderer import Renderer
from cleanslate.render.values import plain
from cleanslate.render.variables import Variables


@takes_undefined
def lookup(name: Any, *terms: Any, **options: Any) -> Any:
    """A lookup's outcome: texts joined by commas, a single value as it is, else the list."""
    as_list = bool(options.pop("wantlist", False))
    found = _guarded_run(name, terms, options)
    if as_list:
        return [] if found is None else found
    if not isinstance(found, list) or not found:
        return found
    if all(isinstance(value, str) for value in found):
        return ",".join(found) if len(found) > 1 else found[0]
    return found[0] if len(found) == 1 else found


@takes_undefined
def query(name: Any, *terms: Any, **options: Any) -> Any:
    """A lookup's outcome as a list."""
    options.pop("wantlist", None)
    found = _guarded_run(name, terms, options)
    return [] if found is None else found


def _guarded_run(name: Any, terms: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The outcome, an undefined value that it was asked with, or None for an error that was to be ignored."""
    for value in (name, *terms, *(value for option, value in options.items() if option != "default")):
        if isinstance(value, Undefined):
            return value
    errors = options.pop("errors", "strict")
    if errors not in ("strict", "warn", "ignore"):
        raise RenderError(f'lookup: errors cannot be "{errors}"', fix="write strict, warn or ignore")
    try:
        return run_lookup(str(name), list(terms), options)
    except RenderError as error:
        if errors == "strict":
            raise
        if errors == "warn":
            current().renderer.note(f"lookup {name}: {error.what}", origin_of(current().text))
        return None


def run_lookup(name: str, terms: list[Any], options: Mapping[str, Any], *, folder: str = "files") -> list[Any]:
    """Run a lookup in the template under way; RenderError says what it wanted."""
    function = find_lookup(name)
    frame = current()
    if not frame.renderer.outside and short_name(name) in ACTING:
        raise RenderError(f'lookup "{short_name(name)}" is not run only to look')
    for option in [option for option in options if option not in function.options]:  # Ansible takes no notice of them
        hint = suggest(option, function.options)
        what = f'lookup "{short_name(name)}" has no option "{option}"'
        frame.renderer.note(f"{what}; {hint}" if hint else what, origin_of(frame.text))
    options = {option: value for option, value in options.items() if option in function.options}
    try:
        return function.run(Lookups(frame.variables, frame.renderer, folder), terms, **options)
    except OSError as error:
        raise RenderError(f'lookup "{short_name(name)}": {error.strerror}: {error.filename}') from None


def with_items(
    kind: str,
    terms: Any,
    variables: Mapping[str, Any],
    renderer: Renderer | None = None,
    *,
    folder: str = "files",
) -> list[Any]:
    """The items of a `with_KIND:` loop, as plain data. `terms` is the value as written.

    `folder` is where with_first_found looks: "files", or "templates" and "vars" for steps of those names.
    """
    if not isinstance(variables, Variables):
        variables = Variables([variables], renderer or Renderer())
    renderer = renderer or variables.renderer
    text = terms if isinstance(terms, SourceText) else SourceText(f"with_{kind}", origin_of(terms))
    value = renderer.lazy(terms, variables)
    if isinstance(value, Undefined):
        raise value.as_error()
    if isinstance(value, range):
        plain(value)  # raises, as it does where a range is a template's whole outcome
    wanted = [value] if isinstance(value, str | Mapping) or not hasattr(value, "__iter__") else list(value)
    frames = stack()
    frames.append(Frame(text, variables, renderer))
    try:
        found: list[Any] = plain(run_lookup(kind, wanted, {}, folder=folder))
    except RenderError as error:
        from cleanslate.render.failures import seen_from

        raise seen_from(error, text) from None
    finally:
        frames.pop()
    return found


def now(utc: bool = False, fmt: str | None = None) -> Any:
    """The time: a datetime, or text in the given format."""
    time = datetime.now(timezone.utc).replace(tzinfo=None) if utc else datetime.now()
    return time.strftime(fmt) if fmt else time


def undef(hint: str | None = None) -> Any:
    """An undefined value, for variables that others must set."""
    from cleanslate.render.undefined import UndefinedValue

    return UndefinedValue(hint=hint or "a mandatory variable has not been set")


GLOBALS = {"lookup": lookup, "now": now, "q": query, "query": query, "undef": undef}
