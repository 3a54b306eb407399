"""Variables that steps use and nothing defines: no inventory, play, role, step or option."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cleanslate.errors import InputError, Problems
from cleanslate.model import Inventory, SourceMap, SourceText
from cleanslate.playbook.check.survey import Found, Survey, each
from cleanslate.playbook.forms import ALL_ARGUMENTS
from cleanslate.playbook.loader import Loader
from cleanslate.playbook.values import did_you_mean, templated
from cleanslate.steps import registry

_WORD = re.compile(r"(?<![\w.'\"])[A-Za-z_]\w*")
_MAGIC = frozenset(
    ("inventory_hostname", "inventory_hostname_short", "inventory_dir", "inventory_file", "groups", "group_names")
) | {"hostvars", "playbook_dir", "play_hosts", "role_name", "role_names", "role_path", "omit", "vars", "item"}
# Words of templates that are no variables, so that most texts need no second look.
_COMMON = frozenset(("and", "bool", "default", "defined", "d", "else", "for", "if", "in", "int", "is", "join")) | {
    *("length", "list", "map", "not", "or", "set", "string", "trim", "true", "false", "endfor", "endif", "lookup")
}
_CONDITIONS = ("when", "until", "changed_when", "failed_when")


def check_names(
    surveys: Sequence[Survey], inventory: Inventory, extra_vars: Mapping[str, Any], loader: Loader, problems: Problems
) -> None:
    """Warn of variables without which a step must fail and that nothing can define.

    Silent for the whole playbook when names may come that are not known here: from facts with other names than
    `ansible_*`, from files or roles whose names are templates.
    """
    known = _Known(surveys, inventory, extra_vars, loader)
    if known.open:
        return
    for found in each(list(surveys)):
        for text, condition in _texts(found):
            if _suspects(text, known.names, condition=condition):
                _report(found, text, known, problems, condition=condition)


class _Known:
    def __init__(
        self, surveys: Sequence[Survey], inventory: Inventory, extra_vars: Mapping[str, Any], loader: Loader
    ) -> None:
        self.inventory = inventory
        self.loader = loader
        self.surveys = surveys
        self.open = any(survey.open for survey in surveys)
        self.names: set[str] = {*_MAGIC, *_COMMON, *map(str, extra_vars)}
        self.told: set[str] = set()  # once is enough
        self._files_read = False
        self._add(*(host.vars for host in inventory.hosts.values()))
        self._add(*(group.vars for group in inventory.groups.values()))
        for survey in surveys:
            self._of_play(survey)
            for found in survey.steps:
                self._of_step(found)

    def _of_play(self, survey: Survey) -> None:
        play = survey.play
        self._add(play.vars, *(prompt.get("name", "") for prompt in play.vars_prompt))
        for role in survey.roles:
            self._add(role.defaults, role.vars, role.params)
        if survey.vars_files is None:
            self.open = True
        else:
            self._add(*survey.vars_files)

    def _of_step(self, found: Found) -> None:
        step, keywords = found.step, found.step.keywords
        control = keywords.loop_control or SourceMap()
        self._add(*keywords.vars, keywords.register or "", control.get("loop_var", ""), control.get("index_var", ""))
        if step.type in ("set_fact", "add_host"):
            self._add(step.args)
            self.open = self.open or any(templated(key) for key in step.args) or ALL_ARGUMENTS in step.args
        elif step.type in ("include_vars", "package_facts", "service_facts", "gpu_info"):
            self.open = True
        elif isinstance(step.args.get("apply"), Mapping):
            self._add(step.args["apply"].get("vars") or {})

    def _add(self, *sources: Iterable[Any]) -> None:
        for source in sources:
            self.names.update((source,) if isinstance(source, str) else map(str, source))

    def read_files(self) -> None:
        """Take in group_vars and host_vars, which are only read once a name is missing."""
        from cleanslate.inventory import host_layers

        if self._files_read:
            return
        self._files_read = True
        for folder in {survey.play.playbook.parent for survey in self.surveys}:
            for host in (*self.inventory.hosts, "localhost"):
                try:
                    layers = host_layers(self.inventory, host, playbook_dir=folder, vault=self.loader.vault)
                except InputError:
                    self.open = True  # a file that cannot be read is told of when the run begins
                    return
                for layer in layers:
                    self._add(layer.values)


def _texts(found: Found) -> Iterator[tuple[SourceText, bool]]:
    """The step's own templates, and its conditions (True)."""
    step, keywords = found.step, found.step.keywords
    unrendered = registry.step_type(step.type).unrendered
    for name, value in step.args.items():
        if name not in unrendered:
            yield from _within(value)
    yield from _within([keywords.loop, keywords.delegate_to, keywords.environment, keywords.become_user])
    for name in _CONDITIONS:
        for part in getattr(keywords, name) or ():
            if isinstance(part, SourceText):
                yield part, not templated(part)


def _within(value: Any) -> Iterator[tuple[SourceText, bool]]:
    if isinstance(value, SourceText):
        if templated(value):
            yield value, False
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _within(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _within(inner)


def _suspects(text: str, known: set[str], *, condition: bool) -> bool:
    """Whether a text holds a word that is not known; most hold none, and need not be parsed again."""
    parts = [text] if condition else re.findall(r"\{[{%].*?[%}]\}", text, flags=re.DOTALL)
    return any(word not in known and not word.startswith("ansible_") for part in parts for word in _WORD.findall(part))


def _report(found: Found, text: SourceText, known: _Known, problems: Problems, *, condition: bool) -> None:
    from cleanslate.render import free_names

    def missing() -> list[str]:
        names = free_names(text, condition=condition, certain=True)
        return sorted(name for name in names - known.names - known.told if not name.startswith("ansible_"))

    if not missing():
        return
    known.read_files()
    if known.open:
        return
    guarded = _guarded(found)
    for name in missing():
        if name not in guarded:
            known.told.add(name)
            spoken = {"yes": "true", "on": "true", "no": "false", "off": "false"}.get(name)
            near = f"write {spoken}: in an expression, {name} is a variable" if spoken else None
            near = near or did_you_mean(name, sorted(known.names - _COMMON))
            what = f'{found.subject}: nothing defines "{name}"'
            problems.add(
                what,
                _place(text, name, condition=condition),
                fix=near or "give it with -e, or set it where the inventory or the play sets variables",
                severity="warning",
                code="undefined-variable",
            )


def _guarded(found: Found) -> set[str]:
    """Names whose being defined the step's own `when` asks about."""
    from cleanslate.render import free_names

    names: set[str] = set()
    for part in found.step.keywords.when:
        names |= free_names(part, condition=True) - free_names(part, condition=True, certain=True)
    return names


def _place(text: SourceText, name: str, *, condition: bool) -> Any:
    from cleanslate.render.explain import find_name, place_of

    at = find_name(text, name, bare=condition)
    return text.origin if at is None else place_of(text, at)
