"""What a failed template says: the name, the expression, the place, and what to do."""

import pytest

from cleanslate.errors import Origin, RenderError
from cleanslate.model import SourceText
from cleanslate.render import Renderer, UndefinedVariable, Variables
from cleanslate.yamlfile import load_yaml_text

PLAY = """\
vars:
  port: 8000
  servers: [{name: a, prot: 1}, {name: b}]
  nul: null
  inner: "x{{ hots }}"
  conf: {log_dir: /var/log}
tasks:
  plain: "{{ prot }}"
  unquoted: a{{ prot }}
  block: |
    first {{ port }}
    second {{ prot }} {{ port }}
      third
  block_deeper:
    - text: |-
        {% if port %}
          {{ port + prot }}
        {% endif %}
  attribute: "{{ conf.log_dri }}"
  item: "{{ conf['logdir'] }}"
  far: "{{ servers[1].prot }}"
  past: "{{ servers[7] }}"
  of_null: "{{ nul.x.y }}"
  through: "{{ inner }}"
  added: "{{ 'a' + port }}"
  divided: "{{ port // 0 }}"
  filter: "{{ port | uper }}"
  test: "{{ port is mathc('x') }}"
  lookup: "{{ lookup('fiel', 'x') }}"
  mapped: "{{ [1] | map('uper') | list }}"
  json: "{{ 'nope' | from_json }}"
  unclosed: "{{ port"
  comment: "{# port"
  regex: "{{ 'x' | regex_replace('[', '') }}"
  method: "{{ conf.items }}"
  range: "{{ range(3) }}"
  twice: "{{ port }} {{ prot }}"
  word: "{{ 'prot' ~ prot }}"
  folded: >-
    one {{ port }}
    {{ prot }}
  else: "{{ 'x' if port == 1 }}"
  collection: "{{ port | community.general.thing }}"
  ipaddr: "{{ '10.0.0.1/8' | ansible.utils.ipaddr('network') }}"
  unvault: "{{ '$ANSIBLE_VAULT;1.1;AES256' | unvault('y') }}"
  config: "{{ lookup('config', 'X') }}"
"""
SOURCE = load_yaml_text(PLAY, "play.yml")

CASES = {
    "plain": '8:14: "prot" is undefined, in {{ prot }}; did you mean "port"?',
    "unquoted": '9:17: "prot" is undefined, in {{ prot }}; did you mean "port"?',
    "block": '12:15: "prot" is undefined, in {{ prot }}; did you mean "port"?',
    "block_deeper": '17:21: "prot" is undefined, in {{ port + prot }}; did you mean "port"?',
    "attribute": '19:18: "conf" has no "log_dri", in {{ conf.log_dri }}; did you mean "log_dir"?',
    "item": '20:13: "conf" has no "logdir", in {{ conf[\'logdir\'] }}; did you mean "log_dir"?',
    "far": '21:12: "servers[1]" has no "prot", in {{ servers[1].prot }}; it has: name',
    "past": '22:13: "servers" has no item 7: it has 2, in {{ servers[7] }}',
    "of_null": '23:16: "nul" is null, so it has no "x", in {{ nul.x.y }}; '
    "give it a value, or write | default(...) after it",
    "through": '5:15: "hots" is undefined, in {{ hots }} (needed by {{ inner }} at play.yml:24:13); '
    "define it, or say what holds without it: hots | default(...)",
    "added": "25:11: can only concatenate str (not \"int\") to str, in {{ 'a' + port }}; "
    'join text with "~", which takes numbers too',
    "divided": "26:13: integer division or modulo by zero, in {{ port // 0 }}",
    "filter": '27:12: there is no filter "uper", in {{ port | uper }}; did you mean "upper"?',
    "test": '28:10: there is no test "mathc", in {{ port is mathc(\'x\') }}; did you mean "match"?',
    "lookup": "29:12: there is no lookup \"fiel\", in {{ lookup('fiel', 'x') }}; did you mean \"file\"?",
    "mapped": '30:12: there is no filter "uper", in {{ [1] | map(\'uper\') | list }}; did you mean "upper"?',
    "json": "31:10: from_json: 'nope' is not JSON: Expecting value: line 1 column 1 (char 0), "
    "in {{ 'nope' | from_json }}",
    "unclosed": '32:14: a "{{" is never closed, in {{ port; close it with "}}"',
    "comment": '33:13: a "{#" is never closed, in {# port; close the comment with "#}", '
    'or write {{ "{#" }} for the characters themselves',
    "regex": '34:11: "[" is no regular expression: unterminated character set at position 0, '
    "in {{ 'x' | regex_replace('[', '') }}",
    "method": '35:12: the template gives a function ("items"), not a value, in {{ conf.items }}; '
    'call it with "()"; if it is a key of a mapping, write mapping["key"]',
    "range": "36:11: the template gives a range, which is no list yet, in {{ range(3) }}; write range(...) | list",
    "twice": '37:25: "prot" is undefined, in {{ prot }}; did you mean "port"?',
    "word": '38:22: "prot" is undefined, in {{ \'prot\' ~ prot }}; did you mean "port"?',
    "else": "42:10: the inline if has no else, and its condition is false, in {{ 'x' if port == 1 }}; "
    "write what holds otherwise: ... else ...",
    "collection": '43:16: there is no filter "community.general.thing", in {{ port | community.general.thing }}; '
    "filters of collections are not supported",
    "unvault": "45:13: unvault: the vault envelope is damaged: its lines are not what encrypting writes, "
    "in {{ '$ANSIBLE_VAULT;1.1;AES256' | unvault('y') }}",
    "config": '46:12: lookup "config" is not supported: this is not Ansible, so its settings do not exist; '
    "put the value into a variable, in {{ lookup('config', 'X') }}",
}


def _failure(name):
    renderer = Renderer()
    with pytest.raises(RenderError) as raised:
        renderer.render(SOURCE["tasks"][name], Variables([SOURCE["vars"]], renderer))
    return raised.value


@pytest.mark.parametrize(("name", "expected"), CASES.items(), ids=CASES)
def test_an_error_names_what_where_and_what_to_do(name, expected):
    assert f"play.yml:{expected}" == str(_failure(name))


def test_address_arithmetic_is_refused_politely():
    assert "ansible.utils collection" in str(_failure("ipaddr"))


def test_in_folded_text_the_place_is_at_least_inside_the_text():
    error = _failure("folded")
    assert error.what == '"prot" is undefined, in {{ prot }}'
    assert error.origin.line in (40, 41)


def test_undefined_names_and_other_failures_are_told_apart():
    assert type(_failure("plain")) is UndefinedVariable
    assert type(_failure("divided")) is RenderError
    assert _failure("plain").exit_code == 2


def test_text_without_a_place_fails_with_the_expression_alone():
    with pytest.raises(RenderError) as raised:
        Renderer().render(SourceText("{{ nope }}"), {})
    assert raised.value.origin is None
    assert raised.value.what == '"nope" is undefined, in {{ nope }}'


def test_a_long_expression_is_shortened():
    template = SourceText("{{ " + "x ~ " * 60 + "nope }}", Origin("p.yml", 1, 1))
    with pytest.raises(RenderError) as raised:
        Renderer().render(template, {"x": 1})
    assert len(raised.value.what) < 150
    assert raised.value.what.endswith("...")
    assert raised.value.origin == Origin("p.yml", 1, 4 + 4 * 60)


def test_what_is_undefined_deep_in_a_value_is_found():
    value = load_yaml_text("a:\n  - b: [1, '{{ prot }}']\n", "deep.yml")
    with pytest.raises(UndefinedVariable) as raised:
        Renderer().render(value, {"port": 1})
    assert str(raised.value) == 'deep.yml:2:16: "prot" is undefined, in {{ prot }}; did you mean "port"?'
