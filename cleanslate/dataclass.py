"""Data classes as `dataclasses.dataclass` makes them, without the 1 ms that each of those costs at import.

The standard library writes out and compiles four or five functions for every class when it is defined, and a run
defines eighty. Here comparing, hashing, showing and refusing to change are functions that are there already, and
`__init__` is compiled for the first instance. `fields`, `replace`, `asdict`, `field` and `match` work as they do there.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import inspect
    import reprlib
    from collections.abc import Callable
    from operator import attrgetter
    from typing import Any

    def dataclass(cls: Any = None, /, *, frozen: bool = False, eq: bool = True) -> Any:
        """The decorator: fields are the annotated names, defaults and `field()` as in the standard library.

        Of its options there are `frozen` and `eq`. A class with a method of its own by a name below keeps it.
        """
        if cls is None:
            return lambda given: dataclass(given, frozen=frozen, eq=eq)
        fields = _fields(cls)
        cls.__dataclass_fields__ = fields
        cls.__match_args__ = tuple(fields)
        _keep(cls, "__init__", _init_later(cls, fields, frozen=frozen))
        _keep(cls, "__repr__", _repr)
        if eq:
            values = _values([name for name, one in fields.items() if one.compare])
            _keep(cls, "__eq__", _eq(values))
            if cls.__dict__.get("__hash__") is None:
                cls.__hash__ = _hash(values) if frozen else None
        if frozen:
            cls.__setattr__ = _setattr(cls, fields)
            cls.__delattr__ = _delattr(cls, fields)
        return cls

    def _keep(cls: type, name: str, function: Callable[..., Any]) -> None:
        if name not in cls.__dict__:
            setattr(cls, name, function)

    def _fields(cls: type) -> dict[str, dataclasses.Field]:
        """The inherited fields and the class's own, in order, as `dataclasses.fields` looks for them."""
        fields: dict[str, dataclasses.Field] = {}
        for base in reversed(cls.__mro__[1:]):
            fields.update(base.__dict__.get("__dataclass_fields__", {}))
        for name, annotation in inspect.get_annotations(cls).items():
            if str(annotation).startswith(("ClassVar", "typing.ClassVar")):
                continue
            fields[name] = _field(cls, name, annotation)
        return fields

    def _field(cls: type, name: str, annotation: Any) -> dataclasses.Field:
        default = cls.__dict__.get(name, dataclasses.MISSING)
        one = default if isinstance(default, dataclasses.Field) else dataclasses.field(default=default)
        if one is default:
            if one.default is dataclasses.MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, one.default)
        if one.default.__class__.__hash__ is None:
            raise ValueError(f"{cls.__name__}.{name}: a default that can change is shared; use default_factory")
        # What the standard library tells fields from class variables by.
        one.name, one.type, one._field_type = name, annotation, dataclasses._FIELD
        return one

    def _init_later(cls: type, fields: dict[str, dataclasses.Field], *, frozen: bool) -> Callable[..., None]:
        """An `__init__` that compiles the real one and gives way to it; two threads may do so at once."""

        def __init__(self: Any, *values: Any, **named: Any) -> None:
            real = _init(cls, fields, frozen=frozen)
            cls.__init__ = real
            real(self, *values, **named)

        return __init__

    def _init(cls: type, fields: dict[str, dataclasses.Field], *, frozen: bool) -> Callable[..., None]:
        known: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": dataclasses.MISSING}
        takes, does = ["self"], []
        for name, one in fields.items():
            value = name
            if one.default_factory is not dataclasses.MISSING:
                known[f"_new_{name}"] = one.default_factory
                takes.append(f"{name}=_MISSING")
                value = f"_new_{name}() if {name} is _MISSING else {name}"
            elif one.default is not dataclasses.MISSING:
                known[f"_default_{name}"] = one.default
                takes.append(f"{name}=_default_{name}")
            else:
                takes.append(name)
            does.append(f" _set(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            does.append(" self.__post_init__()")
        exec(f"def __init__({', '.join(takes)}):\n" + "\n".join(does or [" pass"]), known)
        made = known["__init__"]
        made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
        return made

    def _values(names: list[str]) -> Callable[[Any], Any]:
        """What two instances are compared by."""
        if len(names) == 1:
            one = attrgetter(names[0])
            return lambda self: (one(self),)
        return attrgetter(*names) if names else lambda _: ()

    def _eq(values: Callable[[Any], Any]) -> Callable[..., Any]:
        def __eq__(self: Any, other: Any) -> Any:
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        return __eq__

    def _hash(values: Callable[[Any], Any]) -> Callable[..., int]:
        def __hash__(self: Any) -> int:
            return hash(values(self))

        return __hash__

    @reprlib.recursive_repr()
    def _repr(self: Any) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name, one in self.__dataclass_fields__.items() if one.repr)
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    def _setattr(cls: type, fields: dict[str, dataclasses.Field]) -> Callable[..., None]:
        def __setattr__(self: Any, name: str, value: Any) -> None:
            if type(self) is cls or name in fields:
                raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
            super(cls, self).__setattr__(name, value)

        return __setattr__

    def _delattr(cls: type, fields: dict[str, dataclasses.Field]) -> Callable[..., None]:
        def __delattr__(self: Any, name: str) -> None:
            if type(self) is cls or name in fields:
                raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
            super(cls, self).__delattr__(name)

        return __delattr__
