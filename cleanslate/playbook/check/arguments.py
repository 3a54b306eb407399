"""A step's arguments against its step type: names, presence, and every value that is already known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cleanslate.errors import Origin, Problems
from cleanslate.model import SourceMap, Step
from cleanslate.playbook.check.survey import Found
from cleanslate.playbook.check.wanted import wanted
from cleanslate.playbook.forms import ALL_ARGUMENTS
from cleanslate.playbook.keywords import STEP
from cleanslate.playbook.types import spellings, step_name
from cleanslate.playbook.values import nearest, templated
from cleanslate.steps import registry
from cleanslate.steps.contract import StepType, WrongArguments, accept, known_fields, takes_any

_OMIT = re.compile(r"\bomit\b")


def check_arguments(found: Found, problems: Problems) -> None:
    """Note every mistake in a step's arguments that can be seen without a host."""
    step_type = registry.step_type(found.step.type)
    _Check(found, step_type, problems).run()


class _Check:
    def __init__(self, found: Found, step_type: StepType, problems: Problems) -> None:
        self.step: Step = found.step
        self.subject = found.subject
        self.type = step_type
        self.problems = problems
        self.args = found.step.args
        self.known = spellings(step_type)
        self.given: dict[str, str] = {}  # field -> as it is written
        self.meant: set[str] = set()  # fields whose names were most likely misspelt

    def run(self) -> None:
        self.names()
        elsewhere = default_names(self.step)
        if ALL_ARGUMENTS not in self.args and elsewhere is not None:
            self.required(elsewhere | self.meant)
            self.rules(elsewhere | self.meant)
        self.values()

    def add(self, what: str, origin: Origin | None, fix: str | None = None) -> None:
        self.problems.add(f"{self.subject}: {what}", origin, fix=fix, code="arguments")

    # ------------------------------------------------------------------ names

    def names(self) -> None:
        open_ended = takes_any(self.type.arguments) and self.type.options is None
        for key in self.args:
            field = self.known.get(key) if isinstance(key, str) else None
            if field is None:
                if key != ALL_ARGUMENTS and not open_ended and not templated(key) and not self.undocumented(key):
                    self.unknown(key)
            elif field in self.given:
                first = self.given[field]
                what = f'"{first}" and "{key}" are the same argument of {self.type.name}'
                self.add(what, self.args.key_origin(key), "keep one of them")
            else:
                self.given[field] = key

    def undocumented(self, key: Any) -> bool:
        return isinstance(key, str) and self.type.undocumented(key)

    def unknown(self, key: Any) -> None:
        name = self.type.name
        what, at = f'{name} has no argument "{key}"', self.args.key_origin(key)
        found = nearest(key, [known for known in self.known if not known.startswith("_")], taken=self.args)
        near = f'did you mean "{found}"?' if found else None
        self.meant |= {self.known[found]} if found else set()
        if key in STEP or (isinstance(key, str) and (key.startswith("with_") or key == "name")):
            fix = f'"{key}" is a keyword of steps: indent it less, so that it stands beside "{name}:"'
        elif near is None and (keyword := nearest(key, STEP, cutoff=0.75)):
            fix = f'did you mean the keyword "{keyword}"? it stands beside "{name}:", not in it'
        elif near is None and isinstance(key, str) and step_name(key):
            fix = f'"{key}" is a step type: start it as a step of its own with "- "'
        else:
            fix = near or f"its arguments are {_listed([known for known in self.known if not known.startswith('_')])}"
        self.add(what, at, fix)

    # ------------------------------------------------------------------ presence

    def required(self, elsewhere: set[str]) -> None:
        needed = [field for field, known in known_fields(self.type.arguments).items() if known.required]
        needed += [name for name, option in (self.type.options or {}).items() if option.required]
        for field in needed:
            if field not in self.given and field not in elsewhere:
                fix = self.required_fix(field)
                self.add(f'{self.type.name} needs the argument "{field}"', self.step.origin, fix)

    def required_fix(self, field: str) -> str | None:
        if field == self.type.free_form:
            return f"for example {self.type.name}: ..."
        if not self.args:
            return f'write it below "{self.type.name}:", indented'
        return None

    def rules(self, elsewhere: set[str]) -> None:
        type_ = self.type
        possible = set(self.given) | elsewhere
        certain = {field for field, key in self.given.items() if not _may_be_omitted(self.args[key])}
        for group in (*type_.exclusive, *type_.one_of):
            clash = [field for field in group if field in certain]
            if len(clash) > 1:
                what = f"{type_.name} takes only one of {_quoted(clash)}"
                self.add(what, self.args.key_origin(self.given[clash[1]]), "remove one of them")
        for group in (*type_.one_of, *type_.any_of):
            if not possible & set(group):
                few = "one" if group in type_.one_of else "at least one"
                self.add(f"{type_.name} needs {few} of {_quoted(group)}", self.step.origin)
        for group in type_.together:
            missing = [field for field in group if field not in possible]
            there = [field for field in group if field in certain]
            if there and missing:
                what = f"{type_.name} takes {_quoted([there[0]])} only together with {_quoted(missing)}"
                self.add(what, self.args.key_origin(self.given[there[0]]))

    # ------------------------------------------------------------------ values

    def values(self) -> None:
        from cleanslate.render import is_template

        literal = {
            field: _plain(self.args[key])
            for field, key in self.given.items()
            if field in self.type.unrendered or not is_template(self.args[key])
        }
        whole = len(literal) == len(self.given) and ALL_ARGUMENTS not in self.args
        try:
            accept(self.type.arguments, _by_alias(self.type, literal, self.given))
        except WrongArguments as error:
            self.refused(error.details, whole=whole)
        if self.type.check is not None:
            for name, what, fix in self.type.check(literal):
                key = self.given.get(name, name)
                self.add(what, self.args.value_origin(key) if key in self.args else self.step.origin, fix)

    def refused(self, details: Sequence[Any], *, whole: bool) -> None:
        by_place: dict[tuple[Any, ...], list[Any]] = {}
        for detail in details:
            place = tuple(detail["loc"])
            if not place:
                if whole:
                    message = str(detail["msg"]).removeprefix("Value error, ")
                    self.add(f"{self.type.name}: {message[:1].lower()}{message[1:]}", self.step.origin)
            elif len(place) > 1 or detail["type"] not in ("missing", "extra_forbidden"):
                key = self.given.get(self.known.get(str(place[0]), ""), place[0])
                path, origin = _locate(self.args, key, place[1:])
                by_place.setdefault((path, origin), []).append(detail)
        for (path, origin), group in by_place.items():
            what, fix = wanted(group)
            self.add(f'the argument "{path}" of {self.type.name}{what}', origin, fix)


def default_names(step: Step) -> set[str] | None:
    """Fields that the step's module_defaults may give; None when a template hides which."""
    found: set[str] = set()
    step_type = registry.step_type(step.type)
    for layer in step.keywords.module_defaults:
        if not isinstance(layer, Mapping):
            return None
        for name, values in layer.items():
            if isinstance(name, str) and name.startswith("group/"):
                return None
            if isinstance(name, str) and (step_name(name) == step.type or name in registry.names_of(step_type)):
                if not isinstance(values, Mapping):
                    return None
                known = spellings(step_type)
                found |= {known.get(str(key), str(key)) for key in values}
    return found


def _by_alias(step_type: StepType, literal: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    """The literal values under names that the model itself takes: as they are written."""
    return {given[field]: value for field, value in literal.items()}


def _may_be_omitted(value: Any) -> bool:
    return templated(value) and bool(_OMIT.search(value))


def _locate(args: SourceMap, key: Any, path: Sequence[Any]) -> tuple[str, Origin | None]:
    """An inner value's dotted name and place; parts that pydantic adds for itself are left out."""
    name, origin, value = str(key), args.value_origin(key), args.get(key)
    for part in path:
        if isinstance(value, Mapping) and part in value:
            name += f".{part}"
            origin = value.value_origin(part) if isinstance(value, SourceMap) else origin
            value = value[part]
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            name += f"[{part}]"
            origin = getattr(value, "item_origin", lambda _i, here=origin: here)(part) or origin
            value = value[part]
    return name, origin


def _plain(value: Any) -> Any:
    """The value as a step gets it: without the types that know their place."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return {_plain(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value


def _quoted(names: Sequence[str]) -> str:
    return " and ".join(f'"{name}"' for name in names)


def _listed(names: Sequence[str]) -> str:
    few = sorted(names)
    return ", ".join(few) if len(few) <= 12 else ", ".join(few[:12]) + ", ..."
