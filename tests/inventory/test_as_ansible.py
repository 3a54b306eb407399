"""An inventory means here what it means to ansible-core; its answers were recorded by `record.py`."""

import json
import sys
from pathlib import Path

import pytest

from cleanslate.errors import InputError
from cleanslate.inventory import all_members, host_layers, load_inventory, match_hosts
from tests.inventory.cases import CASES, lay_out

EXPECTED = json.loads((Path(__file__).parent / "expected.json").read_text(encoding="utf-8"))


def outcome(case, root):
    try:
        inventory = load_inventory(case["sources"], base=root)
    except InputError:
        return {"refused": True}
    playbook = root / case["playbook"] if case.get("playbook") else None
    members = all_members(inventory)
    groups = {
        group.name: {
            "hosts": group.hosts,
            "members": members[group.name],
            "depth": group.depth,
            "priority": group.priority,
        }
        for group in inventory.groups.values()
    }
    hosts = {}
    for name in [*inventory.hosts, *case.get("ask", ())]:
        hosts[name] = {}
        for layer in host_layers(inventory, name, playbook_dir=playbook):
            hosts[name].update(layer.values)
        if hosts[name].get("ansible_python_interpreter") == sys.executable:
            hosts[name]["ansible_python_interpreter"] = "this python"
    patterns = [matched(inventory, pattern, limit) for pattern, limit in case.get("patterns", ())]
    return {"groups": groups, "hosts": hosts, "patterns": patterns}


def matched(inventory, pattern, limit):
    try:
        return match_hosts(pattern, inventory, limit=limit)
    except InputError:
        return "refused"


def test_every_case_was_recorded():
    """A new case needs `record.py` to be run."""
    assert sorted(EXPECTED) == sorted(CASES)


@pytest.mark.parametrize("name", CASES)
def test_an_inventory_means_what_it_means_to_ansible(name, tmp_path, monkeypatch):
    """Groups, members, depths, every host's variables, and the hosts of patterns are Ansible's."""
    monkeypatch.chdir(tmp_path)
    lay_out(CASES[name]["files"], tmp_path)
    assert EXPECTED[name] == json.loads(json.dumps(outcome(CASES[name], tmp_path)))
