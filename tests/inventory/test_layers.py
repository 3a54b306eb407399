"""The layers of a host's variables: their order, their labels, and where each value was written."""

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from cleanslate.errors import InputError, Origin
from cleanslate.inventory import find_host, host_layers, inventory_variables, load_inventory
from cleanslate.inventory.assembly import Assembly
from cleanslate.model import Inventory
from tests.inventory.reference_files import lay_out
from tests.laws import examples


def labels(inventory: Inventory, host: str, playbook_dir: Path | None = None) -> list[str]:
    return [layer.label for layer in host_layers(inventory, host, playbook_dir=playbook_dir)]


def test_layers_say_where_they_come_from_low_to_high(written, tmp_path):
    """Every definition stands there, in the order in which Ansible applies them."""
    inventory = written.load(
        "inv/hosts.ini",
        files={
            "inv/hosts.ini": "[p:children]\ng\n[g]\nh x=1\n[g:vars]\nx=2\n[p:vars]\nx=3\n[all:vars]\nx=4\n",
            "inv/group_vars/all.yml": "x: 5",
            "inv/group_vars/g/a.yml": "x: 6",
            "inv/group_vars/g/b.yml": "x: 7",
            "inv/host_vars/h.yml": "x: 8",
            "play/group_vars/all.yml": "x: 9",
            "play/group_vars/p.yml": "x: 10",
            "play/host_vars/h.yml": "x: 11",
        },
    )
    assert labels(inventory, "h", tmp_path / "play") == [
        "inventory inv/hosts.ini [all:vars]",
        "inventory inv/hosts.ini [p:vars]",
        "inventory inv/hosts.ini [g:vars]",
        "inv/group_vars/all.yml",
        "play/group_vars/all.yml",
        "inv/group_vars/g/a.yml",
        "inv/group_vars/g/b.yml",
        "play/group_vars/p.yml",
        "inventory inv/hosts.ini host h",
        "inv/host_vars/h.yml",
        "play/host_vars/h.yml",
    ]


def test_what_a_later_source_replaced_stays_visible_below_it(written):
    """`inv explain` shows each definition with its file; the effective one is the last."""
    files = {
        "1.ini": "[g]\nh x=1\n[g:vars]\ny=1\n",
        "2.yml": "g: {vars: {y: 2, z: 2}, hosts: {h: {x: 2}}}\n",
        "3.ini": "[g]\nh x=3 w=3\n",
    }
    inventory = written.load("1.ini", "2.yml", "3.ini", files=files)
    layers = host_layers(inventory, "h", playbook_dir=None)
    assert [(layer.label, dict(layer.values)) for layer in layers] == [
        ("inventory 1.ini [g:vars]", {"y": 1}),
        ("inventory 2.yml g: vars", {"y": 2, "z": 2}),
        ("inventory 1.ini host h", {"x": 1}),
        ("inventory 2.yml host h", {"x": 2}),
        ("inventory 3.ini host h", {"x": 3, "w": 3}),
    ]
    assert [Origin("1.ini", 2, 5), Origin("2.yml", 1, 40)] == [layer.values.value_origin("x") for layer in layers[2:4]]


def test_a_folder_of_both_inventory_and_playbook_is_told_once(written, tmp_path):
    """Where it wins: as the playbook's, above other sources'."""
    hosts = {"a/hosts": "[g]\nh\n", "b/hosts": "[g]\nh\n"}
    files = {**hosts, "a/group_vars/g.yml": "x: a", "b/group_vars/g.yml": "x: b"}
    inventory = written.load("a/hosts", "b/hosts", files=files)
    assert ["b/group_vars/g.yml", "a/group_vars/g.yml"] == labels(inventory, "h", tmp_path / "b" / ".." / "a")


def test_this_computer_needs_no_inventory(written):
    """It is reached without a connection, with our own Python, and has what is set for all."""
    inventory = written.load("hosts.ini", files={"hosts.ini": "[all:vars]\nx=1\n", "group_vars/all.yml": "y: 1"})
    for name in ("localhost", "127.0.0.1", "::1"):
        layers = host_layers(inventory, name, playbook_dir=None)
        assert ["inventory hosts.ini [all:vars]", "group_vars/all.yml", "implicit localhost"] == [
            one.label for one in layers
        ]
        assert {"ansible_connection": "local", "ansible_python_interpreter": sys.executable} == layers[-1].values
        assert name not in inventory.hosts


def test_localhost_is_the_inventorys_own_when_it_has_one(written):
    """By whichever of its names."""
    inventory = written.load(files={"hosts.ini": "127.0.0.1 x=1\n"})
    assert "127.0.0.1" == find_host(inventory, "localhost").name
    assert [{"x": 1}] == [layer.values for layer in host_layers(inventory, "localhost", playbook_dir=None)]


def test_a_host_of_no_inventory_has_what_is_set_for_all(written):
    """`delegate_to` may name any address."""
    inventory = written.load(
        "hosts.ini", files={"hosts.ini": "h\n[all:vars]\nx=1\n", "host_vars/elsewhere.yml": "y: 2"}
    )
    assert ["inventory hosts.ini [all:vars]", "host_vars/elsewhere.yml"] == labels(inventory, "elsewhere")


def test_variable_files_are_read_once(written, tmp_path):
    """A thousand hosts of a group read its file once; the inventory lists what it read."""
    inventory = written.load("hosts.ini", files={"hosts.ini": "[g]\nh[1:9]\n", "group_vars/g.yml": "x: 1"})
    layers = [host_layers(inventory, host, playbook_dir=tmp_path) for host in inventory.hosts]
    assert {id(layers[0][0].values)} == {id(of_host[0].values) for of_host in layers}
    assert [tmp_path / "hosts.ini", tmp_path / "group_vars/g.yml"] == inventory.files


def test_a_file_that_is_not_read_beside_another_is_a_warning(written):
    """Ansible reads the folder and says nothing of the file."""
    inventory = written.load(
        "hosts.ini", files={"hosts.ini": "[g]\nh\n", "group_vars/g/a.yml": "x: 1", "group_vars/g.yml": "y: 1"}
    )
    host_layers(inventory, "h", playbook_dir=None)
    told = 'group_vars/g.yml: warning: not read, because "g" lies beside it; move it into group_vars/g/'
    assert [told] == [str(warning) for warning in inventory.warnings]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            {"group_vars/g/a.yml": "- x\n", "group_vars/g/b.yml": "x: 1\nx: 2\n"},
            [
                "group_vars/g/a.yml:1:1: error: the file holds no map of variables; write name: value, without dashes",
                "group_vars/g/b.yml:2:1: error:",
            ],
        ),
        ({"host_vars/h.yml": "x: '\n"}, ["host_vars/h.yml:1:4: error:"]),
        ({"host_vars/h.yml": "$ANSIBLE_VAULT;1.1;AES256\n00\n"}, ["host_vars/h.yml: error: the file is encrypted"]),
    ],
)
def test_variable_files_that_cannot_be_read_are_refused(written, files, told):
    """Every mistake of a group's or host's files at once, with its place."""
    inventory = written.load("hosts.ini", files={"hosts.ini": "[g]\nh\n", **files})
    with pytest.raises(InputError) as error:
        host_layers(inventory, "h", playbook_dir=None)
    lines = str(error.value).splitlines()
    assert len(told) == len(lines)
    assert all(line.startswith(start) for line, start in zip(lines, told, strict=True))


@pytest.mark.parametrize(
    ("name", "short"),
    [("a.b.c", "a"), ("a", "a"), ("10.0.0.7", "10.0.0.7"), ("fe80::1.2", "fe80::1"), ("10.0.0", "10")],
)
def test_the_short_name_is_the_first_label_but_addresses_stay_whole(name, short):
    """As in ansible-core 2.19."""
    assembly = Assembly()
    assembly.host(name, "ungrouped", None, None)
    assert short == inventory_variables(assembly.finish(), name)["inventory_hostname_short"]


def test_a_host_knows_its_place(written, tmp_path):
    """The magic variables that the inventory gives."""
    inventory = written.load(
        "inv/hosts.ini", "x,", files={"inv/hosts.ini": "[z:children]\na\n[a]\nh.example\n[empty]\n"}
    )
    assert inventory_variables(inventory, "h.example") == {
        "inventory_hostname": "h.example",
        "inventory_hostname_short": "h",
        "inventory_file": str(tmp_path / "inv/hosts.ini"),
        "inventory_dir": str(tmp_path / "inv"),
        "group_names": ["a", "z"],
        "groups": {
            "all": ["x", "h.example"],
            "ungrouped": ["x"],
            "z": ["h.example"],
            "a": ["h.example"],
            "empty": [],
        },
    }
    assert (None, None) == tuple(
        inventory_variables(inventory, "x")[name] for name in ("inventory_file", "inventory_dir")
    )


# --------------------------------------------------------------------------- laws

# Every place where a variable of host h may stand, lowest first; g is above k, h is in k.
PLACES = [
    "[all:vars]", "[g:vars]", "[k:vars]", "inv/group_vars/all.yml", "play/group_vars/all.yml",
    "inv/group_vars/g.yml", "inv/group_vars/k.yml", "play/group_vars/g.yml", "play/group_vars/k.yml",
    "h", "inv/host_vars/h.yml", "play/host_vars/h.yml",
]  # fmt: skip


@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sets(st.sampled_from(range(len(PLACES))), min_size=1))
def test_the_highest_place_wins_whatever_else_is_set(tmp_path_factory, chosen):
    """For any selection of places, the last of them in the order is the value, and all are told in order."""
    root = tmp_path_factory.mktemp("law")
    lines = ["[g:children]", "k", "[k]", f"h x={PLACES.index('h')}" if PLACES.index("h") in chosen else "h"]
    files = {}
    for place in chosen:
        name = PLACES[place]
        if name.startswith("["):
            lines += [name, f"x={place}"]
        elif name != "h":
            files[name] = f"x: {place}\n"
    lay_out({"inv/hosts": "\n".join(lines), **files}, root)
    inventory = load_inventory(["inv/hosts"], base=root)
    layers = host_layers(inventory, "h", playbook_dir=root / "play")
    assert sorted(chosen) == [layer.values["x"] for layer in layers]


@examples(50)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8),
    st.lists(st.integers(-2, 2), min_size=6, max_size=6),
    st.sets(st.integers(0, 5), min_size=1),
)
def test_groups_apply_by_depth_then_priority_then_name(edges, priorities, member_of):
    """Depth is the longest way from `all`, found here by walking every way."""
    assembly = Assembly()
    names = [f"g{number}" for number in range(6)]
    for name, priority in zip(names, priorities, strict=True):
        assembly.group(name, None)
        assembly.set_group_variable(name, "ansible_group_priority", priority, None, None)
        assembly.set_group_variable(name, "x", name, None, None)
    parents = {name: set() for name in names}
    for one, other in edges:
        if one != other:
            above, below = names[min(one, other)], names[max(one, other)]
            assembly.child(above, below, None)
            parents[below].add(above)
    for number in member_of:
        assembly.host("h", names[number], None, None)

    def depth(name):
        return 1 + max((depth(parent) for parent in parents[name]), default=0)

    def above(name):
        return {name}.union(*(above(parent) for parent in parents[name]))

    groups = set().union(*(above(names[number]) for number in member_of))
    expected = sorted(groups, key=lambda name: (depth(name), priorities[names.index(name)], name))
    assert expected == [layer.values["x"] for layer in host_layers(assembly.finish(), "h", playbook_dir=None)]
