"""Template files: their newlines and options, what they include, and where their mistakes are."""

import pytest

from cleanslate.errors import Origin, RenderError
from cleanslate.model import SourceText
from cleanslate.render import Renderer, TemplateOptions, UndefinedVariable, template_variables


def write(folder, **files):
    for name, content in files.items():
        (folder / f"{name}.j2").write_text(content)


def render(folder, name, variables=None, **options):
    path = folder / f"{name}.j2"
    renderer = Renderer(lookup_paths=lambda kind: [folder / kind, folder / "shared"])
    text = SourceText(path.read_bytes().decode(), Origin(str(path), 1, 1))
    return renderer.template_text(text, variables or {}, options=TemplateOptions(**options))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", ""),
        ("\n", "\n"),
        ("a", "a"),
        ("a\n", "a\n"),
        ("a\n\n\n", "a\n\n\n"),
        ("{{ n }}", "5"),
        ("{{ n }}\n", "5"),
        ("{{ n }}\n\n", "5\n\n"),
        ("{{ none }}\n", ""),
        ("{{ [1, 'x'] }}\n", "[1, 'x']"),
        ("{{ true }}", "True"),
        ("a{{ none }}b{{ omit }}c\n", "abc\n"),
        ("{% if true %}\nx\n{% endif %}\ny\n", "x\ny\n"),
        ("  {% if true %}\n  x\n  {% endif %}\ny\n", "    x\n  y\n"),
        ("{% for i in [1, 2] %}\n{{ i }}\n{% endfor %}\n", "1\n2\n"),
        ("a {# note #}\nb\n", "a b\n"),
        ("{%- if true -%}  x  {%- endif -%}\ny", "xy"),
        ("{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
        ("{{ '\\t' }}|{{ 'a_b' | regex_replace('(.)_', '\\\\1-') }}", "\t|a-b"),
        ("a\r\nb\r\n", "a\r\nb\r\n"),
        ("a {{ n }}\r\nb\r\n", "a 5\nb\n"),
        ("{{ data }}", "{{ n }}"),
    ],
)
def test_a_file_renders_as_the_template_module_does(tmp_path, content, expected):
    (tmp_path / "t.j2").write_bytes(content.encode())
    assert expected == render(tmp_path, "t", {"n": 5, "data": "{{ n }}"})


@pytest.mark.parametrize(
    ("options", "content", "expected"),
    [
        ({"lstrip_blocks": True}, "  {% if true %}\n x\n  {% endif %}\n", " x\n"),
        ({"trim_blocks": False}, "{% if true %}\nx\n{% endif %}\n", "\nx\n"),
        ({"newline_sequence": "\r\n"}, "a {{ n }}\nb\n\n", "a 5\r\nb\r\n\r\n"),
        ({"newline_sequence": "\\r\\n"}, "a {{ n }}\nb\n", "a 5\r\nb\r\n"),
        ({"newline_sequence": "\r"}, "a {{ n }}\nb\n", "a 5\rb\r"),
        ({"newline_sequence": "\r\n"}, "a\nb\n", "a\nb\n"),
        ({"newline_sequence": "\r\n"}, "{{ s }}\n", "a\nb\r\n"),
        ({"variable_start_string": "[[", "variable_end_string": "]]"}, "[[ n ]] {{ n }}", "5 {{ n }}"),
        ({"block_start_string": "<%", "block_end_string": "%>"}, "<% if true %>x<% endif %>", "x"),
        ({"comment_start_string": "#=", "comment_end_string": "=#"}, "a#= b =#c{# d #}", "ac{# d #}"),
    ],
)
def test_options_change_how_a_file_is_read(tmp_path, options, content, expected):
    write(tmp_path, t=content)
    assert expected == render(tmp_path, "t", {"n": 5, "s": "a\nb"}, **options)


def test_the_first_line_sets_options_and_wins_over_the_arguments(tmp_path):
    write(tmp_path, t="#jinja2: trim_blocks:False, lstrip_blocks: True\n  {% if true %}\n  x\n  {% endif %}\ny\n")
    assert render(tmp_path, "t", lstrip_blocks=False) == "\n  x\n\ny\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "#jinja2: trim_block:False",
            't.j2:1:1: the #jinja2: line has no option "trim_block"; did you mean "trim_blocks"?',
        ),
        (
            "#jinja2: trim_blocks: maybe so",
            "t.j2:1:1: the #jinja2: line: \"maybe so\" is no value for trim_blocks; write True, or 'text'",
        ),
    ],
)
def test_a_wrong_first_line_is_explained(tmp_path, line, expected):
    write(tmp_path, t=f"{line}\nx\n")
    with pytest.raises(RenderError) as raised:
        render(tmp_path, "t")
    assert str(raised.value) == f"{tmp_path}/{expected}"


def test_templates_include_import_and_extend_each_other(tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "shared").mkdir()
    write(
        tmp_path / "templates",
        part="part {{ n }} {{ local | default('-') }}\n",
        base="[{% block b %}x{% endblock %}]\n",
    )
    write(tmp_path / "shared", macros="{% macro port(p) %}:{{ p }}{% endmacro %}{% set name = 'm' %}")
    write(tmp_path, beside="beside\n")
    write(
        tmp_path,
        t="{% set local = 1 %}{% include 'part.j2' %}|{% include 'beside.j2' %}|"
        "{% import 'macros.j2' as m %}{{ m.port(80) }}{{ m.name }}{% from 'macros.j2' import port as q %}{{ q(n) }}",
        child="{% extends 'base.j2' %}{% block b %}{{ n }}{{ super() }}{% endblock %}\n",
        maybe="{% include 'nope.j2' ignore missing %}{% include ['nope.j2', 'beside.j2'] %}",
    )
    assert render(tmp_path, "t", {"n": 5}) == "part 5 1|beside|:80m:5"
    assert render(tmp_path, "child", {"n": 5}) == "[5x]\n"
    assert render(tmp_path, "maybe") == "beside"


def test_an_included_template_is_read_again_when_it_has_changed(tmp_path):
    import os

    write(tmp_path, t="{% include 'part.j2' %}", part="old")
    assert render(tmp_path, "t") == "old"
    write(tmp_path, part="new")
    os.utime(tmp_path / "part.j2", ns=(1, 1))
    assert render(tmp_path, "t") == "new"


def test_a_template_of_the_same_name_in_another_role_is_another_template(tmp_path):
    for role in ("one", "two"):
        (tmp_path / role).mkdir()
        write(tmp_path / role, t="{% include 'part.j2' %}", part=f"part of {role}")
    assert [render(tmp_path / role, "t") for role in ("one", "two", "one")] == [
        "part of one",
        "part of two",
        "part of one",
    ]


def test_a_missing_template_names_where_it_was_looked_for(tmp_path):
    write(tmp_path, t="x\n{% include 'nope.j2' %}\n")
    with pytest.raises(RenderError) as raised:
        render(tmp_path, "t")
    assert raised.value.what == "no template \"nope.j2\", in {% include 'nope.j2' %}"
    assert raised.value.origin == Origin(str(tmp_path / "t.j2"), 2, 1)
    assert raised.value.fix == f"looked in {tmp_path}/templates, {tmp_path}/shared, {tmp_path}"


def test_a_file_that_is_omitted_as_a_whole_is_an_error(tmp_path):
    write(tmp_path, t="{{ omit }}")
    with pytest.raises(RenderError, match="omitted as a whole"):
        render(tmp_path, "t")


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        ("a\nb {{ nope }}\n", 2, 6),
        ("{% for i in [1] %}\n{{ i }}\n{{ nope + i }}\n{% endfor %}", 3, 4),
        ("#jinja2: lstrip_blocks: True\na\n{{ nope }}\n", 3, 4),
        ("nope\n{# nope #}\n{{ nope }}\n", 3, 4),
    ],
)
def test_an_undefined_name_is_found_in_the_file(tmp_path, content, line, column):
    write(tmp_path, t=content)
    with pytest.raises(UndefinedVariable) as raised:
        render(tmp_path, "t")
    assert Origin(str(tmp_path / "t.j2"), line, column) == raised.value.origin


def test_a_failure_in_an_included_file_has_its_place_there(tmp_path):
    write(tmp_path, t="{% include 'part.j2' %}", part="one\n{{ 1 // 0 }}\n", broken="one\n{% if %}\n")
    with pytest.raises(RenderError, match="by zero") as raised:
        render(tmp_path, "t")
    assert raised.value.origin == Origin(str(tmp_path / "part.j2"), 2)
    write(tmp_path, t="{% include 'broken.j2' %}")
    with pytest.raises(RenderError, match="not understood") as raised:
        render(tmp_path, "t")
    assert raised.value.origin == Origin(str(tmp_path / "broken.j2"), 2)


def test_files_that_include_each_other_without_end_are_an_error(tmp_path):
    write(tmp_path, t="{% include 'u.j2' %}", u="{% include 't.j2' %}")
    with pytest.raises(RenderError, match="without end"):
        render(tmp_path, "t")


def test_an_undefined_value_inside_a_printed_list_is_an_error(tmp_path):
    write(tmp_path, t="{{ [nope] }}", u="x {{ [nope] }}")
    for name in ("t", "u"):
        with pytest.raises(UndefinedVariable):
            render(tmp_path, name)


def test_a_template_knows_its_file(tmp_path):
    write(
        tmp_path,
        t="{{ template_path }} {{ template_destpath }} {{ ansible_managed }} {{ template_run_date.year > 2000 }}",
    )
    variables = template_variables(tmp_path / "t.j2", "/etc/x")
    assert render(tmp_path, "t", variables) == f"{tmp_path}/t.j2 /etc/x Ansible managed True"
    assert set(template_variables(tmp_path / "t.j2")) == {
        "ansible_managed",
        "template_fullpath",
        "template_host",
        "template_mtime",
        "template_path",
        "template_run_date",
        "template_uid",
    }
