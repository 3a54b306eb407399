"""Finds filters, tests and lookups by name, short or in full (`ansible.builtin.x`), importing files on first use."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from cleanslate.errors import RenderError
from cleanslate.render.marks import Undefined
from cleanslate.render.values import listed

Function = TypeVar("Function", bound=Callable[..., Any])

_PREFIXES = ("ansible.builtin.", "ansible.legacy.")


def short_name(name: str) -> str:
    """A name without the collection that everything here belongs to."""
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name[len(prefix) :]
    return name


def takes_undefined(function: Function) -> Function:
    """Mark a filter or test that wants undefined values instead of giving them back."""
    function.takes_undefined = True  # type: ignore[attr-defined]  # functions have room for marks
    return function


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a filter give back an undefined value it was handed, and lists instead of generators."""
    if getattr(function, "takes_undefined", False):
        return function

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        for value in args:
            if isinstance(value, Undefined):
                return value
        for value in options.values():
            if isinstance(value, Undefined):
                return value
        return listed(function(*args, **options))

    return call


class Registry(dict[str, Any]):
    """Names to functions, as Jinja wants them. `families` says in which file of `package` each of ours is."""

    def __init__(
        self,
        builtin: Mapping[str, Any],
        package: str,
        families: Mapping[str, tuple[str, ...]],
        refused: Mapping[str, str],
    ) -> None:
        super().__init__({name: guarded(function) for name, function in builtin.items()})
        self._package = package
        self._family = {name: family for family, names in families.items() for name in names}
        self.refused = refused
        for name in self._family:
            self.pop(name, None)

    def names(self) -> list[str]:
        """Every name that works."""
        return sorted({*self, *self._family})

    def get(self, name: Any, default: Any = None) -> Any:
        """Give the function, or the default."""
        if not isinstance(name, str):
            return default
        name = short_name(name)
        if dict.__contains__(self, name):
            return dict.__getitem__(self, name)
        if name in self._family:
            module = importlib.import_module(f"{self._package}.{self._family[name]}")
            function = self[name] = guarded(module.FUNCTIONS[name])
            return function
        if name in self.refused:
            return functools.partial(_refuse, name, self.refused[name])
        return default

    def __getitem__(self, name: str) -> Any:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return self.get(name) is not None

    def copy(self) -> Registry:
        """Registries are shared, not copied."""
        return self


def _refuse(name: str, why: str, *_args: Any, **_options: Any) -> Any:
    raise RenderError(f'"{name}" is not supported: {why}')


def iterate(value: Any, name: str) -> Iterator[Any]:
    """Go through a list, or say which filter wanted one."""
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
        raise RenderError(f"{name} wants a list, not {type(value).__name__}")
    return iter(value)
