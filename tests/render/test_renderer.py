"""Rendering: native values, trust, laziness, omit, circles."""

import copy
import pickle
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleanslate.errors import Origin, RenderError
from cleanslate.model import SourceList, SourceMap, SourceText
from cleanslate.render import OMIT, Renderer, Undefined, UndefinedVariable, Variables, is_template
from tests.laws import examples


def text(template, line=1, column=1):
    return SourceText(template, Origin("play.yml", line, column))


def trusted(value):
    """What a YAML file with this content gives."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        return SourceMap({key: trusted(item) for key, item in value.items()})
    return SourceList(map(trusted, value)) if isinstance(value, list) else value


def render(template, *layers):
    renderer = Renderer()
    return renderer.render(trusted(template), Variables(layers, renderer))


# --------------------------------------------------------------------------- trust

braces = st.text(st.sampled_from("{}%#' ax|"), min_size=1, max_size=20)


SHAPES = {
    "{{ x }}": lambda data: data,
    "{{ x | trim('q') }}": lambda data: data,
    "a {{ x }} b": lambda data: f"a {data} b",
    "{{ [x] }}": lambda data: [data],
    "{{ {'k': x} }}": lambda data: {"k": data},
    "{{ y }}": lambda data: f"[{data}]",
    "{{ result.stdout }}": lambda data: data,
    "{{ result.lines | join('') }}": lambda data: data,
}


@examples(60)
@given(data=st.one_of(braces, st.just("{{ 1 // 0 }}"), st.just("{{ lookup('pipe', 'false') }}")))
def test_data_is_never_rendered_wherever_it_goes(data):
    layer = {"x": data, "y": text("[{{ x }}]"), "result": {"stdout": data, "lines": [data]}}
    expected = {template: shape(data) for template, shape in SHAPES.items()}
    assert expected == {template: render(template, layer) for template in SHAPES}


def test_what_a_template_gives_is_plain_text_and_so_never_a_template():
    renderer = Renderer()
    once = renderer.render(text("{{ '{{' }} x }}"), {"x": 1})
    assert (once, type(once)) == ("{{ x }}", str)
    assert once == renderer.render(once, {"x": 1})


def test_untrusted_containers_are_given_back_unrendered():
    value = {"a": "{{ x }}", "b": ["{{ x }}"]}
    assert value == Renderer().render(value, {"x": 1})


def test_plain_values_lose_their_source_but_not_their_type():
    found = render({"t": "text", "n": 1, "f": 1.5, "b": True, "none": None, "l": ["x"]})
    assert {"t": "text", "n": 1, "f": 1.5, "b": True, "none": None, "l": ["x"]} == found
    assert [type(found), type(found["t"]), type(found["l"]), type(found["l"][0])] == [dict, str, list, str]


# --------------------------------------------------------------------------- laziness


class Watched(dict):
    """A layer that notes which names were read."""

    def __init__(self, *args):
        super().__init__(*args)
        self.read = []

    def __getitem__(self, name):
        self.read.append(name)
        return super().__getitem__(name)


def test_only_variables_that_are_used_are_looked_up():
    layer = Watched({"a": 1, "broken": text("{{ 1 // 0 }}"), "b": text("{{ a }}")})
    assert render("{{ b }}", layer) == 1
    assert layer.read == ["b", "a"]


def test_each_variable_is_rendered_once():
    layer = Watched({"a": text("{{ n }}{{ n }}"), "n": text("{{ 1 + 1 }}")})
    renderer = Renderer()
    variables = Variables([layer], renderer)
    assert [renderer.render(text("{{ a }}-{{ a }}"), variables) for _ in range(3)] == ["22-22"] * 3
    assert layer.read == ["a", "n"]


def test_the_last_layer_that_has_a_name_wins_even_with_null():
    assert render("{{ x }}{{ y }}", {"x": 1, "y": 1}, {"x": 2}, {"y": 3}) == "23"
    assert render("{{ x }}", {"x": 1}, {"x": None}) is None


def test_entries_of_a_mapping_may_use_each_other():
    layer = trusted(
        {"d": {"root": "/srv", "logs": "{{ d.root }}/log", "file": "{{ d['logs'] }}/x", "bad": "{{ nope }}"}}
    )
    assert render("{{ d.file }}", layer) == "/srv/log/x"
    assert render("{{ d | length }} {{ d.keys() | join(',') }} {{ 'bad' in d }}", layer) == "4 root,logs,file,bad True"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ l }}", [1, "x", {"k": 1}]),
        ("{{ l[0] }}", 1),
        ("{{ l[-1].k }}", 1),
        ("{{ l[1:] }}", ["x", {"k": 1}]),
        ("{{ l + [2] }}", [1, "x", {"k": 1}, 2]),
        ("{{ [2] + l }}", [2, 1, "x", {"k": 1}]),
        ("{{ l | list }}", [1, "x", {"k": 1}]),
        ("{{ l | reverse | list }}", [{"k": 1}, "x", 1]),
        ("{{ l | last }}", {"k": 1}),
        ("{{ 1 in l }} {{ 7 in l }} {{ l.index('x') }} {{ l.count(1) }}", "True False 1 1"),
        (
            "{{ l == [1, 'x', {'k': 1}] }} {{ [1, 'x', {'k': 1}] == l }} {{ l != [1] }} {{ l == l2 }}",
            "True True True True",
        ),
        ("{{ l | string }}", "[1, 'x', {'k': 1}]"),
        ("{{ '-'.join(words) }}", "a-b"),
        ("{{ '%s' % words }}", "['a', 'b']"),
        ("{{ words | sort(reverse=true) | join }}", "ba"),
        ("{{ words * 2 }}", ["a", "b", "a", "b"]),
        ("{{ words < ['b'] }} {{ words >= ['a'] }} {{ ['z'] > words }} {{ words <= words }}", "True True True True"),
        ("{% set _ = words.append('c') %}{{ words }}", ["a", "b", "c"]),
        ("{{ words | to_json }}", '["a", "b"]'),
        ("{{ d }}", {"a": 1, "b": {"c": 2}}),
        ("{{ d.items() | list }}", [["a", 1], ["b", {"c": 2}]]),
        ("{{ d.values() | first }}", 1),
        ("{{ d.get('a') }}{{ d.get('z', 5) }}", "15"),
        ("{{ d == {'a': 1, 'b': {'c': 2}} }} {{ {'a': 1, 'b': {'c': 2}} == d }} {{ d != {} }}", "True True True"),
        ("{{ dict(d, z=3) }}", {"a": 1, "b": {"c": 2}, "z": 3}),
        ("{{ dict(**d) }}", {"a": 1, "b": {"c": 2}}),
        ("{{ d.copy().b.c }}", 2),
        ("{{ d | string }}", "{'a': 1, 'b': {'c': 2}}"),
        ("{{ d | to_json }}", '{"a": 1, "b": {"c": 2}}'),
        ("{{ d | dict2items | length }}", 2),
        ("{{ d | combine({'a': 9}) }}", {"a": 9, "b": {"c": 2}}),
        ("{% for key, value in d.items() %}{{ key }}={{ value }};{% endfor %}", "a=1;b={'c': 2};"),
        ("{% for item in l %}{{ item }},{% endfor %}", "1,x,{'k': 1},"),
        ("{{ '{a}'.format(**d) }}", "1"),
        ("{{ d | type_debug }} {{ l | type_debug }}", "dict list"),
    ],
)
def test_lazy_containers_behave_as_what_they_hold(template, expected):
    layer = trusted(
        {
            "n": 1,
            "l": ["{{ n }}", "x", {"k": "{{ n }}"}],
            "l2": ["{{ n }}", "x", {"k": "{{ n }}"}],
            "words": ["{{ 'a' }}", "b"],
            "d": {"a": "{{ n }}", "b": {"c": "{{ n + 1 }}"}},
        }
    )
    assert expected == render(template, layer)


def test_lazy_containers_can_be_copied_and_pickled_as_plain_ones():
    renderer = Renderer()
    layer = trusted({"d": {"a": "{{ 1 }}"}, "l": ["{{ 2 }}"]})
    variables = Variables([layer], renderer)
    for name, expected in (("d", {"a": 1}), ("l", [2])):
        lazy = variables.resolve(name)
        assert expected == pickle.loads(pickle.dumps(lazy)) == copy.deepcopy(lazy)
        assert type(copy.deepcopy(lazy)) is type(expected)


def test_data_is_handed_on_and_not_copied():
    facts = {"mounts": [{"size": 1}] * 10}
    assert Variables([{"facts": facts}], Renderer()).resolve("facts") is facts


class Unread(list):
    """A list that must not be gone through."""

    def __iter__(self):
        raise AssertionError("somebody went through it")


def test_large_data_is_not_searched_through_for_templates():
    facts = {**{f"fact{number}": number for number in range(1000)}, "large": Unread([1]), "deep": {"x": [1]}}
    assert render("{{ facts.deep.x[0] + facts['fact7'] }}", {"facts": facts}) == 8


def test_templates_in_large_source_data_are_rendered_all_the_same():
    layer = trusted({"d": {f"k{number}": {"t": "{{ n }}" if number == 900 else "x"} for number in range(1000)}, "n": 5})
    assert render("{{ d.k900.t }}{{ d.k1.t }}", layer) == "5x"
    assert render("{{ d }}", layer)["k900"] == {"t": 5}


def test_variables_of_other_hosts_are_read_through_their_own_view():
    renderer = Renderer()
    hosts = {}
    for name, number in (("a", 1), ("b", 2)):
        layer = {"n": number, "twice": text("{{ n * 2 }}"), "hostvars": hosts, "keys": "mine"}
        hosts[name] = Variables([layer], renderer)
    both = text("{{ ['a', 'b'] | map('extract', hostvars, 'twice') | list }}")
    assert [2, 4] == renderer.render(both, hosts["a"])
    assert renderer.render(text("{{ hostvars['b'].twice }}{{ hostvars.b['n'] }}"), hosts["a"]) == "42"
    assert renderer.render(text("{{ hostvars.b.keys }}"), hosts["a"]) == "mine"
    assert (
        renderer.render(text("{{ hostvars.c.n | default('?') }}{{ hostvars.b.zz | default('!') }}"), hosts["a"]) == "?!"
    )


def test_all_variables_can_be_shown_though_they_hold_themselves():
    renderer = Renderer()
    hosts = {}
    magic = {"hostvars": hosts}
    hosts["a"] = magic["vars"] = Variables([{"x": text("{{ y }}"), "y": 1}, magic], renderer)
    assert renderer.render(text("{{ vars }}"), hosts["a"]) == {"x": 1, "y": 1}
    assert renderer.render(text("{{ hostvars }}"), hosts["a"]) == {"a": {"x": 1, "y": 1}}
    assert renderer.render(text("{{ vars['x'] + vars.y }}"), hosts["a"]) == 2


def test_an_error_that_is_met_again_and_again_does_not_grow():
    renderer = Renderer()
    variables = Variables([{"bad": text("{{ 1 // 0 }}")}], renderer)

    def depth():
        with pytest.raises(RenderError) as raised:
            renderer.render(text("{{ bad + 1 }}"), variables)
        return len(raised.traceback)

    assert len({depth() for _ in range(3)}) == 1


# --------------------------------------------------------------------------- Variables as others read them


def test_variables_are_a_mapping_of_plain_values():
    renderer = Renderer()
    variables = Variables([trusted({"a": "{{ b }}!", "b": "x"}), {"c": [1]}], renderer)
    assert dict(variables) == {"a": "x!", "b": "x", "c": [1]}
    assert ("a" in variables, "z" in variables, len(variables), list(variables)) == (True, False, 3, ["a", "b", "c"])
    assert (variables.get("a"), variables.get("z"), variables.get("z", 1)) == ("x!", None, 1)
    assert type(variables["b"]) is str
    assert variables.raw("a") == "{{ b }}!"


def test_a_name_that_is_not_there_is_a_key_error_and_a_render_error():
    variables = Variables([{"port": 1}], Renderer())
    for wrong in (KeyError, RenderError, UndefinedVariable):
        with pytest.raises(wrong):
            variables["prot"]
    with pytest.raises(KeyError):
        variables.raw("prot")
    with pytest.raises(UndefinedVariable) as raised:
        variables["prot"]
    assert str(raised.value) == '"prot" is undefined; did you mean "port"?'


def test_a_variable_that_cannot_be_rendered_raises_when_it_is_asked_for():
    variables = Variables([{"a": text("{{ nope }}", 3, 5)}], Renderer())
    with pytest.raises(UndefinedVariable) as raised:
        variables["a"]
    assert raised.value.origin == Origin("play.yml", 3, 8)
    assert isinstance(variables.resolve("a"), Undefined)


def test_a_variable_that_is_no_data_names_its_place():
    variables = Variables([{"r": text("{{ range(3) }}", 7, 4), "circle": trusted(["{{ circle }}"])}], Renderer())
    with pytest.raises(RenderError, match="range") as raised:
        variables["r"]
    assert raised.value.origin == Origin("play.yml", 7, 4)
    with pytest.raises(RenderError, match="needs its own outcome"):
        variables["circle"]


def test_more_layers_go_above_and_leave_the_others_as_they_were():
    renderer = Renderer()
    below = Variables([{"x": 1, "y": text("{{ x }}")}], renderer)
    above = below.with_layers({"x": 2}, {"z": 3})
    assert (below["y"], above["y"], above["z"], "z" in below) == (1, 2, 3, False)


def test_undefined_travels_through_code_that_only_passes_it_on():
    renderer = Renderer()
    variables = Variables([{}], renderer)
    assert renderer.expression("[nope, 1] | length", variables) == 2
    assert renderer.expression("{'a': nope}['a'] is defined", variables) is False


def test_threads_may_render_the_same_variables():
    renderer = Renderer()
    layer = trusted({f"v{n}": f"{{{{ v{n - 1} }}}}{n}" if n else "0" for n in range(20)})
    variables = Variables([layer], renderer)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(renderer.render(text("{{ v19 }}"), variables))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["".join(map(str, range(20)))] * 4


# --------------------------------------------------------------------------- omit


def test_omit_as_a_whole_is_the_sentinel_and_inside_it_is_left_out():
    assert render("{{ omit }}") is OMIT
    assert render("{{ mode | default(omit) }}") is OMIT
    assert render({"a": "{{ mode | default(omit) }}", "b": {"c": "{{ omit }}"}, "l": ["{{ omit }}", 1]}) == {
        "b": {},
        "l": [1],
    }
    assert render("{{ {'a': omit, 'b': 1} }}") == {"b": 1}
    assert render("{{ x | default('no') }}", {"x": OMIT}) is OMIT


def test_there_is_one_omit():
    assert copy.deepcopy({"a": OMIT})["a"] is OMIT
    assert copy.copy(OMIT) is OMIT
    assert pickle.loads(pickle.dumps(OMIT)) is OMIT
    assert (str(OMIT), repr(OMIT)) == ("", "omit")


# --------------------------------------------------------------------------- circles


@pytest.mark.parametrize(
    "layer",
    [
        {"a": "{{ a }}"},
        {"a": "{{ b }}", "b": "{{ c }}", "c": "x{{ a }}"},
        {"a": "{{ d.x }}", "d": {"x": "{{ d.y }}", "y": "{{ d.x }}"}},
        {"a": "{{ lookup('vars', 'a') }}"},
        {"a": ["{{ a }}"]},
    ],
)
def test_a_template_that_needs_its_own_outcome_is_an_error(layer):
    with pytest.raises(RenderError, match="needs its own outcome"):
        render("{{ a }}", trusted(layer))


def test_a_circle_through_other_hosts_is_an_error_too():
    renderer = Renderer()

    class Hosts(dict):
        def __missing__(self, name):
            return Variables([{"x": text("{{ hostvars['h'].x }}"), "hostvars": self}], renderer)

    with pytest.raises(RenderError, match="needs its own outcome"):
        renderer.render(text("{{ hostvars['h'].x }}"), {"hostvars": Hosts()})


def test_a_circle_in_a_branch_that_is_not_taken_is_none():
    assert render("{{ a }}", trusted({"a": "{{ b if false else 1 }}", "b": "{{ a }}"})) == 1


def test_the_circle_is_shown():
    with pytest.raises(RenderError) as raised:
        render("{{ a }}", trusted({"a": "{{ b }}", "b": "{{ a }}"}))
    assert "{{ b }} -> {{ a }} -> {{ b }}" in str(raised.value)


# --------------------------------------------------------------------------- what is a template


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("{{ x }}", True),
        ("{% if x %}{% endif %}", True),
        ("{# x #}", True),
        ("plain", False),
        ("{ x }", False),
        ("}}", False),
        (["a", ["{{ x }}"]], True),
        ({"a": {"b": "{{ x }}"}}, True),
        ({"a": [1, None, "x"]}, False),
        (5, False),
        (None, False),
    ],
)
def test_only_repository_text_with_an_opening_is_a_template(value, expected):
    assert expected is is_template(trusted(value))
    assert is_template(value) is False


def test_expressions_are_bare_and_give_plain_data():
    assert Renderer().expression("x + 1", {"x": 1}) == 2
    assert Renderer().expression("[x, y]", {"x": text("{{ y }}"), "y": text("t")}) == ["t", "t"]
