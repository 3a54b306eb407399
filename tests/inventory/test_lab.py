"""`plugin: lab`: the machines of the practice room, which is started when it is down."""

import json
import socket
import subprocess
import sys

import pytest

from cleanslate.inventory import lab
from cleanslate.model import SourceText

STATE = {
    "hosts": {
        "eagle3-lab": {"ansible_host": "127.0.0.1", "ansible_port": 2201, "hypervisor": "pve-lab", "vmid": 101},
        "pve-lab": {"ansible_host": "127.0.0.1", "ansible_port": 2202},
    },
    "groups": {"eagle3": ["eagle3-lab"], "hypervisors": ["pve-lab"]},
}


def program(path, body):
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_the_machines_of_a_lab_that_is_up_are_its_hosts(written, monkeypatch):
    """From lab.json in the repository's .lab, without starting anything."""
    monkeypatch.setattr(lab, "running_pid", lambda root: 1)
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    files = {"inventory/lab.yml": "plugin: lab\n", "invoke.yaml": "", ".lab/lab.json": json.dumps(STATE)}
    inventory = written.load("inventory/lab.yml", files=files)
    assert STATE["groups"] == {name: inventory.groups[name].hosts for name in ("eagle3", "hypervisors")}
    assert STATE["hosts"] == {name: dict(host.vars) for name, host in inventory.hosts.items()}
    assert SourceText is type(inventory.hosts["eagle3-lab"].vars["hypervisor"])


def test_a_lab_that_is_down_is_started_in_its_folder(written, tmp_path, monkeypatch):
    """By the lab's own program; then what it wrote is read."""
    (tmp_path / "state").write_text(json.dumps(STATE))
    up = program(tmp_path / "python", 'echo "$@" > called; mkdir -p "$5"; cp state "$5/lab.json"')
    monkeypatch.setattr(sys, "executable", up)
    inventory = written.load("lab.yml", files={"lab.yml": "plugin: lab\nroot: room\n"})
    assert ["eagle3-lab", "pve-lab"] == list(inventory.hosts)
    assert f"-m cleanslate.lab up --root {tmp_path}/room\n" == (tmp_path / "called").read_text()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("echo no namespaces here >&2; exit 1", "lab.yml: error: the lab did not start: no namespaces here"),
        ('mkdir -p "$5"; echo "{}" > "$5/lab.json"', "lab.yml: error: {root}/.lab/lab.json is not what a running lab"),
        ("true", "lab.yml: error: {root}/.lab/lab.json is not what a running lab writes: [Errno 2] No such file"),
    ],
)
def test_a_lab_that_does_not_start_is_explained(written, tmp_path, monkeypatch, body, told):
    """With what it said last."""
    monkeypatch.setattr(sys, "executable", program(tmp_path / "python", body))
    (mistake,) = written.mistakes(files={"lab.yml": "plugin: lab\n"})
    assert mistake.startswith(told.format(root=tmp_path))


def test_an_unknown_option_is_refused(written, monkeypatch):
    """Before anything is started."""
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    (mistake,) = written.mistakes(files={"lab.yml": "plugin: lab\nrot: x\n"})
    assert mistake == 'lab.yml:2:1: error: the plugin lab has no option "rot"; did you mean "root"?'


@pytest.mark.slow
def test_the_real_lab_starts_and_its_machines_listen(written, tmp_path):
    """The lab's own account of itself is what we read."""
    try:
        inventory = written.load(files={"lab.yml": "plugin: lab\n"})
        ports = [host.vars["ansible_port"] for host in inventory.hosts.values()]
        banners = []
        for port in ports:
            with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                banners.append(connection.recv(4))
        assert [b"SSH-"] * 2 == banners
        assert ["eagle3-lab"] == inventory.groups["eagle3"].hosts
    finally:
        subprocess.run([sys.executable, "-m", "cleanslate.lab", "down", "--root", str(tmp_path / ".lab")], check=True)
