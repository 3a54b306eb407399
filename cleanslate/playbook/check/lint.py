"""What runs, and is probably not what was meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cleanslate.errors import Problems
from cleanslate.model import Keywords, Step
from cleanslate.playbook.check.handlers import answers, as_pattern
from cleanslate.playbook.check.survey import Found, Survey, each
from cleanslate.playbook.check.templates import TemplateCheck
from cleanslate.playbook.values import templated

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHELL = re.compile(r"(\s\|\s|\s&&\s|\s\|\|\s|\s>>?\s|\s<\s|\s2>&1|;\s|\$\()")


def lint_plays(surveys: Sequence[Survey], templates: TemplateCheck, problems: Problems) -> None:
    """Warn of handlers nobody notifies, results nobody reads, and steps that do not do what they seem to."""
    _unused_handlers(surveys, problems)
    _unused_results(surveys, templates, problems)
    for found in each(list(surveys)):
        _odd_step(found, problems)


def _unused_handlers(surveys: Sequence[Survey], problems: Problems) -> None:
    notified = {str(name) for found in each(list(surveys)) for name in found.step.keywords.notify}
    literal = {name for name in notified if not templated(name)}
    patterns = [as_pattern(name) for name in notified if templated(name)]
    for survey in surveys:
        for handler in survey.handlers:
            names = answers(handler)
            if any(templated(name) for name in names):
                continue
            if not any(name in literal or any(one.fullmatch(name) for one in patterns) for name in names):
                said = f'handler "{handler.name}"' if handler.name else f"handler {handler.type}"
                what = f"{said}: nobody notifies it"
                problems.add(what, handler.origin, severity="warning", code="unused-handler")


def _unused_results(surveys: Sequence[Survey], templates: TemplateCheck, problems: Problems) -> None:
    """A registered name that no text of the playbook holds."""
    used = {word for value in templates.seen.values() if isinstance(value, str) for word in _WORD.findall(value)}
    for found in each(list(surveys)):
        name = found.step.keywords.register
        if name and name not in used and not name.startswith("_"):
            what = f'{found.subject}: nothing reads "{name}", which it registers'
            problems.add(what, found.step.origin, severity="warning", code="unused-register")


def _odd_step(found: Found, problems: Problems) -> None:
    step = found.step
    for what, fix, code in (*_needs_become(step.keywords), *_needs_shell(step)):
        problems.add(f"{found.subject}: {what}", step.origin, fix=fix, severity="warning", code=code)


def _needs_become(keywords: Keywords) -> Iterator[tuple[str, str, str]]:
    if keywords.become_user is not None and keywords.become is None:
        yield '"become_user" without "become" changes nothing', "add become: yes", "become-user"


def _needs_shell(step: Step) -> Iterator[tuple[str, str, str]]:
    text = step.args.get("cmd", step.args.get("_raw_params"))
    if step.type == "command" and isinstance(text, str):
        bare = re.sub(r"\{\{.*?\}\}|'[^']*'|\"[^\"]*\"", "", text)
        sign = _SHELL.search(bare)
        if sign:
            yield f'command hands "{sign[0].strip()}" to the program as text', "use shell", "command-shell"
