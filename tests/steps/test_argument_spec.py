"""Argument specs: what is wrong with values, as many mistakes as ansible-core finds in them."""

from __future__ import annotations

import pytest

from cleanslate.steps._argument_spec import errors, rule_errors


@pytest.mark.parametrize(
    ("spec", "values", "wrong"),
    [
        ({"a": {"type": "int", "required": True}}, {"a": "5"}, []),
        ({"a": {"required": True}, "b": {"required": True}}, {}, ["missing required arguments: a, b"]),
        ({"a": {}}, {"a": None}, []),
        ({"a": {}}, {"b": 1}, ["no such arguments: b; there are a"]),
        ({"a": {"type": "int"}}, {"a": "many"}, ["a must be a whole number, and is 'many'"]),
        ({"a": {"type": "int"}}, {"a": 1.5}, ["a must be a whole number, and is 1.5"]),
        ({"a": {"type": "bool"}}, {"a": "maybe"}, ["a must be yes or no, and is 'maybe'"]),
        ({"a": {"choices": ["x", "y"]}}, {"a": "z"}, ["a must be one of x, y, and is 'z'"]),
        ({"a": {"type": "list", "choices": [1, 2]}}, {"a": [1, 3]}, ["a must be one of 1, 2, and is 3"]),
        ({"a": {"type": "list", "elements": "int"}}, {"a": "1,x"}, ["a[1] must be a whole number, and is 'x'"]),
        ({"a": {"type": "dict"}}, {"a": "k=v"}, []),
        ({"a": {"type": "dict"}}, {"a": [1]}, ["a must be a map, and is [1]"]),
        ({"a": {"aliases": ["b"], "required": True}}, {"b": 1}, []),
        ({"a": {"type": "bytes"}}, {"a": "10M"}, []),
        (
            {"a": {"type": "list", "elements": "dict", "options": {"k": {"required": True}}}},
            {"a": [{"k": 1}, {"j": 1}]},
            ["missing required arguments: k in a", "no such arguments: j in a; there are k"],
        ),
    ],
)
def test_values(spec, values, wrong):
    assert wrong == list(errors(spec, values))


@pytest.mark.parametrize(
    ("rules", "values", "wrong"),
    [
        ({"mutually_exclusive": [["a", "b"]]}, {"a": 1, "b": 2}, ["only one of a, b may be given"]),
        ({"required_together": [["a", "b"]]}, {"a": 1}, ["a, b belong together"]),
        ({"required_one_of": [["a", "b"]]}, {"c": 1}, ["one of a, b is required"]),
        ({"required_if": [["a", 1, ["b"]]]}, {"a": 1}, ["a is 1, so b must be given"]),
        ({"required_if": [["a", 1, ["b", "c"], True]]}, {"a": 1, "c": 1}, []),
        ({"required_by": {"a": "b"}}, {"a": 1}, ["a needs b"]),
        ({"required_by": {"a": "b"}}, {"b": 1}, []),
    ],
)
def test_rules_between_arguments(rules, values, wrong):
    assert wrong == list(rule_errors(rules, values))
