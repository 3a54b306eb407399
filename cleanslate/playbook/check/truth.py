"""Conditions that are a text and not true or false: `ready: "false"` in the variables, `when: ready` at the step."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cleanslate.errors import Problems
from cleanslate.model import SourceMap, SourceText
from cleanslate.playbook.check.survey import Found, Survey
from cleanslate.playbook.values import templated

_BARE = re.compile(r"\s*(?:not\s+)?([A-Za-z_]\w*)\s*")
_WORDS = {"true", "false", "yes", "no", "on", "off"}
_CONDITIONS = ("when", "until", "changed_when", "failed_when")


def check_truth(found: Found, survey: Survey, problems: Problems) -> None:
    """Warn of a condition that is a variable whose only definition is a text that reads like true or false."""
    for word in _CONDITIONS:
        for part in getattr(found.step.keywords, word) or ():
            match = _BARE.fullmatch(part) if isinstance(part, str) else None
            texts = list(_definitions(match[1], found, survey)) if match else []
            if match and texts and all(isinstance(text, str) and text.lower() in _WORDS for text in texts):
                what = f'{found.subject}: "{match[1]}" is the text "{texts[-1]}", which is neither true nor false'
                fix = f"write {texts[-1]} without quotes where it is set, or {match[1]} | bool here"
                at = part.origin if isinstance(part, SourceText) else found.step.origin
                problems.add(what, at, fix=fix, severity="warning", code="truth-as-text")


def _definitions(name: str, found: Found, survey: Survey) -> Iterator[object]:
    """What the play, its roles and the step say of a variable; a template counts as something else."""
    step = found.step
    layers: list[SourceMap] = [survey.play.vars, *(step.keywords.vars or ())]
    layers += [layer for role in survey.roles for layer in (role.defaults, role.vars, role.params)]
    for layer in layers:
        if name in layer:
            value = layer[name]
            yield None if templated(value) else value
