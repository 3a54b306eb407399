"""Takes arguments that are plainly right, as pydantic would; Unsure of everything else, which is left to pydantic."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from inspect import get_annotations
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from cleanslate.model import SourceList, SourceMap, SourceText
from cleanslate.steps._later import AfterValidator, BeforeValidator, Check, Field

MODEL = "_made"
"""Where a class keeps the pydantic model that was made of it."""
_CONFIG = {"extra", "frozen", "populate_by_name", "defer_build"}
_MISSING = object()
_Take = Callable[[Any], Any]


class Unsure(Exception):
    """Pydantic has to look."""


class _Known:
    """What is known of a field without pydantic."""

    def __init__(self, name: str, owner: type[Any], said: Any, value: Any) -> None:
        self.said = said
        self.owner = owner
        options: Mapping[str, Any] = {}
        if isinstance(value, Field):
            options = value.named
            value = value.given[0] if value.given else options.get("default", _MISSING)
        self.default = value
        self.factory = options.get("default_factory")
        self.required = value is _MISSING and self.factory is None
        self.aliases = [*_names(options.get("alias")), *_names(options.get("validation_alias"))]
        # `validate_` is only how `validate` is spelt in Python, where models have a method of that name.
        own = [] if self.aliases and name.endswith("_") else [name]
        self.words = list(dict.fromkeys((*own, *self.aliases)))
        self.bounds = {key: options[key] for key in _BOUNDS if key in options}
        self.looked_through = set(options) <= {*_BOUNDS, "alias", "validation_alias", "default", "default_factory"}
        self.checks: list[Check] = []
        self.taker: _Take | None = None

    def take(self, value: Any) -> Any:
        """The value as pydantic would give it, or Unsure."""
        if not self.looked_through or len(self.checks) > 1:
            raise Unsure
        if self.taker is None:
            self.taker = self._whole()
        return self.taker(value)

    def _whole(self) -> _Take:
        take = _taker(_meaning(self.owner, self.said))

        def bounded(value: Any) -> Any:
            found = take(value)
            if found is not None and not all(_BOUNDS[key](found, bound) for key, bound in self.bounds.items()):
                raise Unsure
            return found

        if not self.checks:
            return bounded
        check = self.checks[0]
        function = partial(check.method.__func__, self.owner)
        return _before(function, bounded) if check.named.get("mode") == "before" else _after(function, bounded)

    def fresh(self) -> Any:
        """The default, as an own copy where it could be changed."""
        if self.factory is not None:
            return self.factory()
        return copy.deepcopy(self.default) if self.default.__class__.__hash__ is None else self.default


_BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "ge": lambda value, bound: bool(value >= bound),
    "gt": lambda value, bound: bool(value > bound),
    "le": lambda value, bound: bool(value <= bound),
    "lt": lambda value, bound: bool(value < bound),
    "min_length": lambda value, bound: len(value) >= bound,
}


def _names(alias: Any) -> Iterable[str]:
    return (alias,) if isinstance(alias, str) else alias or ()


@cache
def fields_of(arguments: Any) -> Mapping[str, _Known] | None:
    """An argument class's fields by name, the inherited ones first; None where only pydantic knows them."""
    found: dict[str, _Known] = {}
    for owner in reversed(arguments.__mro__[:-1]):
        own = vars(owner)
        if set(own.get("model_config", {})) - _CONFIG or any(_pydantics(value) for name, value in own.items()):
            return None
        for name, said in get_annotations(owner).items():
            if name.startswith("_") or str(said).startswith("ClassVar"):
                return None
            found[name] = _Known(name, owner, said, own.get(name, _MISSING))
    for check in (value for owner in arguments.__mro__ for value in vars(owner).values() if isinstance(value, Check)):
        if check.decorator == "model_validator" and check.named.get("mode") != "after":
            return None
        for name in check.given:
            found[name].checks.append(check)
    return found


def _pydantics(value: Any) -> bool:
    """Whether it is one of pydantic's own, or for it alone."""
    if isinstance(value, Check):
        return set(value.named) > {"mode"} or value.named.get("mode", "after") not in ("after", "before")
    return type(value).__module__.partition(".")[0] == "pydantic" and not isinstance(value, type)


def takes_any(arguments: type[Any]) -> bool:
    """Whether an argument class takes names that it has no field for."""
    said = (vars(owner).get("model_config", {}).get("extra") for owner in arguments.__mro__)
    return next((extra for extra in said if extra is not None), None) == "allow"


@cache
def _checks_of(arguments: Any) -> list[Check]:
    """What looks at the whole of the arguments, once each field has its value."""
    every = [value for owner in arguments.__mro__ for value in vars(owner).values() if isinstance(value, Check)]
    return [check for check in every if check.decorator == "model_validator"]


def taken(arguments: Any, values: Mapping[str, Any]) -> Any:
    """An instance for values that are plainly right; Unsure otherwise."""
    fields = fields_of(arguments)
    if fields is None:
        raise Unsure
    left = dict(values)
    found: dict[str, Any] = {}
    given = []
    for name, field in fields.items():
        words = [word for word in dict.fromkeys((name, *field.aliases)) if word in left]
        if len(words) > 1 or (not words and field.required):
            raise Unsure
        if words:
            given.append(name)
            found[name] = field.take(left.pop(words[0]))
        else:
            found[name] = field.fresh()
    if left and not (takes_any(arguments) and all(type(name) is str for name in left)):
        raise Unsure
    made = object.__new__(arguments)
    vars(made).update(found, _given=[*given, *left], _extra=left)
    for check in _checks_of(arguments):
        _tried(check.method, made)
    return made


# --------------------------------------------------------------------------- types


def _meaning(owner: type[Any], said: Any) -> Any:
    if not isinstance(said, str):
        return said
    around = vars(sys.modules[owner.__module__])
    try:
        return get_type_hints(_Annotated(said), globalns=around, include_extras=True)["it"]
    except (NameError, TypeError, AttributeError, SyntaxError):
        raise Unsure from None


class _Annotated:
    """Something with one annotation."""

    def __init__(self, said: str) -> None:
        self.__annotations__ = {"it": said}


def _taker(meaning: Any) -> _Take:
    """What takes values of a type; it is Unsure of all that is not of it already, or by its BeforeValidator."""
    if meaning in _SIMPLE:
        return _SIMPLE[meaning]
    parts = get_args(meaning)
    kind = get_origin(meaning)
    if kind is Annotated:
        return _marked(parts[1:], _taker(parts[0]))
    if kind in (Union, UnionType) and len(parts) == 2 and NoneType in parts:
        inner = _taker(parts[0] if parts[1] is NoneType else parts[1])
        return lambda value: None if value is None else inner(value)
    if kind is Literal:
        return lambda value: _one_of(parts, value)
    if kind is list:
        each = _taker(parts[0])
        return lambda value: [each(one) for one in _exactly(value, list, SourceList)]
    if kind is dict:
        key, inner = _taker(parts[0]), _taker(parts[1])
        return lambda value: {key(k): inner(v) for k, v in _exactly(value, dict, SourceMap).items()}
    raise Unsure


def _marked(marks: tuple[Any, ...], take: _Take) -> _Take:
    for mark in marks:
        if isinstance(mark, BeforeValidator):
            take = _before(mark.function, take)
        elif isinstance(mark, AfterValidator):
            take = _after(mark.function, take)
        else:
            raise Unsure
    return take


def _before(function: _Take, take: _Take) -> _Take:
    return lambda value: take(_tried(function, value))


def _after(function: _Take, take: _Take) -> _Take:
    return lambda value: _tried(function, take(value))


def _tried(function: _Take, value: Any) -> Any:
    try:
        return function(value)
    except (ValueError, AssertionError):
        raise Unsure from None


def _exactly(value: Any, *kinds: type[Any]) -> Any:
    if type(value) in kinds:
        return value
    raise Unsure


def _one_of(choices: tuple[Any, ...], value: Any) -> Any:
    for choice in choices:
        if type(choice) is type(value) and choice == value:
            return choice
    raise Unsure


_SIMPLE: dict[Any, _Take] = {
    Any: lambda value: value,
    str: lambda value: str(_exactly(value, str, SourceText)),
    bool: lambda value: _exactly(value, bool),
    int: lambda value: _exactly(value, int),
    float: lambda value: _exactly(value, float),
}
