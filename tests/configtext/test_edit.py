"""Editing values in configuration texts: exactly the wanted bytes change, or nothing does."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleanslate.configtext import EditRefused, edit, format_of, load
from cleanslate.configtext.values import parse_path, same, show_path
from tests.laws import examples

DRAFT = """{
  "architectures": [
    "LlamaForCausalLMEagle3"
  ],
  "rms_norm_eps": 1e-05,
  "rope_scaling": {"factor": 4.0, "type": "yarn"},
  "max_position_embeddings": 131072,
  "tie_word_embeddings": false,
  "names": "Ü"
}
"""


def changed_lines(before, after):
    old, new = before.splitlines(), after.splitlines()
    return [(one, two) for one, two in zip(old, new, strict=True) if one != two]


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        ("max_position_embeddings", 262144, '  "max_position_embeddings": 262144,'),
        ("/max_position_embeddings", 262144, '  "max_position_embeddings": 262144,'),
        ("max_position_embeddings", "262144", '  "max_position_embeddings": 262144,'),
        ("rope_scaling.factor", 8.0, '  "rope_scaling": {"factor": 8.0, "type": "yarn"},'),
        ("architectures.0", "Other", '    "Other"'),
        ("tie_word_embeddings", "True", '  "tie_word_embeddings": true,'),
        ("rms_norm_eps", 1e-6, '  "rms_norm_eps": 1e-06,'),
        ("rope_scaling", {"a": [1, 2]}, '  "rope_scaling": {"a": [1, 2]},'),
        ("rope_scaling", None, '  "rope_scaling": null,'),
        ("names", "ß", '  "names": "ß"'),
    ],
)
def test_one_json_value_is_one_line(path, value, line):
    text, edits = edit(DRAFT, "json", values={path: value})
    assert [line] == [new for _, new in changed_lines(DRAFT, text)]
    assert 1 == len(edits)


@pytest.mark.parametrize(
    ("before", "values", "after"),
    [
        ('{"a": 1}', {"b": 2}, '{"a": 1, "b": 2}'),
        ('{"a":1}', {"b": "x"}, '{"a":1, "b":"x"}'),
        ('{"a":1,"c":2}', {"b": [1, 2]}, '{"a":1,"c":2,"b":[1, 2]}'),
        ("{}", {"a.b": 1}, '{"a": {"b": 1}}'),
        ('{\n\t"a": 1\n}\n', {"b": {"c": 2}}, '{\n\t"a": 1,\n\t"b": {\n\t\t"c": 2\n\t}\n}\n'),
        ('{\n  "a": {}\n}', {"a.b": 1}, '{\n  "a": {\n    "b": 1\n  }\n}'),
        ('{\r\n  "a": 1\r\n}\r\n', {"b": 1}, '{\r\n  "a": 1,\r\n  "b": 1\r\n}\r\n'),
        ('{"a": [1]}', {"a.-": 2}, '{"a": [1, 2]}'),
        ('\ufeff{"a": 1}', {"a": 2}, '\ufeff{"a": 2}'),
        ('{"a": "\\u00e9"}', {"b": "é"}, '{"a": "\\u00e9", "b": "\\u00e9"}'),
    ],
)
def test_a_new_json_key_is_laid_out_as_its_neighbours(before, values, after):
    assert after == edit(before, "json", values=values, create=True)[0]


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ('{"a": 1, "b": 2, "c": 3}', "a", '{"b": 2, "c": 3}'),
        ('{"a": 1, "b": 2, "c": 3}', "c", '{"a": 1, "b": 2}'),
        ('{\n  "a": 1,\n  "b": 2\n}\n', "b", '{\n  "a": 1\n}\n'),
        ('{\n  "a": 1\n}\n', "a", "{}\n"),
        ('{"a": [1, 2, 3]}', "a.1", '{"a": [1, 3]}'),
        ('{"a": 1}', "b", '{"a": 1}'),
    ],
)
def test_a_json_key_is_removed_with_its_comma(before, path, after):
    assert after == edit(before, "json", values={}, removed=[path])[0]


SERVICE = """# head comment
server:            # the server
  port: 30000      # http
  host: '0.0.0.0'
  name: "a b"
  empty:
  on: yes
  flow: {tp: 8, list: [1, 2]}
  args:
    - --tp
    - 8
# tail comment
other: &base {x: 1}
copy: *base
"""


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        ("server.port", 30001, "  port: 30001      # http"),
        ("server.host", "127.0.0.1", "  host: '127.0.0.1'"),
        ("server.name", 'c "d"', '  name: "c \\"d\\""'),
        ("server.empty", "x", "  empty: x"),
        ("server.flow.tp", 4, "  flow: {tp: 4, list: [1, 2]}"),
        ("server.flow.list", [3], "  flow: {tp: 8, list: [3]}"),
        ("server.args.1", 4, "    - 4"),
        ("server.args.0", "yes", '    - "yes"'),
        ("server.port", 1e-6, "  port: 1.0e-06      # http"),
    ],
)
def test_one_yaml_scalar_is_one_line_and_comments_stay(path, value, line):
    text, _ = edit(SERVICE, "yaml", values={path: value})
    assert [line] == [new for _, new in changed_lines(SERVICE, text)]


@pytest.mark.parametrize(
    ("before", "values", "after"),
    [
        ("a: 1\n", {"b": 2}, "a: 1\nb: 2\n"),
        ("a:\n  b: 1  # note\n# end\nc: 2\n", {"a.d.e": "x"}, "a:\n  b: 1  # note\n  d:\n    e: x\n# end\nc: 2\n"),
        ("a: {b: 1}\n", {"a.c": [1]}, "a: {b: 1, c: [1]}\n"),
        ("a: {}", {"a.c": True}, "a: {c: true}"),
        ("", {"a": 1}, "a: 1\n"),
        ("a: 1", {"b": "on"}, 'a: 1\nb: "on"'),
        ("- a: 1\n  b: 2\n- c: 3\n", {"0.d": 4}, "- a: 1\n  b: 2\n  d: 4\n- c: 3\n"),
    ],
)
def test_a_new_yaml_key_stands_behind_the_last_of_its_mapping(before, values, after):
    assert after == edit(before, "yaml", values=values, create=True)[0]


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ("a: 1\nb:\n  c: 1\n  d: 2\ne: 3\n", "b", "a: 1\ne: 3\n"),
        ("a: 1\nb:\n  c: 1\n  d: 2\n", "b.c", "a: 1\nb:\n  d: 2\n"),
        ("a: {b: 1, c: 2}\n", "a.b", "a: {c: 2}\n"),
        ("a:\n  - 1\n  - 2\n", "a.0", "a:\n  - 2\n"),
    ],
)
def test_a_yaml_key_is_removed_with_its_lines(before, path, after):
    assert after == edit(before, "yaml", values={}, removed=[path])[0]


PROJECT = """# head
title = 'x'   # note
[tool.a]
n = 1_000
list = [
  1,  # one
  2,
]
inline = { x = 1, y = "z" }
when = 2024-01-01 10:00:00

[[hosts]]
name = "one"
[[hosts]]
name = "two"
port.http = 80
"""


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        ("title", "y", "title = 'y'   # note"),
        ("tool.a.n", 5, "n = 5"),
        ("tool.a.list.1", 3, "  3,"),
        ("tool.a.inline.y", "q", 'inline = { x = 1, y = "q" }'),
        ("hosts.1.name", "three", 'name = "three"'),
        ("hosts.1.port.http", 81, "port.http = 81"),
        ("tool.a.inline", {"k": [True]}, "inline = { k = [true] }"),
    ],
)
def test_one_toml_value_is_one_line_and_comments_stay(path, value, line):
    text, _ = edit(PROJECT, "toml", values={path: value})
    assert [line] == [new for _, new in changed_lines(PROJECT, text)]


@pytest.mark.parametrize(
    ("before", "values", "after"),
    [
        ("a = 1\n[t]\nb = 2\n", {"c": 3}, "a = 1\nc = 3\n[t]\nb = 2\n"),
        ("[t]\nb = 2\n", {"c": 3}, "c = 3\n[t]\nb = 2\n"),
        ("[t]\nb = 2\n\n[u]\n", {"t.c.d": "x"}, '[t]\nb = 2\nc.d = "x"\n\n[u]\n'),
        ("a = 1\n", {"t.u.c": 3}, "a = 1\n\n[t.u]\nc = 3\n"),
        ("a = { b = 1 }\n", {"a.c": 2}, "a = { b = 1, c = 2 }\n"),
        ("a = {}", {"a.c": 2}, "a = { c = 2 }"),
        ("a = 1", {"b": 2}, "a = 1\nb = 2"),
    ],
)
def test_a_new_toml_key_stands_in_its_table(before, values, after):
    assert after == edit(before, "toml", values=values, create=True)[0]


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ("a = 1\nb = 2 # x\n", "b", "a = 1\n"),
        ("a = [1, 2, 3]\n", "a.0", "a = [2, 3]\n"),
        ("a = { b = 1, c = 2 }\n", "a.c", "a = { b = 1 }\n"),
    ],
)
def test_a_toml_key_is_removed(before, path, after):
    assert after == edit(before, "toml", values={}, removed=[path])[0]


def test_toml_is_read_as_its_specification_says():
    tool = {"n": 1000, "list": [1, 2], "inline": {"x": 1, "y": "z"}, "when": "2024-01-01 10:00:00"}
    hosts = [{"name": "one"}, {"name": "two", "port": {"http": 80}}]
    assert {"title": "x", "tool": {"a": tool}, "hosts": hosts} == load(PROJECT, "toml")


INI = "; head\ntop = 1\n[Service]\nExecStart=/bin/x --port 1\nEnvironment = A=1\n\n[Install]\nlong = a\n  b\n"


@pytest.mark.parametrize(
    ("before", "values", "after"),
    [
        (INI, {"Service.ExecStart": "/bin/y"}, INI.replace("/bin/x --port 1", "/bin/y")),
        (INI, {"top": True}, INI.replace("top = 1", "top = true")),
        (INI, {"Service.User": "me"}, INI.replace("A=1\n", "A=1\nUser = me\n")),
        ("[a]\nx=1\n", {"b.y": 2}, "[a]\nx=1\n\n[b]\ny=2\n"),
        ("[a]\nx=\n", {"a.x": 2}, "[a]\nx=2\n"),
        ("[a]\n[b]\nx=1\n", {"a.y": 2}, "[a]\ny=2\n[b]\nx=1\n"),
        ("", {"a": 1}, "a = 1\n"),
    ],
)
def test_ini_lines_change_alone(before, values, after):
    assert after == edit(before, "ini", values=values, create=True)[0]


ENV = '# keys\nexport A=1\nB=\'two words\' # why\nC="x\\"y"\nD=\n'


@pytest.mark.parametrize(
    ("values", "after"),
    [
        ({"A": 2}, ENV.replace("A=1", "A=2")),
        ({"B": "three words"}, ENV.replace("two words", "three words")),
        ({"C": "p q"}, ENV.replace('"x\\"y"', '"p q"')),
        ({"D": "with blank"}, ENV.replace("D=", 'D="with blank"')),
        ({"D": "co$t"}, ENV.replace("D=", "D='co$t'")),
        ({"E": "new"}, ENV + "export E=new\n"),
    ],
)
def test_env_lines_keep_their_quotes(values, after):
    assert after == edit(ENV, "env", values=values, create=True)[0]


def test_env_values_are_read_as_a_shell_would():
    assert {"A": "1", "B": "two words", "C": 'x"y', "D": ""} == load(ENV, "env")


def test_lines_are_removed_from_ini_and_env():
    assert "[a]\n" == edit("[a]\nx=1\n", "ini", values={}, removed=["a.x"])[0]
    assert "B=2\n" == edit("A=1\nB=2\nA=3\n", "env", values={}, removed=["A"])[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [("json", DRAFT), ("yaml", SERVICE), ("toml", PROJECT), ("ini", INI), ("env", ENV)],
)
def test_setting_what_already_stands_there_changes_no_byte(name, text):
    data = load(text, name)
    values = {show_path((key,)): value for key, value in data.items() if not isinstance(value, dict | list)}
    assert (text, []) == edit(text, name, values=values)


@pytest.mark.parametrize(
    ("name", "text", "path", "said"),
    [
        ("json", DRAFT, "max_position_embedding", 'did you mean "max_position_embeddings"?'),
        ("json", DRAFT, "rope_scaling.factr", 'did you mean "factor"?'),
        ("json", DRAFT, "nothing.like.it", "set create: true"),
        ("json", DRAFT, "architectures.4", "is a list of 1"),
        ("json", DRAFT, "names.inner", '"names" is text'),
        ("json", '{"a": 1, "a": 2}', "a", "stands 2 times"),
        ("json", '{"a": 1,}', "a", "line 1, column"),
        ("json", "", "a", "this is not JSON"),
        ("yaml", "a: 1\na: 2\n", "a", "stands 2 times"),
        ("yaml", "a: |\n  x\n  y\n", "a", "block scalar"),
        ("yaml", "a:\n  b: 1\n", "a", "whole block mapping"),
        ("yaml", SERVICE, "copy.x", "shared through an anchor"),
        ("yaml", "b: &b {x: 1}\na:\n  <<: *b\n  y: 2\n", "a.x", "merged anchor"),
        ("yaml", "a: 1\n---\na: 2\n", "a", "but found another document"),
        ("yaml", "a: [1\n", "a", "line 2"),
        ("toml", "a = \n", "a", "a value is missing in line 1"),
        ("toml", "[t]\na = 1\n[t]\n", "t.a", "stands twice"),
        ("toml", "[t]\na = 1\n", "t", "whole table"),
        ("toml", "a = 1\na = 2\n", "a", "stands twice"),
        ("ini", INI, "Install.long", "several lines"),
        ("ini", "[a]\nx=1\nx=2\n", "a.x", "stands twice"),
        ("json", DRAFT, "a..b", "a part of it is empty"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(name, text, path, said):
    with pytest.raises(EditRefused) as refused:
        edit(text, name, values={path: 7})
    assert said in f"{refused.value.what}; {refused.value.fix}"


@pytest.mark.parametrize(
    ("name", "text", "path", "said"),
    [
        ("json", DRAFT, "names.inner", '"names" is text'),
        ("json", DRAFT, "architectures.4", "is a list of 1"),
        ("yaml", "a: &x {b: 1}\nc: *x\n", "c.d", "shared through an anchor"),
        ("toml", "a = 1\n", "a.b", '"a" is integer'),
        ("ini", "[a]\nx=1\n", "a.b.c", "too deep"),
        ("env", "A=1\n", "A.b", '"A" is text'),
    ],
)
def test_a_key_that_can_have_no_place_is_refused_with_create_as_well(name, text, path, said):
    with pytest.raises(EditRefused) as refused:
        edit(text, name, values={path: 7}, create=True)
    assert said in refused.value.what


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("config.json", "json"),
        ("a/b.YML", "yaml"),
        ("pyproject.toml", "toml"),
        ("x.service", "ini"),
        (".env", "env"),
        (".env.local", "env"),
        ("prod.env", "env"),
        ("config", None),
    ],
)
def test_the_format_is_told_by_the_name(name, found):
    assert found == format_of(name)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ("1", 1, False),
        ([1, {"a": None}], [1, {"a": None}], True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        (None, 0, False),
        (float("nan"), float("nan"), True),
    ],
)
def test_sameness_is_of_values_and_not_of_spelling(one, other, equal):
    assert equal == same(one, other)


@pytest.mark.slow
@examples(50)
@given(st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_a_path_that_is_shown_is_read_back(parts):
    assert tuple(parts) == parse_path(show_path(parts))


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
TREES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


@examples(50)
@given(
    st.dictionaries(st.text(min_size=1), TREES, min_size=1, max_size=4),
    TREES,
    st.sampled_from([None, 1, 2, "\t"]),
    st.booleans(),
    st.data(),
)
def test_any_json_value_changes_alone_in_any_layout(data, value, indent, ascii_only, draw):
    """The law: before and behind the value every byte stays, and the rest means what it meant."""
    text = json.dumps(data, indent=indent, ensure_ascii=ascii_only)
    key = draw.draw(st.sampled_from(sorted(data)))
    new, edits = edit(text, "json", values={show_path((key,)): value})
    if edits:
        data[key] = edits[0].after
    assert same(data, json.loads(new))
    assert list(data) == list(json.loads(new))


@examples(50)
@given(st.text(), st.sampled_from(["A=1\nX='old'\n", 'X="old"\n', "X=\n"]))
def test_any_text_survives_the_quoting_of_env(value, text):
    new, _ = edit(text, "env", values={"X": value})
    assert value == load(new, "env")["X"]


@examples(50)
@given(st.text(), st.sampled_from(["a: 'x'\n", 'a: "x"\n', "a: x # c\n"]))
def test_any_text_survives_the_quoting_of_yaml(value, text):
    new, _ = edit(text, "yaml", values={"a": value})
    assert value == load(new, "yaml")["a"]


@examples(50)
@given(st.text(), st.sampled_from(["a = 'x'\n", 'a = "x"\n']))
def test_any_text_survives_the_quoting_of_toml(value, text):
    new, _ = edit(text, "toml", values={"a": value})
    assert value == load(new, "toml")["a"]
