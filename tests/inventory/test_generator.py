"""`plugin: generator`: what is wrong with its options; what it makes is compared with ansible-core elsewhere."""

import pytest


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            "host: {name: x}\nlayers: {a: [1]}",
            '2:1: error: the plugin generator has no option "host"; did you mean "hosts"?',
        ),
        ("hosts: {name: x}\nlayers: {a: 1}", '3:9: error: "layers" must be a map of lists'),
        ("hosts: {name: x, vars: {}}\nlayers: {a: [1]}", '2:18: error: "hosts" has no "vars"; it has: name, parents'),
        ("hosts: {name: x, parents: g}\nlayers: {a: [1]}", '2:27: error: "parents" must be a list'),
        (
            "hosts: {name: x, parents: [{name: g, var: 1}]}\nlayers: {a: [1]}",
            '2:38: error: a parent has no "var"; did you mean "vars"?',
        ),
        (
            f"hosts: {{name: x}}\nlayers: {{a: &a {[*range(300)]}, b: *a}}",
            "3:9: error: the layers stand for more than 65536 hosts",
        ),
    ],
)
def test_wrong_options_are_refused_with_their_place(written, options, told):
    """Before a host is made."""
    mistakes = written.mistakes(files={"hosts.yml": f"plugin: generator\n{options}\n"})
    assert f"hosts.yml:{told}" in mistakes


def test_an_undefined_layer_is_told_once_with_its_place(written):
    """It is the same for all combinations."""
    text = "plugin: generator\nhosts:\n  name: 'x{{ b }}'\nlayers: {a: [1, 2]}\n"
    (told,) = written.mistakes(files={"hosts.yml": text})
    assert told.startswith("hosts.yml:3:")
