"""What the playbook language knows of step types: their names, arguments and free-form text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from cleanslate.playbook.values import did_you_mean
from cleanslate.steps import registry

if TYPE_CHECKING:
    from cleanslate.steps.contract import StepArguments, StepType

# The language's own words that stand where a step type stands: arguments, and where free text goes.
IMPORTS: Mapping[str, str | None] = {"import_tasks": "file", "import_role": None}
INCLUDES: Mapping[str, str | None] = {"include_tasks": "file", "include_role": None}
_ROLE_FILES = ("tasks_from", "vars_from", "defaults_from", "handlers_from")
_ROLE_ARGUMENTS = ("name", "role", *_ROLE_FILES, "allow_duplicates", "public", "rolespec_validate")
LANGUAGE_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "import_tasks": ("file",),
    "include_tasks": ("file", "apply"),
    "import_role": _ROLE_ARGUMENTS,
    "include_role": (*_ROLE_ARGUMENTS, "apply"),
}
_PREFIXES = ("ansible.builtin.", "ansible.legacy.")


def step_name(word: str) -> str | None:
    """The canonical name of a step type, import or include; None when there is none of that name."""
    short = word
    for prefix in _PREFIXES:
        short = short.removeprefix(prefix)
    if short in LANGUAGE_ARGUMENTS:
        return short
    return registry.canonical(word)


def known_names() -> list[str]:
    """Every name that may stand as a step type, in its short form."""
    aliases = (alias for alias, name in registry.ALIASES.items() if name in registry.step_names())
    return sorted({*registry.step_names(), *LANGUAGE_ARGUMENTS, *aliases})


def unknown_name(word: str, also: Iterable[str] = ()) -> tuple[str, str]:
    """What to say about a step type that there is not, and what to do; `also` are other words that may be meant."""
    from cleanslate.modules.find import ansible_root, bring, core_modules, plausible, routed_names

    short = word.removeprefix("ansible.builtin.").removeprefix("ansible.legacy.")
    if plausible(word):
        if ansible_root() is None:
            what = f'the step type "{word}" is a module of Ansible\'s, which runs through ansible-core'
            return what, f"install that beside cleanslate: {bring()}"
        return f'the step type "{word}" is not in the ansible-core that is installed', "inv steps lists our own"
    what = f'there is no step type "{word}"'
    near = did_you_mean(short, {*known_names(), *core_modules(), *also})
    near = near or did_you_mean(short, routed_names(), cutoff=0.8)
    if near is None and ansible_root() is None:
        near = f"inv steps lists all there are, and {bring()} brings Ansible's modules"
    return what, near or "inv steps lists all there are"


def free_form(name: str) -> str | None:
    """The argument that a step type's free text goes to, if it takes any."""
    if name in LANGUAGE_ARGUMENTS:
        return {**IMPORTS, **INCLUDES}[name]
    return registry.step_type(name).free_form


def argument_names(name: str) -> list[str]:
    """The arguments of a step type as people may write them, aliases too."""
    if name in LANGUAGE_ARGUMENTS:
        return list(LANGUAGE_ARGUMENTS[name])
    return list(spellings(registry.step_type(name)))


def spellings(step_type: StepType) -> dict[str, str]:
    """Every way to write a step type's arguments -> the field that it is for."""
    if step_type.options is not None:
        return {word: name for name, one in step_type.options.items() for word in (*one.aliases, name)}
    return _model_spellings(step_type.arguments)


@cache
def _model_spellings(arguments: type[StepArguments]) -> dict[str, str]:
    from cleanslate.steps.contract import known_fields

    found: dict[str, str] = {}
    for name, field in known_fields(arguments).items():
        for word in field.words:
            found.setdefault(word, name)
    return found
