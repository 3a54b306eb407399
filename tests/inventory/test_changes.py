"""Hosts and groups that a run adds."""

import sys
import threading

import pytest

from cleanslate.errors import InputError
from cleanslate.inventory import add_host, all_members, host_layers, match_hosts, tree
from cleanslate.inventory.tree import groups_of


def test_an_added_host_is_in_its_groups_and_has_their_variables(written):
    """Also after patterns, groups and layers were asked for."""
    inventory = written.load(files={"hosts.ini": "[g]\nh\n[g:vars]\nx=1\n"})
    assert (["h"], ["h"]) == (match_hosts("g", inventory), all_members(inventory)["g"])
    host_layers(inventory, "h", playbook_dir=None)
    add_host(inventory, "n", ["g", "new"], [], {"y": "{{ data }}"})
    assert (["h", "n"], ["n"], ["h", "n"]) == (
        match_hosts("g", inventory),
        match_hosts("new", inventory),
        all_members(inventory)["all"],
    )
    layers = host_layers(inventory, "n", playbook_dir=None)
    assert [("inventory hosts.ini [g:vars]", {"x": 1}), ("host n", {"y": "{{ data }}"})] == [
        (layer.label, dict(layer.values)) for layer in layers
    ]
    assert str is type(layers[-1].values["y"])


def test_a_host_without_groups_is_ungrouped_until_it_has_one(written):
    """And a host of the inventory keeps its groups and gets more."""
    inventory = written.load(files={"hosts.ini": "[g]\nh\n"})
    add_host(inventory, "n")
    assert ["n"] == match_hosts("ungrouped", inventory)
    add_host(inventory, "n", ["g"])
    add_host(inventory, "h", ["k"], ["os"])
    assert [] == match_hosts("ungrouped", inventory)
    assert (["h", "n"], ["h"]) == (match_hosts("g", inventory), match_hosts("os", inventory))
    assert {"g": 1, "os": 1, "k": 2} == {name: inventory.groups[name].depth for name in ("g", "os", "k")}


def test_a_variable_that_is_set_again_replaces_the_old_one(written):
    """The inventory's definition stays visible below."""
    inventory = written.load(files={"hosts.ini": "h x=1\n"})
    add_host(inventory, "h", variables={"x": 2})
    assert [{"x": 1}, {"x": 2}] == [dict(layer.values) for layer in host_layers(inventory, "h", playbook_dir=None)]


def test_a_circle_of_groups_is_refused(written):
    """The inventory stays what it was."""
    inventory = written.load(files={"hosts.ini": "[a:children]\nb\n[b]\nh\n"})
    with pytest.raises(InputError, match="in a circle: a > b > a"):
        add_host(inventory, "h", ["a"], ["b"])
    assert ["h"] == match_hosts("a", inventory)


def test_what_is_worked_out_during_a_change_is_not_believed_later(written, monkeypatch):
    """Hosts run in threads: one reads the groups while another one is given more."""
    inventory = written.load(files={"hosts.ini": "[g]\nh\n"})
    members, changes = tree.members, [("n", ["new"])]

    def meanwhile(given, group):
        found = members(given, group)
        while changes:
            add_host(given, *changes.pop())
        return found

    monkeypatch.setattr(tree, "members", meanwhile)
    assert "new" not in all_members(inventory)
    assert ["n"] == all_members(inventory)["new"]


def test_parents_are_there_all_the_time(written):
    """Whoever looks while a group is added sees the old ones or the new ones, never none."""
    inventory = written.load(files={"hosts.ini": "[g]\nh\n[top:children]\ng\n"})
    seen, going = set(), threading.Event()

    def look():
        while not going.is_set():
            seen.add(frozenset(group.name for group in groups_of(inventory, inventory.hosts["h"])))

    looking = threading.Thread(target=look)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    looking.start()
    try:
        for number in range(300):
            add_host(inventory, f"n{number}", [f"new{number}"], ["os"])
    finally:
        going.set()
        looking.join()
        sys.setswitchinterval(interval)
    assert {frozenset({"g", "top"})} == seen
