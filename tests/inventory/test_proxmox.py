"""plugin: community.proxmox.proxmox, against a small HTTP server that answers as a cluster does."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote

import pytest

from cleanslate.inventory import host_layers, match_hosts

GUESTS = [
    {"type": "lxc", "vmid": 101, "name": "eagle3", "node": "pve1", "status": "running", "tags": "gpu;prod"},
    {"type": "qemu", "vmid": 102, "name": "web one", "node": "pve1", "status": "running"},
    {"type": "qemu", "vmid": 103, "name": "old", "node": "pve2", "status": "stopped"},
    {"type": "qemu", "vmid": 900, "name": "base", "node": "pve1", "status": "stopped", "template": 1},
    {"type": "lxc", "vmid": 104, "name": "lost", "node": "pve3", "status": "unknown"},
]
ANSWERS = {
    "nodes": [
        {"node": "pve1", "type": "node", "status": "online"},
        {"node": "pve2", "type": "node", "status": "online"},
        {"node": "pve3", "type": "node", "status": "offline"},
    ],
    "cluster/resources?type=vm": GUESTS,
    "nodes/pve1/network": [{"iface": "lo"}, {"iface": "vmbr0", "address": "10.0.0.1"}],
    "nodes/pve2/network": [],
    "pools": [{"poolid": "Lab"}],
    "pools?poolid=Lab": [{"members": [{"name": "eagle3"}, {"name": "nobody"}]}],
    "nodes/pve1/lxc/101/status/current": {"status": "running"},
    "nodes/pve1/lxc/101/config": {
        "tags": "gpu;prod",
        "net0": "name=eth0,ip=10.0.0.11/24",
        "rootfs": "local:vm-101,size=8G",
        "description": "a=b",
        "lxc": [["lxc.cgroup2.devices.allow", "c 195:* rwm"]],
    },
    "nodes/pve1/lxc/101/snapshot": [{"name": "before"}, {"name": "current"}],
    "nodes/pve1/lxc/101/interfaces": [{"name": "eth0", "hwaddr": "aa:bb", "inet": "10.0.0.11/24", "extra": 1}],
    "nodes/pve1/qemu/102/status/current": {"status": "running", "qmpstatus": "paused"},
    "nodes/pve1/qemu/102/config": {"agent": "1", "cores": 4, "name": "{{ 1 // 0 }}"},
    "nodes/pve1/qemu/102/snapshot": [],
    "nodes/pve1/qemu/102/agent/network-get-interfaces": {
        "result": [{"name": "ens18", "ip-addresses": [{"ip-address": "10.0.0.12", "prefix": 24}]}]
    },
}
TOKEN = "PVEAPIToken=ci@pve!gitlab=s3cret-t0ken"


class Cluster(BaseHTTPRequestHandler):
    def do_GET(self):
        path = unquote(self.path.removeprefix("/api2/json/"))
        if self.headers.get("Authorization") != TOKEN and self.headers.get("Cookie") != "PVEAuthCookie=a-ticket":
            self.send(401, {})
        elif path in ANSWERS:
            self.send(200, {"data": ANSWERS[path]})
        else:
            self.send(501 if "interfaces" in path else 403, {})

    def do_POST(self):
        given = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        right = given == {"username": ["ansible@pve"], "password": ["p w"]} and self.path.endswith("/access/ticket")
        self.send(200 if right else 401, {"data": {"ticket": "a-ticket"}})

    def send(self, code, found):
        self.send_response(code)
        self.end_headers()
        self.wfile.write(json.dumps(found).encode())

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def url():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Cluster)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def config(url, more=""):
    return {"my.proxmox.yml": f"plugin: community.proxmox.proxmox\nurl: {url}\nuser: ci@pve\ntoken_id: gitlab\n"
            f"token_secret: s3cret-t0ken\n{more}"}  # fmt: skip


def variables(inventory, name):
    found = {}
    for layer in host_layers(inventory, name, playbook_dir=None):
        found |= layer.values
    return found


def test_nodes_guests_and_groups(written, url):
    """Groups by kind, state, node and pool; guests of a node that is away are not there."""
    inventory = written.load(files=config(url))
    groups = {name: sorted(group.hosts) for name, group in inventory.groups.items() if name.startswith("proxmox_")}
    assert {
        "proxmox_all_lxc": ["eagle3"],
        "proxmox_all_qemu": ["old", "web one"],
        "proxmox_all_running": ["eagle3", "web one"],
        "proxmox_all_stopped": ["old"],
        "proxmox_all_templates": ["base"],
        "proxmox_nodes": ["pve1", "pve2", "pve3"],
        "proxmox_pve1_lxc": ["eagle3"],
        "proxmox_pve1_qemu": ["web one"],
        "proxmox_pve2_lxc": [],
        "proxmox_pve2_qemu": ["old"],
        "proxmox_pool_lab": ["eagle3"],
    } == groups
    assert {
        "proxmox_node": "pve1",
        "proxmox_vmid": 101,
        "proxmox_vmtype": "lxc",
        "proxmox_name": "eagle3",
        "proxmox_status": "running",
        "proxmox_template": False,
        "proxmox_tags": "gpu;prod",
        "hypervisor": "pve1",
        "vmid": 101,
    } == variables(inventory, "eagle3")


def test_facts_and_what_is_worked_out_from_them(written, url):
    """Settings taken apart, addresses, tags; compose, groups and keyed_groups see them. What guests say is data."""
    more = """\
want_facts: true
facts_concurrency: 4
qemu_extended_statuses: true
want_proxmox_nodes_ansible_host: true
filters: ["proxmox_vmid is not defined or proxmox_vmid < 900"]
compose:
  ansible_host: proxmox_net0.ip | default(proxmox_agent_interfaces[0]['ip-addresses'][0])
groups: {gpus: "'gpu' in (proxmox_tags_parsed | default([]))"}
keyed_groups: [{key: proxmox_status, prefix: is}]
"""
    inventory = written.load(files=config(url, more))
    eagle, web = variables(inventory, "eagle3"), variables(inventory, "web one")
    assert ("10.0.0.11/24", "10.0.0.12/24") == (eagle["ansible_host"], web["ansible_host"])
    assert {"disk_image": "local:vm-101", "size": "8G"} == eagle["proxmox_rootfs"]
    assert {"cgroup2.devices.allow": "c 195:* rwm"} == eagle["proxmox_lxc"]
    assert [{"name": "eth0", "hwaddr": "aa:bb", "inet": "10.0.0.11/24"}] == eagle["proxmox_lxc_interfaces"]
    assert ("a=b", ["before"], ["gpu", "prod"]) == tuple(
        eagle[f"proxmox_{name}"] for name in ("description", "snapshots", "tags_parsed")
    )
    assert ("{{ 1 // 0 }}", 4) == (web["proxmox_name"], web["proxmox_cores"])
    assert ["web one"] == match_hosts("proxmox_all_paused", inventory)
    assert (["eagle3"], ["eagle3", "web one"]) == (
        match_hosts("gpus", inventory),
        sorted(match_hosts("is_running", inventory)),
    )
    assert "base" not in inventory.hosts
    assert variables(inventory, "old")["proxmox_fact_gathering_error"] == "403 Forbidden"
    assert "10.0.0.1" == variables(inventory, "pve1")["ansible_host"]


def test_a_password_names_and_what_is_left_out(written, url, monkeypatch):
    """A ticket for a password from the environment; names by a template; without nodes and under other prefixes."""
    monkeypatch.setenv("PROXMOX_PASSWORD", "p w")
    monkeypatch.setenv("PROXMOX_URL", url)
    text = """\
plugin: community.general.proxmox
user: "{{ 'ansible' }}@pve"
exclude_nodes: true
group_prefix: pve_
facts_prefix: vm_
lxc_hostname: "{{ name }}.{{ node }}"
"""
    inventory = written.load(files={"my.proxmox.yaml": text})
    assert {"eagle3.pve1", "web one", "old", "base"} == set(inventory.hosts)
    assert ["eagle3.pve1"] == inventory.groups["pve_all_lxc"].hosts
    assert 101 == variables(inventory, "eagle3.pve1")["vm_vmid"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("s3cret-t0ken", "wrong"), ":2:6: error: proxmox: {url} does not take the token, or the ticket"),
        (("token_id: gitlab", "password: wrong"), ":2:6: error: proxmox: {url} refuses the user ci@pve; look at user"),
        (("user: ci@pve\n", ""), ":1:9: error: the plugin needs a user; user: name@pve, or PROXMOX_USER"),
        (
            ("user:", "usr:"),
            ':3:1: error: the plugin community.proxmox.proxmox has no option "usr"; did you mean "user"?',
        ),
        (("user:", "want_facts: maybe\nuser:"), ':3:13: error: "want_facts" takes yes or no'),
        (("user:", "filters: x\nuser:"), ':3:10: error: "filters" takes a list of expressions'),
        (("user:", "strict: true\nfilters: [nothing.at]\nuser:"), "error: proxmox: the filter nothing.at for eagle3"),
        (("http://", "https://"), ":2:6: error: proxmox: https://127.0.0.1"),
    ],
)
def test_what_is_wrong_is_told_where_it_stands(written, url, change, says):
    """File, line and column; no secret in it."""
    (text,) = config(url).values()
    said = written.mistakes(files={"my.proxmox.yml": text.replace(*change)})
    assert any(says.format(url=url) in line for line in said), said
    assert not any("s3cret" in line for line in said)
