"""A host's variables: layers of raw values, of which the last that has a name wins, rendered when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cleanslate.errors import suggest
from cleanslate.render.marks import UndefinedVariable

if TYPE_CHECKING:
    from cleanslate.render.renderer import Renderer

MISSING: Any = object()
"""No such name; an undefined *value* is an Undefined."""

_NO_COPY = (str, int, float, bool, type(None))


class Variables(Mapping[str, Any]):
    """Variables as templates and steps see them. Each is rendered at most once.

    Subscripting gives plain data and raises UndefinedVariable (a RenderError and a KeyError) for a name that is
    not defined, RenderError for one that cannot be rendered. Templates read through `resolve`, which is lazy.
    """

    leads_around = ("hostvars", "vars")
    __slots__ = ("_layers", "_memo", "_plain", "renderer")

    def __init__(self, layers: Sequence[Mapping[str, Any]], renderer: Renderer) -> None:
        self._layers = tuple(reversed(layers))
        self._memo: dict[str, Any] = {}
        self._plain: dict[str, Any] = {}
        self.renderer = renderer

    def with_layers(self, *more: Mapping[str, Any]) -> Variables:
        """These variables with layers above; nothing rendered so far is taken over, as it may depend on them."""
        return Variables([*reversed(self._layers), *more], self.renderer)

    def raw(self, name: str) -> Any:
        """The value as written, of the layer that wins; KeyError where no layer has the name."""
        for layer in self._layers:
            if name in layer:
                return layer[name]
        raise KeyError(name)

    def resolve(self, name: str) -> Any:
        """The value for a template: containers are lazy, what fails is an Undefined, an unknown name MISSING."""
        if name in self._memo:
            return self._memo[name]
        for layer in self._layers:
            if name in layer:
                value = self._memo[name] = self.renderer.lazy(layer[name], self)
                return value
        return MISSING

    def __getitem__(self, name: str) -> Any:
        if name in self._plain:
            return self._plain[name]
        value = self.resolve(name)
        if value is MISSING:
            raise UndefinedVariable(f'"{name}" is undefined', fix=suggest(name, self))
        if not isinstance(value, Variables) and (isinstance(value, dict) or not isinstance(value, Mapping)):
            value = self.renderer.plain(value, self.raw(name))
        self._plain[name] = value
        return value

    def get(self, name: str, default: Any = None) -> Any:
        """Give the value, or the default where no layer has the name."""
        return self[name] if name in self else default  # noqa: SIM401 - this is get

    def __contains__(self, name: object) -> bool:
        return any(name in layer for layer in self._layers)

    def __iter__(self) -> Iterator[str]:
        seen: dict[str, None] = {}
        for layer in reversed(self._layers):
            seen.update(dict.fromkeys(layer))
        return iter(seen)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<Variables: {len(self)} names>"
