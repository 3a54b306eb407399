"""Arguments that are taken without pydantic are what pydantic would have made of them."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated, Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as some
from pydantic import ValidationError

from cleanslate.model import SourceList, SourceMap, SourceText
from cleanslate.steps._arguments import model_of
from cleanslate.steps._taking import Unsure, fields_of, taken
from cleanslate.steps.contract import (
    Field,
    StepArguments,
    Text,
    WrongArguments,
    accept,
    known_fields,
    with_descriptions,
)
from cleanslate.steps.registry import step_names, step_type

SCALARS = [None, True, False, 0, 1, 5, -1, 420, 70000, 1.5, 1.0, float("inf"), "", "x", "yes", "No", "0644", "5", "20s"]
OTHERS = [b"x", [], ["x"], ["x", 1, True], [None], [["x"]], {}, {"a": "b"}, {"a": 1}, {1: 2}, {"a": {"b": "c"}}, ("x",)]
MARKED = [SourceText("text"), SourceList(["x"]), SourceMap({"a": "b"})]
VALUES = [*SCALARS, *OTHERS, *MARKED, object, "a, b", "present", "file", "directory", "10%", "last", {"nofile": 5}]


def outcome(make: Any, field: str | None = None) -> Any:
    """One field's or every field's values with their types, and which were given; or that it was refused."""
    try:
        made = make()
    except (ValidationError, WrongArguments):
        return "refused"
    values = made.model_dump(include=None if field is None else {field})
    return said(values), sorted(made.model_fields_set), said(made.model_extra)


def said(value: Any) -> Any:
    """A value with its types all the way down."""
    if isinstance(value, dict):
        return [type(value).__name__, *((said(key), said(one)) for key, one in value.items())]
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(said, value)]
    return type(value).__name__, repr(value)


def bare(name: str) -> dict[str, Any]:
    """The least that a step type must be given."""
    arguments = step_type(name).arguments
    needed = [one for one, field in known_fields(arguments).items() if field.required]
    for value in ("x", "directory", "present", "run_handlers", "noop", ["x"], {"x": "y"}, 5):
        least = {known_fields(arguments)[one].words[0]: value for one in needed}
        if outcome(lambda least=least: model_of(arguments)(**least)) != "refused":
            return least
    return {}


@pytest.mark.parametrize("name", step_names())
def test_every_value_of_every_argument_is_taken_as_pydantic_takes_it(name: str) -> None:
    """By each of its spellings."""
    arguments = step_type(name).arguments
    least = bare(name)
    for argument, field in known_fields(arguments).items():
        for word in field.words:
            others = {one: value for one, value in least.items() if one not in field.words}
            for value in VALUES:
                values = {**others, word: value}
                expected = outcome(lambda values=values: model_of(arguments).model_validate(values), argument)
                assert expected == outcome(lambda values=values: accept(arguments, values), argument), values


@given(some.data())
def test_any_values_together_are_taken_as_pydantic_takes_them(data: Any) -> None:
    """Several arguments at once, some of them twice, unknown or missing."""
    arguments = step_type(data.draw(some.sampled_from(step_names()))).arguments
    words = [word for field in known_fields(arguments).values() for word in field.words]
    values = data.draw(some.dictionaries(some.sampled_from(words), some.sampled_from(VALUES), max_size=5))
    expected = outcome(lambda: model_of(arguments).model_validate(values))
    assert expected == outcome(lambda: accept(arguments, values))


@pytest.mark.parametrize("name", step_names())
def test_fields_are_known_as_pydantic_knows_them(name: str) -> None:
    """Whether they are required, and how they may be written."""
    arguments = step_type(name).arguments
    if fields_of(arguments) is None:
        return
    model = model_of(arguments)
    assert list(model.model_fields) == list(known_fields(arguments))
    for field, info in model.model_fields.items():
        known = known_fields(arguments)[field]
        assert info.is_required() == known.required
        spelt = {info.alias, *(getattr(info.validation_alias, "choices", None) or [info.validation_alias])} - {None}
        assert spelt | (set() if spelt and field.endswith("_") else {field}) == set(known.words)


class Inner(StepArguments):
    """Inside another."""

    depth: int = 1
    """How deep."""


class Outer(StepArguments):
    """Holds another, made anew for each."""

    name: Text
    """Its name."""
    inner: Inner = Field(default_factory=Inner)
    """Another."""
    words: list[Text] = []  # noqa: RUF012 - each has its own
    """A default that can change."""


def test_every_step_type_but_a_few_is_known_without_pydantic() -> None:
    """One bounds each item of a list."""
    alone = [name for name in step_names() if fields_of(step_type(name).arguments) is None]
    assert ["measure_server"] == alone


def test_arguments_may_hold_arguments() -> None:
    """As a default, as given, and as wrong."""
    assert 1 == accept(Outer, {"name": "x"}).inner.depth
    assert 3 == accept(Outer, {"name": "x", "inner": {"depth": 3}}).inner.depth
    with pytest.raises(WrongArguments) as wrong:
        accept(Outer, {"name": "x", "inner": {"depth": "deep"}})
    assert [("inner", "depth")] == [one["loc"] for one in wrong.value.details]


def test_defaults_are_not_shared() -> None:
    """Each has its own list."""
    accept(Outer, {"name": "x"}).words.append("y")
    assert [] == accept(Outer, {"name": "x"}).words


def test_arguments_stay_as_they_are() -> None:
    """They are frozen, however they were taken."""
    for values in ({"name": "x"}, {"name": "x", "inner": {}}):
        with pytest.raises((AttributeError, ValidationError)):
            accept(Outer, values).name = "y"


def test_arguments_are_instances_of_their_class_however_they_were_taken() -> None:
    """Also when pydantic made them."""
    assert isinstance(taken(Outer, {"name": "x"}), Outer)
    with pytest.raises(Unsure):
        taken(Outer, {"name": "x", "inner": {"depth": 3}})
    assert isinstance(accept(Outer, {"name": "x", "inner": {"depth": 3}}), Outer)


def test_the_same_values_are_equal() -> None:
    """And are shown with their names."""
    assert accept(Inner, {"depth": 2}) == accept(Inner, {"depth": 2})
    assert "Inner(depth=2)" == repr(accept(Inner, {"depth": 2}))


class Foreign(StepArguments):
    """Written with pydantic's own names, as a repository's step type may be."""

    name: Text = pydantic.Field(validation_alias=pydantic.AliasChoices("name", "called"))
    """Its name."""
    count: Annotated[int, pydantic.Field(ge=1)] = 1
    """How many."""

    @pydantic.field_validator("name")
    @classmethod
    def _short(cls, name: str) -> str:
        if len(name) > 3:
            raise ValueError("too long")
        return name


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"called": "x"}, ("x", 1)),
        ({"name": 5, "count": 2}, ("5", 2)),
        ({"name": "long one"}, [("name",)]),
        ({"name": "x", "count": 0}, [("count",)]),
        ({}, [("name",)]),
    ],
)
def test_pydantics_own_names_do_as_well(values: dict[str, Any], expected: Any) -> None:
    """Such a class is taken by pydantic alone."""
    try:
        made = accept(Foreign, values)
    except WrongArguments as error:
        assert expected == [one["loc"] for one in error.details]
    else:
        assert expected == (made.name, made.count)
    assert [("name", "called"), ("count",)] == [tuple(one.words) for one in known_fields(Foreign).values()]


def test_descriptions_come_from_the_source() -> None:
    """The docstring below a field is its description."""
    fields = with_descriptions(Outer).model_fields
    assert ["Its name.", "Another.", "A default that can change."] == [one.description for one in fields.values()]


PLAIN = """
import sys
from cleanslate.steps.contract import accept
from cleanslate.steps.registry import step_type
for name, values in {
    "command": {"argv": ["a", "b"], "chdir": "/", "strip_empty_ends": "no"},
    "shell": {"cmd": "true"},
    "copy": {"src": "a", "dest": "b", "mode": 420},
    "file": {"path": "/x", "state": "directory"},
    "stat": {"dest": "/x"},
    "debug": {"msg": {"any": 1}},
    "wait_for": {"port": 80, "timeout": 5},
}.items():
    accept(step_type(name).arguments, values)
print("pydantic" in sys.modules)
"""


def test_plain_arguments_need_no_pydantic() -> None:
    """Nobody pays for it who writes what is plainly right."""
    said = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True, check=True)
    assert "False\n" == said.stdout
