"""Evaluates conditions (`when`, `until`, `that`): expressions without braces, whose outcome must be a boolean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cleanslate.errors import RenderError
from cleanslate.model import SourceText, origin_of
from cleanslate.render.explain import expression_at
from cleanslate.render.marks import OMIT, Undefined, is_template_text

if TYPE_CHECKING:
    from cleanslate.render.renderer import Renderer
    from cleanslate.render.variables import Variables

BRACES = "conditions are expressions already: write them without {{ }}"
_KINDS: list[tuple[Any, str, str]] = [
    (str, "text", "{0} | length > 0, or {0} | bool where it says yes or no"),
    (int | float, "a number", "{} != 0"),
    (dict, "a mapping", "{} | length > 0"),
    (list | tuple, "a list", "{} | length > 0"),
    (type(None), "null", "{} is not none"),
    (type(OMIT), "omit", "a condition that is always true or false"),
]
_YES, _NO = ("1", "'true'", "'yes'", '"true"', '"yes"'), ("0", "'false'", "'no'", '"false"', '"no"')


def is_all_template(text: str) -> bool:
    """Whether a condition is wrapped in `{{ }}` or `{% %}` as a whole."""
    text = text.strip()
    return text.startswith(("{{", "{%")) and text.endswith(("}}", "%}"))


def evaluate(renderer: Renderer, value: Any, variables: Variables) -> bool:
    """Whether one condition holds."""
    if not isinstance(value, str):
        raise RenderError(f"{value!r} is not a condition", fix="write an expression, or true or false")
    if not value.strip():
        raise RenderError("the condition is empty", origin=origin_of(value), fix="write an expression, or leave it out")
    if not isinstance(value, SourceText):
        raise RenderError(
            f"{_short(value)} came from outside the repository, so it is data and not a condition",
            fix="compare it with something, or turn it into a boolean: x | bool",
        )
    outcome: Any = value
    text = value
    if is_all_template(value):
        renderer.note(BRACES, value.origin)
        outcome = _defined(renderer.evaluate(value, variables), value)
        if isinstance(outcome, SourceText):  # a variable that holds a condition
            text = outcome
        elif not isinstance(outcome, bool):
            raise _not_boolean(outcome, value)
    if isinstance(outcome, bool):
        return outcome
    embedded = is_template_text(text)
    outcome = _defined(renderer.evaluate_bare(text, variables, embedded=embedded), value)
    if isinstance(outcome, bool):
        return outcome
    raise _not_boolean(outcome, value)


def _defined(outcome: Any, source: SourceText) -> Any:
    if isinstance(outcome, Undefined):
        from cleanslate.render.failures import seen_from

        raise seen_from(outcome.as_error(), source, bare=not is_all_template(source))
    return outcome


def _not_boolean(outcome: Any, source: SourceText) -> RenderError:
    shown = expression_at(source, 0, bare=True)
    name = shown if shown.replace(".", "").replace("_", "").isalnum() else f"({shown})"
    if is_all_template(source):
        name = shown.strip("{}% ")
    word, test = next(
        ((word, test) for kind, word, test in _KINDS if isinstance(outcome, kind)),
        (f"a {type(outcome).__name__}", "{} is defined"),
    )
    fix = "true" if shown in _YES else "false" if shown in _NO else test.format(name)
    tail = f": {_short(outcome)}" if outcome is not None and outcome is not OMIT else ""
    return RenderError(
        f'the condition "{shown}" gives {word}, not true or false{tail}', origin=source.origin, fix=f"write {fix}"
    )


def _short(value: Any) -> str:
    shown = repr(str(value)) if isinstance(value, str) else repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
