"""What the playbook language knows of step types: their names, arguments and free-form text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

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

# Modules of ansible-core; a name from here that is no step type is not misspelt, only not there.
_ANSIBLE_NAMES = """
    add_host apt apt_key apt_repository assemble assert async_status blockinfile command copy cron deb822_repository
    debconf debug dnf dnf5 dpkg_selections expect fail fetch file find gather_facts get_url getent git group
    group_by hostname import_playbook import_role import_tasks include_role include_tasks include_vars iptables
    known_hosts lineinfile meta mount_facts package package_facts pause ping pip raw reboot replace rpm_key script
    service service_facts set_fact set_stats setup shell slurp stat subversion systemd systemd_service sysvinit
    tempfile template unarchive uri user validate_argument_spec wait_for wait_for_connection yum yum_repository
"""
_ANSIBLE = frozenset(_ANSIBLE_NAMES.split())


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


def unknown_name(word: str) -> tuple[str, str | None]:
    """What to say about a step type that there is not, and what to do."""
    short = word.removeprefix("ansible.builtin.").removeprefix("ansible.legacy.")
    if short in _ANSIBLE:
        return (
            f'the step type "{word}" is one of Ansible\'s that cleanslate does not have',
            "inv steps lists those it has",
        )
    if short.count(".") >= 2:
        collection = ".".join(short.split(".")[:2])
        what = f'the step type "{word}" is of the collection {collection}, which is not known here'
        return what, "inv steps lists all there are"
    return f'there is no step type "{word}"', did_you_mean(short, known_names())


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
    return _model_spellings(step_type.arguments)


@cache
def _model_spellings(model: type[StepArguments]) -> dict[str, str]:
    """Every way to write a model's fields -> the field; a field's name, alias and validation aliases all count."""
    found: dict[str, str] = {}
    by_name = bool(model.model_config.get("populate_by_name") or model.model_config.get("validate_by_name"))
    for field, info in model.model_fields.items():
        aliases = [*_choices(info.alias), *_choices(info.validation_alias)]
        # `validate_` is only how `validate` is spelt in Python, where models have a method of that name.
        if not aliases or (by_name and not field.endswith("_")):
            found.setdefault(field, field)
        for alias in aliases:
            found.setdefault(alias, field)
    return found


def _choices(alias: Any) -> Iterable[str]:
    if isinstance(alias, str):
        return (alias,)
    return tuple(choice for choice in getattr(alias, "choices", ()) if isinstance(choice, str))
