"""`plugin: constructed`: what is wrong with its options; what it makes is compared with ansible-core elsewhere."""

import pytest

HOSTS = "[g]\na os=linux n=1\nb os=bsd\n"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("composed: {}", '2:1: error: the plugin constructed has no option "composed"; did you mean "compose"?'),
        ("compose: [x]", '2:10: error: "compose" must be a map of names and expressions'),
        ("groups: x", '2:9: error: "groups" must be a map of names and expressions'),
        ("keyed_groups: {key: os}", '2:15: error: "keyed_groups" must be a list'),
        ("keyed_groups: [{prefix: os}]", '2:16: error: an entry of "keyed_groups" is a map with a "key"'),
        (
            "keyed_groups: [{key: os, prefx: x}]",
            '2:26: error: an entry of "keyed_groups" has no "prefx"; '
            "key, prefix, separator, parent_group, default_value, trailing_separator",
        ),
        (
            "keyed_groups: [{key: os, default_value: a, trailing_separator: false}]",
            '2:16: error: "default_value" and "trailing_separator" exclude each other',
        ),
        (
            "keyed_groups: [{key: n}]",
            '2:22: error: the key "n" of host a is 1: no text, list or map; turn it into text: key: NAME | string',
        ),
    ],
)
def test_wrong_options_are_refused_with_their_place(written, options, told):
    """Ansible passes over most of them without a word."""
    mistakes = written.mistakes("inv", files={"inv/1.ini": HOSTS, "inv/2.yml": f"plugin: constructed\n{options}\n"})
    assert [f"inv/2.yml:{told}"] == mistakes


def test_strict_tells_every_host_that_lacks_something(written):
    """The host, the variable or group, and the place of the expression."""
    text = "plugin: ansible.builtin.constructed\nstrict: true\ncompose:\n  m: n + 1\n"
    (told,) = written.mistakes("inv", files={"inv/1.ini": HOSTS, "inv/2.yml": text})
    assert told.startswith("inv/2.yml:4:6: error: cannot work out m of host b: ")


def test_what_it_makes_knows_its_place_and_is_no_template(written):
    """A composed value is data, whatever braces it holds; `inv explain` finds its line."""
    inventory = written.load(
        "inv", files={"inv/1.ini": HOSTS, "inv/2.yml": "plugin: constructed\ncompose:\n  t: \"'{{ os }}'\"\n"}
    )
    values = inventory.hosts["a"].vars
    assert (str, "{{ os }}", "inv/2.yml:3:3") == (type(values["t"]), values["t"], str(values.key_origin("t")))
