"""Our data classes against the standard library's: the same in everything that the code relies on."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
from dataclasses import FrozenInstanceError, asdict, field, fields, is_dataclass, replace
from typing import Any, ClassVar

import pytest

from cleanslate.dataclass import dataclass

PAIR = pytest.mark.parametrize("made", [dataclass, dataclasses.dataclass], ids=["ours", "the library's"])


def plain(decorate: Any) -> Any:
    @decorate
    class Plain:
        """A class that can change."""

        a: int
        b: str = "two"
        c: list[int] = field(default_factory=list)
        hidden: Any = field(default=None, repr=False, compare=False)
        shared: ClassVar[int] = 7

    return Plain


def frozen(decorate: Any) -> Any:
    @decorate(frozen=True)
    class Frozen:
        """A class that stays."""

        a: int
        b: tuple[int, ...] = ()

        def __post_init__(self) -> None:
            if self.a < 0:
                raise ValueError("below zero")

    return Frozen


def heir(decorate: Any) -> Any:
    @decorate
    class Heir(plain(decorate)):
        """More fields, and another default."""

        d: float = 0.5
        b: str = "other"

    return Heir


def said(function: Any) -> Any:
    """What comes of it, or the kind of error and the names in it."""
    try:
        return function()
    except (TypeError, ValueError, AttributeError) as error:
        return type(error)


@PAIR
@pytest.mark.parametrize(
    ("make", "values", "named", "shown"),
    [
        (plain, (1,), {}, "plain.<locals>.Plain(a=1, b='two', c=[])"),
        (plain, (1, "x"), {"c": [3], "hidden": 4}, "plain.<locals>.Plain(a=1, b='x', c=[3])"),
        (frozen, (), {"a": 2, "b": (1,)}, "frozen.<locals>.Frozen(a=2, b=(1,))"),
        (heir, (1,), {"d": 2.0}, "heir.<locals>.Heir(a=1, b='other', c=[], d=2.0)"),
    ],
)
def test_a_class_shows_its_fields_in_order(made: Any, make: Any, values: Any, named: Any, shown: str) -> None:
    """The inherited ones come first, what is not to be shown is not."""
    assert shown == repr(make(made)(*values, **named))


@PAIR
@pytest.mark.parametrize(
    ("make", "values", "named", "error"),
    [
        (plain, (), {}, TypeError),
        (plain, (1, "b", [], None, 5), {}, TypeError),
        (plain, (1,), {"e": 5}, TypeError),
        (plain, (1,), {"shared": 5}, TypeError),
        (frozen, (-1,), {}, ValueError),
    ],
)
def test_wrong_values_are_refused(made: Any, make: Any, values: Any, named: Any, error: type[Exception]) -> None:
    """Missing, too many, unknown, of the class, and what the class itself refuses."""
    cls = make(made)
    assert error == said(lambda: cls(*values, **named))
    assert error == said(lambda: cls(*values, **named))  # the second time it is the compiled one


@PAIR
def test_instances_compare_by_their_values(made: Any) -> None:
    """Of the same class, without the fields that do not count; a class that can change has no hash."""
    Plain, Frozen, Heir = plain(made), frozen(made), heir(made)
    assert Plain(1) == Plain(1, hidden=3)
    assert Plain(1) != Plain(2)
    assert Plain(1, "other") != Heir(1)
    assert Plain(1) != (1, "two", [])
    assert said(lambda: hash(Plain(1))) is TypeError
    assert hash(Frozen(1, (2,))) == hash(Frozen(1, (2,)))
    assert {Frozen(1): "one"}[Frozen(1)] == "one"


@PAIR
def test_each_instance_has_its_own_list(made: Any) -> None:
    """A default_factory is asked each time."""
    Plain = plain(made)
    Plain(1).c.append(1)
    assert [] == Plain(1).c


@PAIR
def test_identity_stays_the_comparison_where_it_is_asked_for(made: Any) -> None:
    """With eq=False, two of the same values are two."""
    Same = made(eq=False)(type("Same", (), {"__annotations__": {"a": "int"}, "__module__": __name__}))
    one = Same(1)
    assert one == one
    assert one != Same(1)
    assert 1 == len({one, one})


@PAIR
def test_the_librarys_functions_know_the_class(made: Any) -> None:
    """fields, replace, asdict, is_dataclass, copies and match."""
    Plain, Frozen = plain(made), frozen(made)
    assert ["a", "b", "c", "hidden"] == [one.name for one in fields(Plain)]
    assert ["int", "str", "list[int]", "Any"] == [one.type for one in fields(Plain)]
    assert is_dataclass(Plain)
    assert {"a": 1, "b": "two", "c": [2], "hidden": {"a": 3, "b": (1,)}} == asdict(
        Plain(1, c=[2], hidden=Frozen(3, (1,)))
    )
    assert Frozen(1, (5,)) == replace(Frozen(1), b=(5,))
    assert said(lambda: replace(Frozen(1), a=-1)) is ValueError
    assert Frozen(1, (2,)) == copy.deepcopy(Frozen(1, (2,)))
    assert 7 == Plain.shared
    assert "two" == Plain.b
    match Plain(1, "x"):
        case Plain(a, b):
            assert (1, "x") == (a, b)


@PAIR
def test_a_frozen_class_cannot_be_changed(made: Any) -> None:
    """Neither a field nor another attribute."""
    one = frozen(made)(1)
    for change in (lambda: setattr(one, "a", 2), lambda: setattr(one, "z", 2), lambda: delattr(one, "a")):
        assert said(change) is FrozenInstanceError
    assert 1 == one.a


@PAIR
def test_a_default_that_can_change_is_refused(made: Any) -> None:
    """It would be shared by all instances."""
    body = {"__annotations__": {"a": "list"}, "a": [], "__module__": __name__}
    assert said(lambda: made(type("Shared", (), body))) is ValueError


@PAIR
def test_own_methods_stay(made: Any) -> None:
    """A class that says how it is shown, compared or made keeps that."""

    @made
    class Own:
        """Has its own."""

        a: int

        def __init__(self) -> None:
            self.a = 5

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

    assert ("own", 5, True) == (repr(Own()), Own().a, Own() == 3)
    assert said(lambda: hash(Own())) is TypeError


@dataclass(frozen=True)
class Sent:
    """Found by its name."""

    a: int


@dataclass
class Circle:
    """Holds itself."""

    inner: Any = None


def test_an_instance_survives_pickling() -> None:
    """As the library's do."""
    assert Sent(3) == pickle.loads(pickle.dumps(Sent(3)))


def test_a_circle_is_shown_once() -> None:
    """What holds itself is shown with dots."""
    circle = Circle()
    circle.inner = circle
    assert "Circle(inner=...)" == repr(circle)


def test_many_threads_may_make_the_first_instance() -> None:
    """Every one of them gets a whole instance."""
    for _ in range(20):
        Plain, found = plain(dataclass), []
        gate = threading.Barrier(4)

        def make(cls: Any = Plain, gate: threading.Barrier = gate, found: list[Any] = found) -> None:
            gate.wait()
            found.append(cls(1, "x"))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [Plain(1, "x")] * 4 == found
