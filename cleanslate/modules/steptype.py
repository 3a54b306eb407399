"""One of Ansible's modules as a step type: its arguments as documented, its run, and its result as it gives it."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from cleanslate.model import Answer
from cleanslate.modules import packaging
from cleanslate.modules.documents import documentation, examples, mentioned, options_of
from cleanslate.modules.find import Module
from cleanslate.modules.groups import groups_of
from cleanslate.modules.results import declined, outcome_of
from cleanslate.steps.contract import (
    Behaviour,
    Change,
    ConfigDict,
    Option,
    StepArguments,
    StepContext,
    StepType,
    as_flag,
)

_BOTH = {"changed": "whether it changed something", "msg": "what it says"}


class ModuleArguments(StepArguments):
    """The arguments as they are written: the module itself looks at them."""

    model_config = ConfigDict(extra="allow")


@cache
def module_type(module: Module) -> StepType:
    """The step type that runs a module."""
    packaging.want(module)
    said = documentation(module)
    options = options_of(module)
    full = (module.full_name, *module.aliases)
    return StepType(
        name=module.name,
        arguments=ModuleArguments,
        behave=lambda args, context: _behave(module, args, context),
        summary=str(said.get("short_description") or f"The module {module.full_name}.").rstrip(".") + ".",
        example=examples(module) if said else "",
        notes=f"A module of Ansible's ({module.full_name}), run on the target as it is.",
        returns=_BOTH,
        repeatable=False,
        foretells=False,
        ansible_name=None if module.name.count(".") else "ansible.builtin",
        aliases=tuple(dict.fromkeys(one for one in full if one != module.name)),
        check=lambda literal: _check(module, options or {}, literal),
        options=options,
        undocumented=lambda word: mentioned(module, word),
        groups=lambda: groups_of(module),
        background=True,
    )


def _check(
    module: Module, options: Mapping[str, Option], literal: Mapping[str, Any]
) -> Sequence[tuple[str, str, str | None]]:
    """What is wrong with the values that are known already: only choices, as everything else may be converted."""
    found: list[tuple[str, str, str | None]] = []
    for name, value in literal.items():
        option = options.get(name)
        if option is None or not option.choices or not isinstance(value, str | int) or option.kind == "list":
            continue
        if str(value) not in map(str, option.choices) and as_flag(value) not in option.choices:
            said = f'the argument "{name}" of {module.name} cannot be "{value}"'
            found.append((name, said, f"one of {', '.join(map(str, option.choices))}"))
    return found


# ---------------------------------------------------------------------- running it


def _behave(module: Module, args: ModuleArguments, context: StepContext) -> Behaviour:
    package = packaging.package(module)
    given = {name: _plain(value) for name, value in (args.model_extra or {}).items()}
    for text in _secrets(given, package.secrets):
        context.secret(text)
    call: dict[str, Any] = {
        "part": package.digest,
        "style": package.style,
        "place": package.place,
        "arguments": {**given, **_internals(package, context)},
        "environment": dict(context.environment),
    }
    parts = {package.digest: package.data}

    def foretold() -> Mapping[str, Any] | None:
        if package.style not in ("python", "text"):
            return None  # a program of any kind, that need not know of check mode
        answer = context.read("modules.foretell", parts=parts, **call)
        return None if declined(answer) else answer.values

    answer: Answer = yield Change(
        f"run {module.name}", "modules.run", call, predicted=foretold, parts=parts, alters=False
    )
    return outcome_of(module, given, answer, context)


def _internals(package: packaging.Package, context: StepContext) -> dict[str, Any]:
    """What Ansible tells every module beside its arguments."""
    now = {
        "_ansible_diff": context.diff,
        "_ansible_no_log": context.no_log,
        "_ansible_verbosity": context.verbosity,
    }
    return {**package.internals, **now}


def _secrets(value: Any, names: frozenset[str], *, inside: bool = False) -> Iterator[str]:
    """Every text below an argument, or a part of one, that the module marks as secret."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _secrets(inner, names, inside=inside or name in names)
    elif isinstance(value, list):
        for inner in value:
            yield from _secrets(inner, names, inside=inside)
    elif inside and value is not None and not isinstance(value, bool):
        yield str(value)


def _plain(value: Any) -> Any:
    """A value as JSON takes it; dates as text, as Ansible hands them over."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(inner) for inner in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    return str(value) if isinstance(value, str) else value
