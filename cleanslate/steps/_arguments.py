"""Arguments of step types: pydantic models that become some only where pydantic has something to do.

Importing pydantic and building a model takes 0.15 s of processor, a fifth of what a short play takes in all. Most
arguments that people write are plainly right: text where text is meant, yes for a flag, nothing unknown. Those are
taken without it (`_taking`). Everything else (a wrong value, an unknown or missing name, a validator, a type that is
not looked through there, a schema for editors) goes to the pydantic model, which is made of the class then and has the
last word. `_later` has what stands in for pydantic's own names until that model is made; type checkers see pydantic's.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any, TypeVar

from cleanslate.dataclass import dataclass
from cleanslate.steps._later import Check, Field
from cleanslate.steps._taking import MODEL, Unsure, fields_of, taken, takes_any

_Some = TypeVar("_Some")
_making = threading.RLock()
_CONFIG = {"frozen": True, "extra": "forbid", "populate_by_name": True, "defer_build": True}
_OWN = ("_given", "_extra")
_OF_THE_CLASS = (MODEL, "__dict__", "__weakref__", "__classcell__")


class WrongArguments(ValueError):
    """Values that a step type does not take; `details` are pydantic's, one mapping for each."""

    def __init__(self, details: Sequence[Any]) -> None:
        self.details = details
        super().__init__(f"{len(details)} wrong arguments")


def accept(arguments: type[_Some], values: Mapping[str, Any]) -> _Some:
    """The frozen arguments for some values; WrongArguments says all that is wrong with them."""
    made: _Some
    try:
        made = taken(arguments, values)
        return made
    except Unsure:
        model = model_of(arguments)
    from pydantic import ValidationError

    try:
        made = model.model_validate(dict(values))
        return made
    except ValidationError as error:
        raise WrongArguments(error.errors(include_url=False)) from None


@dataclass(frozen=True)
class KnownField:
    """A field as people write it: `words` are its spellings."""

    words: Sequence[str]
    required: bool


@cache
def known_fields(arguments: Any) -> Mapping[str, KnownField]:  # a class; mypy takes none for hashable
    """The fields of an argument class, in order."""
    fields = fields_of(arguments)
    if fields is not None:
        return {name: KnownField(field.words, field.required) for name, field in fields.items()}
    model = model_of(arguments)
    by_name = bool(model.model_config.get("populate_by_name") or model.model_config.get("validate_by_name"))
    found = {}
    for name, info in model.model_fields.items():
        aliases = [*_choices(info.alias), *_choices(info.validation_alias)]
        own = [name] if not aliases or (by_name and not name.endswith("_")) else []
        found[name] = KnownField(tuple(dict.fromkeys((*own, *aliases))), info.is_required())
    return found


def _choices(alias: Any) -> Iterable[str]:
    if isinstance(alias, str):
        return (alias,)
    return tuple(choice for choice in getattr(alias, "choices", ()) if isinstance(choice, str))


# --------------------------------------------------------------------------- the class, and the model made of it


class _Model(type):
    """The class of argument classes: what it does not know itself, the pydantic model is asked."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(model_of(cls), name)

    def __call__(cls, **values: Any) -> Any:
        """Make an instance; wrong values are pydantic's ValidationError."""
        try:
            return taken(cls, values)
        except Unsure:
            return model_of(cls)(**values)

    def __instancecheck__(cls, instance: Any) -> bool:
        made = cls.__dict__.get(MODEL)
        return super().__instancecheck__(instance) or (made is not None and isinstance(instance, made))


class StepArguments(metaclass=_Model):
    """The arguments of a step type, after rendering. Unknown keys are refused; every field has a docstring."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Inside another model, this class stands for its own."""
        return handler(model_of(cls))

    @property
    def model_fields_set(self) -> set[str]:
        """The fields that were given."""
        return set(vars(self)["_given"])

    @property
    def model_extra(self) -> dict[str, Any] | None:
        """What was given without a field for it; None where that is refused."""
        return vars(self)["_extra"] if takes_any(type(self)) else None

    def model_dump(self, include: Collection[str] | None = None, exclude: Collection[str] = ()) -> dict[str, Any]:
        """The values by name, all of them or some."""
        values = {name: value for name, value in vars(self).items() if name not in _OWN} | vars(self)["_extra"]
        names = [name for name in values if name not in exclude and (include is None or name in include)]
        return {name: _dumped(values[name]) for name in names}

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__qualname__} is frozen: {name} cannot be set")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]  # values may be lists

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if name not in _OWN)
        return f"{type(self).__qualname__}({said})"


def _dumped(value: Any) -> Any:
    """A value with mappings in place of arguments, and nothing shared that can be changed."""
    if isinstance(value, StepArguments):
        return value.model_dump()
    if isinstance(value, dict):
        return {key: _dumped(one) for key, one in value.items()}
    return [_dumped(one) for one in value] if isinstance(value, list) else value


def model_of(arguments: type[Any]) -> Any:
    """The pydantic model of an argument class, made when it is first wanted."""
    made = arguments.__dict__.get(MODEL)
    if made is not None:
        return made
    with _making:
        made = arguments.__dict__.get(MODEL)
        if made is None:
            made = _make(arguments)
            type.__setattr__(arguments, MODEL, made)
    return made


def _make(arguments: type[Any]) -> Any:
    _forget_plugins()
    from pydantic import BaseModel

    kind: Any = type(BaseModel)
    if arguments is StepArguments:
        names = {"__module__": __name__, "__qualname__": "StepArguments", "__doc__": arguments.__doc__}
        return kind("StepArguments", (BaseModel,), {**names, "model_config": _CONFIG})
    bases = tuple(model_of(base) if isinstance(base, _Model) else base for base in arguments.__bases__)
    names = {name: _real(value) for name, value in vars(arguments).items() if name not in _OF_THE_CLASS}
    return kind(arguments.__name__, bases, names)


def _real(value: Any) -> Any:
    """Pydantic's own, for what stands in for it."""
    import pydantic

    if isinstance(value, Field):
        named = dict(value.named)
        for name in ("alias", "validation_alias"):
            if isinstance(named.get(name), tuple):
                named[name] = pydantic.AliasChoices(*named[name])
        return pydantic.Field(*value.given, **named)
    if isinstance(value, Check):
        return getattr(pydantic, value.decorator)(*value.given, **value.named)(value.method)
    return value


def _forget_plugins() -> None:
    """Before it builds a model, pydantic reads the metadata of every installed distribution to find plugins: 20 ms."""
    none = ModuleType("pydantic.plugin._loader")
    none.get_plugins = lambda: ()  # type: ignore[attr-defined]  # a module's names are not declared
    sys.modules.setdefault(none.__name__, none)
