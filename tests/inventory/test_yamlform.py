"""YAML inventories: mistakes with their place, values with theirs."""

import pytest

from cleanslate.errors import Origin


def test_every_mistake_of_a_file_is_told_at_once_with_its_place(written):
    """Misspelt keys, lists for maps, hosts and variables in the wrong place."""
    text = """\
all:
  host:
    a:
  children:
    web:
      hosts:
        - w1
    db:
      db1:
      ansible_user: root
      vars: [1]
      hosts:
        d[1:x]: {a: 1}
        e: [1]
        5:
    6:
      hosts:
    c: {children: [x]}
x: 1
"""
    assert written.mistakes(files={"hosts.yml": text}) == [
        'hosts.yml:2:3: error: group "all" has the unknown key "host"; did you mean "hosts"?',
        'hosts.yml:7:9: error: the hosts of group "web" are a list, not a map; write each as "name:", without a dash',
        'hosts.yml:9:7: error: group "db" has the unknown key "db1"; '
        'hosts stand under "hosts:", groups under "children:", variables under "vars:"',
        'hosts.yml:10:7: error: group "db" has the unknown key "ansible_user"; variables stand under "vars:"',
        'hosts.yml:11:13: error: the vars of group "db" are a list; write name: value, without dashes',
        'hosts.yml:13:10: error: the range "[1:x]" goes from "1" to "x"; both ends must be numbers, or both one letter',
        'hosts.yml:14:12: error: the variables of host "e" are a list; '
        "write name: value below the host, without dashes",
        "hosts.yml:15:9: error: the host name 5 is not text; put it in quotes",
        "hosts.yml:16:5: error: the group name 6 is not text; put it in quotes",
        'hosts.yml:18:19: error: the children of group "c" are a list, not a map; '
        'write each as "name:", without a dash',
        'hosts.yml:19:1: error: group "x" is the value "1", not a map; '
        'a group holds "hosts:", "vars:" and "children:"; variables of all hosts stand under "all: vars:"',
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "- all",
            "1:1: error: an inventory is a map of groups, this is a list; "
            'begin with "all:" and put hosts under "hosts:"',
        ),
        (
            "a:\n  children:\n    b:\n      children:\n        a:\n",
            "5:9: error: the groups hold one another in a circle: a > b > a; take one of them out",
        ),
        ("plugin: labb\n", '1:9: error: no inventory plugin is named "labb"; did you mean "lab"?'),
        (
            "plugin: x.y.z\n",
            '1:9: error: no inventory plugin is named "x.y.z"; there are: constructed, generator, lab, proxmox',
        ),
        (
            "a:\n  vars: {ansible_group_priority: x}\n",
            '2:34: error: ansible_group_priority of group "a" is "x"; it must be a whole number',
        ),
    ],
)
def test_a_wrong_file_is_explained(written, text, told):
    """What people get wrong, and how to put it right."""
    assert [f"hosts.yml:{told}"] == written.mistakes(files={"hosts.yml": text})


def test_an_empty_file_is_a_warning(written):
    """Ansible goes on without hosts; so do we, and say it."""
    assert ["hosts.yml: warning: the inventory is empty"] == [
        str(one) for one in written.load(files={"hosts.yml": "# x\n"}).warnings
    ]


def test_values_know_where_they_stand(written):
    """A host's and a group's variables keep the places that the YAML reader gave them."""
    inventory = written.load(files={"hosts.yml": "g:\n  vars:\n    a: '{{ x }}'\n  hosts:\n    h[1:2]:\n      b: 5\n"})
    assert Origin("hosts.yml", 3, 9) == inventory.groups["g"].vars["a"].origin
    assert [Origin("hosts.yml", 6, 7)] * 2 == [inventory.hosts[name].vars.key_origin("b") for name in ("h1", "h2")]
