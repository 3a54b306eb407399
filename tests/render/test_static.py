"""What is known about templates without a host: mistakes with their places, and the names they need."""

import pytest

from cleanslate.errors import Origin, Problems
from cleanslate.model import SourceText
from cleanslate.render import check_template, free_names, referenced_templates
from cleanslate.yamlfile import load_yaml_text


def problems_of(value, *, condition=False):
    problems = Problems()
    check_template(value, problems, condition=condition)
    return [str(problem) for problem in problems.found]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ x | uper }}", ['p.yml:1:11: error: there is no filter "uper"; did you mean "upper"?']),
        ("{{ x is mathc('y') }}", ['p.yml:1:12: error: there is no test "mathc"; did you mean "match"?']),
        ("{{ lookup('fiel', 'y') }}", ['p.yml:1:15: error: there is no lookup "fiel"; did you mean "file"?']),
        ("{{ query('fiel', 'y') }}", ['p.yml:1:14: error: there is no lookup "fiel"; did you mean "file"?']),
        ("{{ x | map('uper') }}", ['p.yml:1:16: error: there is no filter "uper"; did you mean "upper"?']),
        ("{{ x | select('mathc', 'y') }}", ['p.yml:1:19: error: there is no test "mathc"; did you mean "match"?']),
        (
            "{{ x | rejectattr('a', 'equalt', 1) }}",
            ['p.yml:1:28: error: there is no test "equalt"; did you mean "equalto"?'],
        ),
        (
            "{{ x | uper }}\n{{ x | lowr }}",
            [
                'p.yml:1:11: error: there is no filter "uper"; did you mean "upper"?',
                'p.yml:2:11: error: there is no filter "lowr"; did you mean "lower"?',
            ],
        ),
        ("{{ x", ['p.yml:1:4: error: a "{{" is never closed, in {{ x; close it with "}}"']),
        (
            "a\n{% if x %}b",
            [
                "p.yml:2:4: error: the template is not understood: Unexpected end of template. Jinja was looking for "
                "the following tags: 'elif' or 'else' or 'endif'. The innermost block that needs to be closed is 'if', "
                "in {% if x %}"
            ],
        ),
        (
            "{{ a | community.general.json_query('x') }}",
            [
                'p.yml:1:11: error: the filter "community.general.json_query" is not supported; '
                "JMESPath belongs to community.general; use selectattr and map"
            ],
        ),
        (
            "{{ a | some.where.filter }}",
            [
                'p.yml:1:11: error: there is no filter "some.where.filter"; filters of collections are not supported',
            ],
        ),
        (
            "{{ lookup('config', 'X') }}",
            [
                'p.yml:1:15: error: the lookup "config" is not supported; '
                "this is not Ansible, so its settings do not exist; put the value into a variable"
            ],
        ),
        ("{{ x | ansible.builtin.upper }} {{ x is ansible.builtin.match('y') }}", []),
        ("{{ lookup('ansible.builtin.env', 'X') }} {{ lookup(name, 'X') }} {{ x | map(attribute='a') }}", []),
        ("{{ x | select | list }} {{ x | selectattr('a') | list }}", []),
        ("plain | uper", []),
        ("{% macro m(x) %}{{ x }}{% endmacro %}{{ m(1) }}{% include 'y.j2' %}", []),
        ("{{ '{{ x | uper }}' }}", []),
        ("{% raw %}{{ x | uper }}{% endraw %}", []),
    ],
)
def test_mistakes_are_found_where_they_stand(template, expected):
    assert expected == problems_of(SourceText(template, Origin("p.yml", 1, 4)))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("x is defined and y == 1", []),
        ("x | uper == 'A'", ['p.yml:1:8: error: there is no filter "uper"; did you mean "upper"?']),
        ("x =", ["p.yml:1:4: error: the template is not understood: unexpected '=', in x ="]),
        (
            "{{ x }} and y",
            [
                "p.yml:1:4: error: the expression is not understood: expected token ':', got '}', in {{ x }} and y; "
                "an expression has no {{ }} inside: names stand there bare"
            ],
        ),
        (
            "{{ x | bool }}",
            ["p.yml:1:4: note: conditions are expressions already: write them without {{ }}"],
        ),
        ("'{{ x }}' == y", []),
        ("lookup('env', 'X') == ''", []),
        ("true", []),
    ],
)
def test_conditions_are_checked_as_expressions(condition, expected):
    assert expected == problems_of(SourceText(condition, Origin("p.yml", 1, 4)), condition=True)


def test_a_whole_value_is_checked_in_depth_and_everything_is_told():
    value = load_yaml_text("a: '{{ x | uper }}'\nb:\n  - c: ['{{ x | lowr }}', plain]\n", "p.yml")
    assert problems_of(value) == [
        'p.yml:1:12: error: there is no filter "uper"; did you mean "upper"?',
        'p.yml:3:17: error: there is no filter "lowr"; did you mean "lower"?',
    ]


def test_what_is_no_repository_text_is_not_checked():
    assert problems_of({"a": "{{ x | uper }}", "b": 1, "c": None}) == []
    assert problems_of(True, condition=True) == []


def test_a_template_file_is_read_with_the_options_of_its_first_line():
    fine = "#jinja2: variable_start_string:'[[', variable_end_string:']]'\n{{ not ours }} [[ x ]]\n"
    assert problems_of(SourceText(fine, Origin("t.j2", 1, 1))) == []
    wrong = "#jinja2: lstrip_blocks: True\nok\n{{ x | uper }}\n"
    assert problems_of(SourceText(wrong, Origin("t.j2", 1, 1))) == [
        't.j2:3:8: error: there is no filter "uper"; did you mean "upper"?'
    ]
    unknown = "#jinja2: lstrip_block: True\n{{ x }}\n"
    assert problems_of(SourceText(unknown, Origin("t.j2", 1, 1))) == [
        't.j2:1:1: error: the #jinja2: line has no option "lstrip_block"; did you mean "lstrip_blocks"?'
    ]


@pytest.mark.parametrize(
    ("template", "expected", "certain"),
    [
        ("{{ a }}", {"a"}, {"a"}),
        ("{{ a.b['c'] + d[e] }}", {"a", "d", "e"}, {"a", "d", "e"}),
        ("{{ a | default(b) }}", {"a", "b"}, {"b"}),
        ("{{ a.b.c | default('x') }}", {"a"}, set()),
        ("{{ (a | upper) | d('x') }}", {"a"}, set()),
        ("{% if a is defined %}{{ a }}{% endif %}", {"a"}, set()),
        ("{% if a %}{{ b }}{% else %}{{ c }}{% endif %}", {"a", "b", "c"}, {"a"}),
        ("{{ a if b else c }}", {"a", "b", "c"}, {"b"}),
        ("{{ a and b or c }}", {"a", "b", "c"}, {"a"}),
        ("{% for x in xs %}{{ x }}{{ loop.index }}{{ y }}{% endfor %}", {"xs", "y"}, {"xs"}),
        ("{% set a = 1 %}{{ a }}{{ b }}", {"b"}, {"b"}),
        ("{% macro m(p) %}{{ p }}{{ other }}{% endmacro %}{{ m(1) }}", {"other"}, set()),
        (
            "{{ lookup('env', 'X') }}{{ now() }}{{ omit }}{{ range(3) }}{{ query('vars', n) }}{{ undef() }}",
            {"n"},
            {"n"},
        ),
        ("{{ a | nosuchfilter }}", {"a"}, {"a"}),
        ("{{ broken", set(), set()),
        ("plain", set(), set()),
        ("{{ true }}{{ none }}{{ False }}", set(), set()),
    ],
)
def test_the_names_that_a_template_needs(template, expected, certain):
    assert expected == free_names(SourceText(template))
    assert certain == free_names(SourceText(template), certain=True)


def test_the_names_that_conditions_need():
    conditions = (SourceText("a.rc == 0"), True, SourceText("b is defined and b.c"), SourceText("{{ d }}"))
    assert {"a", "b", "d"} == free_names(conditions, condition=True)
    assert {"a", "d"} == free_names(conditions, condition=True, certain=True)
    assert set() == free_names("a", condition=True)


def test_the_templates_that_a_template_needs():
    template = SourceText(
        "{% extends 'base.j2' %}\n{% include 'a.j2' %}{% import 'm.j2' as m %}{% from 'n.j2' import x %}\n"
        "{% include 'maybe.j2' ignore missing %}{% include ['x.j2', 'y.j2'] %}{% include name %}",
        Origin("t.j2", 1, 1),
    )
    expected = {"base.j2": "t.j2:1:13", "a.j2": "t.j2:2:13", "m.j2": "t.j2:2:32", "n.j2": "t.j2:2:54"}
    assert expected == {name: str(origin) for name, origin in referenced_templates(template)}
    assert referenced_templates(SourceText("plain")) == []
