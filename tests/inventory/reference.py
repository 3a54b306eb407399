"""Asks ansible-core what an inventory means; run by a Python that has it, cases as JSON on standard input.

    python tests/inventory/reference.py < cases.json > expected.json

A case: `files` (path -> text; a leading `#!` makes it executable), `sources`, `playbook` (a folder, or null),
`ask` (more hosts to ask for), `patterns` (pairs of pattern and limit). The outcome: groups, each host's
variables without the magic ones, and the hosts of each pattern; or `refused`.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["ANSIBLE_DEPRECATION_WARNINGS"] = "0"

from ansible.errors import AnsibleError
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
from ansible.utils.display import Display
from ansible.vars.manager import VariableManager
from reference_files import lay_out

init_plugin_loader([])
complaints = []
Display.warning = Display.error = Display.error_as_warning = lambda self, msg, *rest, **options: complaints.append(
    str(msg)
)

MAGIC = """
inventory_file inventory_dir inventory_hostname inventory_hostname_short group_names playbook_dir groups omit
ansible_playbook_python ansible_config_file ansible_version ansible_check_mode ansible_diff_mode ansible_forks
ansible_inventory_sources ansible_limit ansible_run_tags ansible_skip_tags ansible_verbosity ansible_facts
environment vars
"""


def outcome(case, root):
    complaints.clear()
    loader = DataLoader()
    loader.set_basedir(str(root / case["playbook"]) if case.get("playbook") else "/nonexistent")
    sources = [source if "," in source else str(root / source) for source in case["sources"]]
    inventory = InventoryManager(loader=loader, sources=sources)
    if any("Unable to parse" in complaint for complaint in complaints):
        return {"refused": True}
    variables = VariableManager(loader=loader, inventory=inventory)
    names = [*inventory.hosts, *case.get("ask", ())]
    groups = {
        group.name: {
            "hosts": [host.name for host in group.hosts],
            "members": [host.name for host in group.get_hosts()],
            "depth": group.depth,
            "priority": group.priority,
        }
        for group in inventory.groups.values()
    }
    hosts = {}
    for name in names:
        found = variables.get_vars(host=inventory.get_host(name), include_hostvars=False)
        hosts[name] = {key: value for key, value in found.items() if key not in MAGIC.split()}
        if hosts[name].get("ansible_python_interpreter") == sys.executable:
            hosts[name]["ansible_python_interpreter"] = "this python"
    patterns = [matched(inventory, pattern, limit, root) for pattern, limit in case.get("patterns", ())]
    return {"groups": groups, "hosts": hosts, "patterns": patterns}


def matched(inventory, pattern, limit, root):
    complaints.clear()
    os.chdir(root)
    try:
        inventory.subset(limit)
        return [host.name for host in inventory.get_hosts(pattern)]
    except (AnsibleError, IndexError):
        return "refused"


def main():
    outcomes = {}
    for name, case in json.load(sys.stdin).items():
        with tempfile.TemporaryDirectory() as folder:
            lay_out(case["files"], Path(folder))
            outcomes[name] = outcome(case, Path(folder))
            os.chdir("/")
    json.dump(outcomes, sys.stdout, indent=1, sort_keys=True, default=str)


if __name__ == "__main__":
    main()
