"""Ansible's connection variables, and what is refused before anything is contacted."""

from __future__ import annotations

import pytest

from cleanslate.connect.address import address_of, become_of
from cleanslate.connect.target import Address, Become
from cleanslate.errors import InputError, Origin
from cleanslate.model import SourceText

HYPERVISOR = Address("pve", host="10.0.0.1", user="root")


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, Address("web")),
        ({"ansible_host": "10.0.0.5", "ansible_port": 2222, "ansible_user": "me"},
         Address("web", host="10.0.0.5", port=2222, user="me")),
        ({"ansible_ssh_host": "a", "ansible_ssh_port": "22", "ansible_ssh_user": "me"},
         Address("web", host="a", port=22, user="me")),
        ({"ansible_connection": "smart"}, Address("web")),
        ({"ansible_connection": "ansible.builtin.ssh"}, Address("web")),
        ({"ansible_connection": "local", "ansible_host": "ignored"}, Address("web", kind="local")),
        ({"ansible_ssh_private_key_file": "~/.ssh/k"}, Address("web", identity_files=("~/.ssh/k",))),
        ({"ansible_password": "geheim"}, Address("web", password="geheim")),
        ({"ansible_ssh_pass": "geheim"}, Address("web", password="geheim")),
        ({"ansible_python_interpreter": "/opt/py"}, Address("web", python="/opt/py")),
        ({"ansible_python_interpreter": "auto_silent"}, Address("web")),
        ({"ansible_timeout": 3}, Address("web", connect_timeout=3.0)),
        ({"ansible_host_key_checking": False}, Address("web", ssh_options=(("StrictHostKeyChecking", "no"),))),
        ({"ansible_host_key_checking": "yes"}, Address("web")),
        ({"ansible_ssh_common_args": "-o StrictHostKeyChecking=no"},
         Address("web", ssh_options=(("StrictHostKeyChecking", "no"),))),
        ({"ansible_ssh_common_args": "-C -o ControlMaster=auto -oControlPersist=60s -q"}, Address("web")),
        ({"ansible_ssh_common_args": "-J bastion", "ansible_ssh_extra_args": "-o 'ProxyCommand ssh -W %h:%p b'"},
         Address("web", ssh_options=(("ProxyJump", "bastion"), ("ProxyCommand", "ssh -W %h:%p b")))),
        ({"ansible_ssh_common_args": "-o userknownhostsfile=/dev/null -i /k -p 24 -l you -F /c"},
         Address("web", ssh_options=(("UserKnownHostsFile", "/dev/null"), ("IdentityFile", "/k"), ("Port", "24"),
                                     ("User", "you"), ("ConfigFile", "/c")))),
        ({"ansible_ssh_common_args": """-o 'UserKnownHostsFile="/a b/known" /c' -o IdentityFile='"/a b/key"'"""},
         Address("web", ssh_options=(("UserKnownHostsFile", '"/a b/known" /c'), ("IdentityFile", "/a b/key")))),
        ({"ansible_connection": "pct", "vmid": 101}, Address("web", kind="pct", vmid=101, via=HYPERVISOR)),
        ({"ansible_connection": "community.proxmox.proxmox_pct_remote", "vmid": "101"},
         Address("web", kind="pct", vmid=101, via=HYPERVISOR)),
        ({"ansible_connection": "community.proxmox.proxmox_pct_remote", "proxmox_vmid": 7, "ansible_host": "pve2"},
         Address("web", kind="pct", vmid=7, via=Address("web", host="pve2"))),
    ],
)  # fmt: skip
def test_variables_give_an_address(variables, expected):
    """Each name that Ansible has for a thing."""
    assert expected == address_of("web", variables, via=HYPERVISOR)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"ansible_connection": "docker"}, 'web: ansible_connection "docker" is not known; ssh, local and pct are'),
        ({"ansible_connection": "locol"}, 'is not known; did you mean "local"?'),
        ({"ansible_port": "ssh"}, 'web: ansible_port is "ssh", not a whole number'),
        ({"ansible_port": 70000}, "web: ansible_port is 70000; a port is between 1 and 65535"),
        ({"ansible_timeout": "soon"}, 'web: ansible_timeout is "soon", not a number of seconds'),
        ({"ansible_host": ["a"]}, "web: ansible_host is not text"),
        ({"ansible_host_key_checking": "perhaps"}, 'ansible_host_key_checking is "perhaps"; write true or false'),
        ({"ansible_ssh_common_args": "-o UserKnowHostsFile=/x"},
         'ansible_ssh_common_args: the ssh option "UserKnowHostsFile" is not understood; '
         'did you mean "UserKnownHostsFile"?'),
        ({"ansible_ssh_extra_args": "-o PermitLocalCommand=yes"}, 'the ssh option "PermitLocalCommand" is not'),
        ({"ansible_ssh_extra_args": "-L 80:a:80"}, 'ansible_ssh_extra_args: the argument "-L" is not understood'),
        ({"ansible_ssh_extra_args": "-o"}, "ansible_ssh_extra_args: -o needs a value"),
        ({"ansible_ssh_extra_args": "-o User="}, "the ssh option User has no value"),
        ({"ansible_ssh_extra_args": "-o 'User"}, "cannot be split into words: no closing quotation"),
        ({"ansible_connection": "pct"}, "its container's number is not given; set the host variable vmid"),
    ],
)  # fmt: skip
def test_nonsense_is_refused(variables, message):
    """Named by host and variable, with what to do."""
    with pytest.raises(InputError) as caught:
        address_of("web", variables)
    assert message in str(caught.value)


def test_a_container_needs_its_hypervisor():
    with pytest.raises(InputError, match="no hypervisor is named for it; set the host variable hypervisor"):
        address_of("web", {"ansible_connection": "pct", "vmid": 101})


def test_a_mistake_names_its_place():
    """The place of the variable's value in the sources."""
    port = SourceText("ssh", Origin("hosts.ini", 3, 5))
    with pytest.raises(InputError, match=r"^hosts\.ini:3:5: error: web: ansible_port"):
        address_of("web", {"ansible_port": port})


def test_passwords_are_not_shown():
    """Neither in an address nor in a become."""
    assert "geheim" not in repr(Address("web", password="geheim")) + repr(Become(password="geheim"))


@pytest.mark.parametrize(
    ("keywords", "variables", "expected"),
    [
        ({}, {}, None),
        ({"become": False}, {}, None),
        ({"become": "no"}, {}, None),
        ({"become": True}, {}, Become()),
        ({"become": "yes", "become_user": "app"}, {}, Become(user="app")),
        ({"become": True}, {"ansible_become": False}, None),
        ({}, {"ansible_become": "true"}, Become()),
        ({"become": True, "become_user": "app"}, {"ansible_become_user": "db"}, Become(user="db")),
        ({"become": True, "become_user": None}, {}, Become()),
        ({"become": True, "become_method": "ansible.builtin.sudo", "become_flags": "-E"}, {}, Become(flags="-E")),
        ({"become": True}, {"ansible_become_pass": "geheim"}, Become(password="geheim")),
        ({"become": True}, {"ansible_become_password": "geheim"}, Become(password="geheim")),
    ],
)
def test_becoming(keywords, variables, expected):
    """Ansible's variables win over keywords."""
    assert expected == become_of(keywords, variables)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"become": "perhaps"}, 'become is "perhaps"; write true or false'),
        ({"become": True, "become_method": "su"}, 'become_method "su" is not known; sudo is the only one'),
        ({"become": True, "become_flags": "'x"}, "become_flags cannot be split into words"),
    ],
)
def test_becoming_nonsense_is_refused(keywords, message):
    with pytest.raises(InputError, match=message):
        become_of(keywords, {})
