"""Conditions: what holds, what is no condition, and what the error advises."""

import pytest

from cleanslate.errors import Origin, RenderError
from cleanslate.model import SourceText
from cleanslate.render import Renderer, Variables

LAYER = {
    "rc": 0,
    "out": "some text",
    "empty": "",
    "l": [1],
    "d": {"a": 1},
    "nul": None,
    "yes_": True,
    "f": 1.5,
    "stored": SourceText("rc == 0", Origin("vars.yml", 1, 9)),
    "templated": SourceText("{{ rc == 0 }}", Origin("vars.yml", 2, 9)),
    "data": "rc == 0",
}


def condition(value, notes=None):
    renderer = Renderer(note=lambda text, origin: notes.append((text, origin)) if notes is not None else None)
    value = SourceText(value, Origin("p.yml", 4, 9)) if isinstance(value, str) else value
    return renderer.condition(value, Variables([LAYER], renderer))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, True),
        (False, False),
        ([], True),
        ((), True),
        ([True, SourceText("rc == 0")], True),
        ([SourceText("rc == 0"), False], False),
        ("templated", True),
        ("{{ templated }}", True),
        ("{{ stored }}", True),
        ("{{ yes_ }}", True),
        ("  yes_\n", True),
        ("'{{ out }}' == 'some text'", True),
    ],
)
def test_what_holds_holds(value, expected):
    assert expected is condition(value)


def test_a_list_stops_at_the_first_that_does_not_hold():
    assert condition([SourceText("rc == 1"), SourceText("nope.x")]) is False


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            "out",
            "p.yml:4:9: the condition \"out\" gives text, not true or false: 'some text'; "
            "write out | length > 0, or out | bool where it says yes or no",
        ),
        ("rc", 'p.yml:4:9: the condition "rc" gives a number, not true or false: 0; write rc != 0'),
        ("f", 'p.yml:4:9: the condition "f" gives a number, not true or false: 1.5; write f != 0'),
        ("l", 'p.yml:4:9: the condition "l" gives a list, not true or false: [1]; write l | length > 0'),
        ("d", "p.yml:4:9: the condition \"d\" gives a mapping, not true or false: {'a': 1}; write d | length > 0"),
        ("nul", 'p.yml:4:9: the condition "nul" gives null, not true or false; write nul is not none'),
        (
            "rc == 0 and l",
            'p.yml:4:9: the condition "rc == 0 and l" gives a list, not true or false: [1]; '
            "write (rc == 0 and l) | length > 0",
        ),
        ("'yes'", "p.yml:4:9: the condition \"'yes'\" gives text, not true or false: 'yes'; write true"),
        ("0", 'p.yml:4:9: the condition "0" gives a number, not true or false: 0; write false'),
        (
            "{{ rc }}",
            'p.yml:4:9: the condition "{{ rc }}" gives a number, not true or false: 0; write rc != 0',
        ),
        ("yes", 'p.yml:4:9: "yes" is undefined, in yes; did you mean "yes_"?'),
        (
            "nope.rc == 0",
            'p.yml:4:9: "nope" is undefined, in nope.rc == 0; '
            "define it, or say what holds without it: nope | default(...)",
        ),
        (
            "rc == 0 and {{ yes_ }}",
            "p.yml:4:9: the expression is not understood: expected token ':', got '}', in rc == 0 and {{ yes_ }}; "
            "an expression has no {{ }} inside: names stand there bare",
        ),
        ("rc ==", "p.yml:4:9: the template is not understood: unexpected 'end of template', in rc =="),
        ("rc = 0", "p.yml:4:9: the template is not understood: unexpected '=', in rc = 0"),
        (
            "d.get('z')",
            "p.yml:4:9: the condition \"d.get('z')\" gives null, not true or false; write (d.get('z')) is not none",
        ),
        ("", "p.yml:4:9: the condition is empty; write an expression, or leave it out"),
        (1, "1 is not a condition; write an expression, or true or false"),
        (None, "None is not a condition; write an expression, or true or false"),
        ({"a": 1}, "{'a': 1} is not a condition; write an expression, or true or false"),
    ],
)
def test_what_is_no_condition_says_how_to_write_one(value, expected):
    with pytest.raises(RenderError) as raised:
        condition(value)
    assert expected == str(raised.value)


def test_data_is_not_evaluated():
    renderer = Renderer()
    for value in ("data", SourceText("{{ data }}")):
        with pytest.raises(RenderError):
            renderer.condition(value, Variables([LAYER], renderer))
    with pytest.raises(RenderError, match="came from outside the repository"):
        renderer.condition("rc == 0", LAYER)


def test_braces_work_and_are_noted_once_for_each_time():
    notes = []
    assert condition("{{ rc == 0 }}", notes) is True
    assert notes == [("conditions are expressions already: write them without {{ }}", Origin("p.yml", 4, 9))]


def test_the_place_is_that_of_the_line_in_longer_conditions():
    value = SourceText("rc == 0 and\nnope", Origin("p.yml", 4, 9))
    with pytest.raises(RenderError) as raised:
        Renderer().condition(value, LAYER)
    assert raised.value.origin == Origin("p.yml", 5, 9)
