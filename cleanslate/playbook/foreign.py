"""Step types that are not built in: the repository's own, and Ansible's modules, found from where a step stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cleanslate.errors import InputError
from cleanslate.playbook.loader import Loader, Scope
from cleanslate.playbook.types import LANGUAGE_ARGUMENTS, step_name
from cleanslate.steps import registry

if TYPE_CHECKING:
    from cleanslate.modules import Module, Places

Said = tuple[str, str | None]


def type_at(word: str, entry: Mapping[Any, Any], scope: Scope, loader: Loader) -> str | Said | None:
    """The canonical name of the step type that a word stands for at a place; why it cannot be used; None for none."""
    collections = _collections(entry, scope, loader)
    known = step_name(word)
    if known in LANGUAGE_ARGUMENTS or (known is not None and not (collections and "." not in word)):
        return known
    if not all(part.isidentifier() for part in word.split(".")):
        return known
    if known is None and (own := _own(word, loader)) is not None:
        return own
    from cleanslate.modules import Module, Places, find_module

    around = [scope.role, *reversed(scope.role.parents)] if scope.role is not None else []
    beside = (*(role.path for role in around), loader.playbook_dir.absolute())
    if known is None:
        return _module(word, Places(beside, collections))
    named = (find_module(f"{name}.{word}", Places(beside)) for name in collections if not name.startswith("ansible."))
    found = next((one for one in named if isinstance(one, Module)), None)  # one of the same name comes first
    return _known(found) if found is not None else known


def _own(word: str, loader: Loader) -> str | Said | None:
    """A step type of the repository's own; what is wrong with its file is noted where it stands there."""
    from cleanslate.playbook.own import own_type

    try:
        found = own_type(word, loader.playbook_dir.absolute())
    except InputError as error:
        loader.problems.include(error)
        return f'the step type "{word}" of this repository is broken', "mend its file"
    if found is None:
        return None
    loader.files[found[1]] = None
    return found[0].name


def _module(word: str, places: Places) -> str | Said | None:
    from cleanslate.modules import Refused, find_module, package_type

    dispatching = package_type(word)
    if dispatching is not None:
        registry.add(dispatching)
        return dispatching.name
    found = find_module(word, places)
    if isinstance(found, Refused):
        return found.what, found.fix
    return _in_library(word, places) if found is None else _known(found)


def _known(module: Module) -> str:
    from cleanslate.modules import module_type

    step_type = module_type(module)
    registry.add(step_type)
    return step_type.name


def _in_library(word: str, places: Places) -> Said | None:
    """A module in a `library/` folder that cannot be run without ansible-core."""
    from cleanslate.modules.find import ansible_root, bring, library_file

    if ansible_root() is not None or library_file(word, places) is None:
        return None
    what = f'the step type "{word}" is a module in a folder "library", which runs through ansible-core'
    return what, f"install that beside cleanslate: {bring()}"


def _collections(entry: Mapping[Any, Any], scope: Scope, loader: Loader) -> tuple[str, ...]:
    """The collections that short names may be of: the step's, else the block's, else its role's, else its play's."""
    own = entry.get("collections")
    if own:
        return tuple(map(str, own if isinstance(own, list) else [own]))
    if scope.collections is not None:
        return scope.collections
    if scope.role is not None:
        return scope.role.collections
    return loader.play.collections if loader.play is not None else ()
