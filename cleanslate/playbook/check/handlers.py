"""Names that steps notify, against the handlers that there are."""

from __future__ import annotations

import re
from typing import Any

from cleanslate.errors import Problems
from cleanslate.model import Step
from cleanslate.playbook.check.survey import Survey
from cleanslate.playbook.values import did_you_mean, templated

_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)


def check_notified(survey: Survey, problems: Problems) -> None:
    """Note every literal name that a step notifies and no handler answers to."""
    names = HandlerNames(survey)
    told: set[int] = set()
    for found in survey.steps:
        for name in found.step.keywords.notify:
            if templated(name) or id(name) in told or names.answer(name):
                continue
            told.add(id(name))
            what = f'{found.subject}: notifies "{name}", but no handler has that name or listens to it'
            fix = did_you_mean(name, names.literal) or ("there are no handlers here" if not names.literal else None)
            severity = "warning" if survey.open_roles else "error"
            origin = getattr(name, "origin", None) or found.step.origin
            problems.add(what, origin, fix=fix, severity=severity, code="unknown-handler")


class HandlerNames:
    """What a play's handlers answer to: names, `role : name`, and what they listen to."""

    def __init__(self, survey: Survey) -> None:
        self.literal: set[str] = set()
        self.patterns: list[re.Pattern[str]] = []
        for handler in survey.handlers:
            for name in answers(handler):
                if templated(name):
                    self.patterns.append(as_pattern(name))
                else:
                    self.literal.add(name)

    def answer(self, name: str) -> bool:
        """Whether a handler answers to the name."""
        return name in self.literal or any(pattern.fullmatch(name) for pattern in self.patterns)


def answers(handler: Step) -> list[str]:
    """Every name that a handler answers to."""
    names: list[str] = [str(topic) for topic in handler.keywords.listen]
    if handler.name:
        names.append(str(handler.name))
        if handler.role is not None:
            names.append(f"{handler.role.name} : {handler.name}")
    return names


def as_pattern(text: Any) -> re.Pattern[str]:
    """What a templated text may turn out to be: anything where its templates stand."""
    literal = [re.escape(part) for part in _TEMPLATE.split(str(text))]
    return re.compile(".*".join(literal), re.DOTALL)
