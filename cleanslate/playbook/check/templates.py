"""Syntax of every template and condition that a play holds, each looked at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cleanslate.errors import Problems
from cleanslate.model import Keywords, SourceText
from cleanslate.playbook.check.survey import Found, Survey
from cleanslate.steps import registry

_CONDITIONS = ("when", "until", "changed_when", "failed_when")
_VALUES = (
    "loop",
    "retries",
    "delay",
    "ignore_errors",
    "ignore_unreachable",
    "delegate_to",
    "delegate_facts",
    "run_once",
    "become",
    "become_user",
    "become_method",
    "become_flags",
    "remote_user",
    "connection",
    "port",
    "environment",
    "module_defaults",
    "tags",
    "vars",
    "notify",
    "no_log",
    "timeout",
    "check_mode",
    "diff",
    "throttle",
    "any_errors_fatal",
    "async_seconds",
    "poll",
)


class TemplateCheck:
    """Checks templates, and remembers which it has seen (inherited keywords come up again and again)."""

    def __init__(self, problems: Problems) -> None:
        from cleanslate.render import check_template

        self.problems = problems
        self._check_template = check_template
        self.seen: dict[int, Any] = {}  # kept alive, so that an id stays one value's
        self._right: set[tuple[str, bool]] = set()

    def check(self, value: Any, *, condition: bool = False) -> None:
        """Note what is wrong with the templates in a value; a text that was found right once is right everywhere."""
        if value is None or id(value) in self.seen:
            return
        if isinstance(value, SourceText):
            self.seen[id(value)] = value
            if (condition or "{" in value) and (value, condition) not in self._right:
                found = Problems()
                self._check_template(value, found, condition=condition)
                self.problems.found += found.found
                if not found.found:
                    self._right.add((value, condition))
        elif isinstance(value, dict | list | tuple):
            self.seen[id(value)] = value
            for inner in value.values() if isinstance(value, dict) else value:
                self.check(inner, condition=condition)

    def check_play(self, survey: Survey) -> None:
        """The play's own values, and the variables of its roles."""
        play = survey.play
        self._each((play.hosts, play.vars, *play.vars_files, play.serial, play.max_fail_percentage))
        self._each((play.force_handlers, play.gather_facts, play.gather_subset))
        self._keywords(play.keywords)
        for role in survey.roles:
            self._each((role.defaults, role.vars, role.params))

    def check_step(self, found: Found) -> None:
        """A step's name, arguments and keywords."""
        step = found.step
        self.check(step.name)
        unrendered = registry.step_type(step.type).unrendered
        for name, value in step.args.items():
            bare = name in unrendered and _is_condition(value)
            self.check(value, condition=bare)
        self._keywords(step.keywords)
        if step.keywords.loop_with:
            self._check_lookup(found, step.keywords.loop_with)

    def _check_lookup(self, found: Found, name: str) -> None:
        """`with_x` asks the lookup x."""
        noted = Problems()
        self._check_template(SourceText(f"{{{{ lookup('{name}') }}}}", found.step.origin), noted)
        for problem in noted.found:
            near = problem.fix and problem.fix.replace('mean "', 'mean "with_')
            self.problems.add(f"{found.subject}: with_{name}: {problem.what}", found.step.origin, fix=near)

    def _keywords(self, keywords: Keywords) -> None:
        if id(keywords) in self.seen:
            return
        self.seen[id(keywords)] = keywords
        for name in _CONDITIONS:
            for part in getattr(keywords, name) or ():
                self.check(part, condition=True)
        for name in _VALUES:
            value = getattr(keywords, name)
            if value:
                self._each(value if isinstance(value, tuple) else (value,))
        control = keywords.loop_control
        if control:
            self._each((control.get("label"), control.get("pause")))
            for part in control.get("break_when", ()):
                self.check(part, condition=True)

    def _each(self, values: Iterable[Any]) -> None:
        for value in values:
            self.check(value)

    def check_file(self, text: str, start: SourceText) -> None:
        """A template file's text; one that brings its own delimiters is left alone."""
        if not text.startswith("#jinja2:"):
            self.check(start)


def _is_condition(value: Any) -> bool:
    """Whether an unrendered argument is an expression or a list of them, not a map of keywords."""
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(part, str | bool) for part in value))
