"""What stands in for pydantic's names in the files of step types, until pydantic has something to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cleanslate.dataclass import dataclass


class Field:
    """A field that is more than its type and default: pydantic's `Field`, later."""

    def __init__(self, *given: Any, **named: Any) -> None:
        self.given = given
        self.named = named

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """In `Annotated` this would be taken for nothing."""
        raise TypeError("inside Annotated, write pydantic's own Field")


def AliasChoices(*choices: str) -> tuple[str, ...]:
    """The names that a field may be given by."""
    return choices


@dataclass(frozen=True)
class BeforeValidator:
    """In `Annotated`: what the value is given to before its type is looked at."""

    function: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """What pydantic asks an annotation."""
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(self.function, schema=handler(source))


@dataclass(frozen=True)
class AfterValidator:
    """In `Annotated`: what the value is given to once it has its type."""

    function: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """What pydantic asks an annotation."""
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(self.function, schema=handler(source))


@dataclass(frozen=True)
class Check:
    """A method that pydantic is to call, and its decorator there."""

    decorator: str
    given: tuple[Any, ...]
    named: Mapping[str, Any]
    method: Any = None

    def __call__(self, method: Any) -> Check:
        """Decorate a method."""
        return Check(self.decorator, self.given, self.named, method)


def field_validator(*given: Any, **named: Any) -> Check:
    """Pydantic's, later."""
    return Check("field_validator", given, named)


def model_validator(*given: Any, **named: Any) -> Check:
    """Pydantic's, later."""
    return Check("model_validator", given, named)
