"""Facts are named and valued as Ansible's; a machine is described by the files that it has."""

import os
import pwd
import subprocess

import pytest

from cleanslate.remote import (
    facts,
    facts_files,
    facts_hardware,
    facts_local,
    facts_network,
    facts_system,
    facts_virtual,
)
from cleanslate.remote.registry import Call, Failed

OPTIONS = {"timeout": 5, "fact_path": None, "environment": {}}


@pytest.fixture
def machine(monkeypatch):
    """Pretend that the files of a tree (path -> text) are all there is."""

    def pretend(tree):
        read = lambda path, limit=0: tree.get(path, "")  # noqa: E731
        for module in (facts_files, facts_hardware, facts_network, facts_system, facts_virtual):
            monkeypatch.setattr(module, "text", read, raising=False)
            monkeypatch.setattr(module, "line", lambda path: read(path).strip(), raising=False)
        known = set(tree)
        monkeypatch.setattr(os.path, "exists", lambda path: path in known)
        monkeypatch.setattr(os.path, "isdir", lambda path: any(name.startswith(f"{path}/") for name in known))

    return pretend


RELEASES = [
    ('ID=ubuntu\nNAME="Ubuntu"\nVERSION_ID="22.04"\nVERSION_CODENAME=jammy\nID_LIKE=debian', {},
     ("Ubuntu", "22.04", "22", "jammy", "Debian")),
    ('ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm', {"/etc/debian_version": "12.11\n"},
     ("Debian", "12.11", "12", "bookworm", "Debian")),
    ('ID=debian\nVERSION_CODENAME=trixie\nVERSION_ID="13"', {"/etc/debian_version": "trixie/sid"},
     ("Debian", "13", "13", "trixie", "Debian")),
    ('ID="rocky"\nNAME="Rocky Linux"\nVERSION="9.4 (Blue Onyx)"\nVERSION_ID="9.4"\nID_LIKE="rhel centos fedora"', {},
     ("Rocky", "9.4", "9", "Blue Onyx", "RedHat")),
    ('ID="rhel"\nNAME="Red Hat Enterprise Linux"\nVERSION="9.2 (Plow)"\nVERSION_ID="9.2"', {},
     ("RedHat", "9.2", "9", "Plow", "RedHat")),
    ('ID="centos"\nNAME="CentOS Linux"\nVERSION="7 (Core)"\nVERSION_ID="7"',
     {"/etc/centos-release": "CentOS Linux release 7.9.2009 (Core)\n"}, ("CentOS", "7.9", "7", "Core", "RedHat")),
    ('ID="amzn"\nNAME="Amazon Linux"\nVERSION_ID="2023"', {}, ("Amazon", "2023", "2023", "NA", "RedHat")),
    ('ID=fedora\nNAME="Fedora Linux"\nVERSION="40 (Server Edition)"\nVERSION_ID=40', {},
     ("Fedora", "40", "40", "Server Edition", "RedHat")),
    ('ID="opensuse-leap"\nNAME="openSUSE Leap"\nVERSION_ID="15.5"\nID_LIKE="suse opensuse"', {},
     ("openSUSE Leap", "15.5", "15", "NA", "Suse")),
    ('ID=alpine\nNAME="Alpine Linux"\nVERSION_ID=3.19.1', {}, ("Alpine", "3.19.1", "3", "NA", "Alpine")),
    ('ID=arch\nNAME="Arch Linux"', {}, ("Archlinux", "NA", "NA", "NA", "Archlinux")),
    ('ID=neon\nNAME="KDE neon"\nVERSION_ID="22.04"\nVERSION_CODENAME=jammy\nID_LIKE="ubuntu debian"', {},
     ("KDE", "22.04", "22", "jammy", "Debian")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("release", "more", "expected"), RELEASES, ids=[entry[2][0] + entry[2][1] for entry in RELEASES]
)
def test_a_distribution_has_the_name_and_version_that_ansible_gives_it(machine, release, more, expected):
    machine({"/etc/os-release": release, **more})
    found = facts_system.distribution(OPTIONS)
    names = ("distribution", "distribution_version", "distribution_major_version", "distribution_release", "os_family")
    assert tuple(found[name] for name in names) == expected


def cpuinfo(count, sockets, cores, siblings):
    entries = [
        f"processor\t: {n}\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon\nphysical id\t: {n % sockets}\n"
        f"siblings\t: {siblings}\ncpu cores\t: {cores}\nflags\t: fpu vme\n"
        for n in range(count)
    ]
    return "\n".join(entries)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (cpuinfo(2, 1, 2, 2), (1, 2, 1, 2)),
        (cpuinfo(8, 2, 2, 4), (2, 2, 2, 8)),
        ("processor\t: 0\nBogoMIPS\t: 50\n\nprocessor\t: 1\nBogoMIPS\t: 50\n", (2, 1, 1, 2)),
    ],
)
def test_processors_are_counted_by_socket_core_and_thread(machine, text, expected):
    machine({"/proc/cpuinfo": text})
    found = facts_hardware.processors()
    names = ("processor_count", "processor_cores", "processor_threads_per_core", "processor_vcpus")
    assert tuple(found[name] for name in names) == expected


@pytest.mark.parametrize(
    ("tree", "kind", "role"),
    [
        ({"/.dockerenv": ""}, "docker", "guest"),
        ({"/proc/1/environ": "container=lxc\0TERM=linux\0"}, "lxc", "guest"),
        ({"/proc/1/cgroup": "12:devices:/lxc.payload.101/init.scope\n"}, "lxc", "guest"),
        ({"/run/.containerenv": ""}, "podman", "guest"),
        ({"/proc/1/environ": "container=systemd-nspawn\0"}, "systemd-nspawn", "guest"),
        ({"/sys/class/dmi/id/sys_vendor": "QEMU"}, "kvm", "guest"),
        ({"/sys/class/dmi/id/product_name": "VMware Virtual Platform"}, "VMware", "guest"),
        ({"/dev/kvm": ""}, "kvm", "host"),
        ({}, "NA", "NA"),
    ],
)
def test_what_the_machine_runs_in_is_known(machine, tree, kind, role):
    machine(tree)
    found = facts_virtual.virtual(OPTIONS)
    assert (found["virtualization_type"], found["virtualization_role"]) == (kind, role)


def test_the_resolvers_settings_are_read(machine):
    machine({"/etc/resolv.conf": "# made\nnameserver 10.0.0.1\nnameserver ::1\nsearch a.b c\noptions ndots:5 rotate\n"})
    expected = {"nameservers": ["10.0.0.1", "::1"], "search": ["a.b", "c"], "options": {"ndots": "5", "rotate": True}}
    assert facts_system.dns(OPTIONS)["dns"] == expected


def test_facts_of_the_targets_owner_are_read_in_every_form(tmp_path):
    (tmp_path / "a.fact").write_text('{"x": 1}')
    (tmp_path / "b.fact").write_text("[section]\nkey=value\n")
    (tmp_path / "c.fact").write_text('#!/bin/sh\necho \'{"from": "a program"}\'\n')
    (tmp_path / "c.fact").chmod(0o755)
    (tmp_path / "d.fact").write_text("nonsense")
    (tmp_path / "e.fact").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "e.fact").chmod(0o755)
    found = facts_local.local({**OPTIONS, "fact_path": str(tmp_path)})["local"]
    assert (found["a"], found["b"], found["c"]) == ({"x": 1}, {"section": {"key": "value"}}, {"from": "a program"})
    assert found["d"].startswith("error reading") and found["e"].endswith("exit 3")


def test_this_machine_is_described():
    """What other sources say of it, too."""
    found = facts.gather(Call())["facts"]
    me = pwd.getpwuid(os.getuid())
    assert found["kernel"] == subprocess.run(["uname", "-r"], capture_output=True, text=True).stdout.strip()
    assert (found["user_id"], found["user_dir"], found["env"]["PATH"]) == (me.pw_name, me.pw_dir, os.environ["PATH"])
    assert found["processor_nproc"] == len(os.sched_getaffinity(0))
    assert "lo" in found["interfaces"]
    assert found["lo"]["ipv4"] == {
        "address": "127.0.0.1", "broadcast": "", "netmask": "255.0.0.0", "network": "127.0.0.0", "prefix": "8",
    }  # fmt: skip
    assert [mount["mount"] for mount in found["mounts"]].count("/") <= 1
    assert facts.gather(Call())["missed"] == {}


LEAST = {"distribution", "kernel", "env"}


@pytest.mark.parametrize(
    ("subset", "there", "missing"),
    [
        (["all"], {*LEAST, "memtotal_mb", "default_ipv4", "mounts", "virtualization_type"}, set()),
        (["!all"], LEAST, {"memtotal_mb", "default_ipv4", "mounts"}),
        (["min"], LEAST, {"memtotal_mb", "default_ipv4"}),
        (["network"], {*LEAST, "default_ipv4"}, {"memtotal_mb", "mounts"}),
        (["!all", "!min", "network"], {"default_ipv4"}, {*LEAST, "memtotal_mb"}),
        (["!hardware"], {*LEAST, "default_ipv4"}, {"memtotal_mb", "mounts"}),
        (["!min", "hardware"], {"memtotal_mb"}, LEAST),
        (["facter", "!all"], LEAST, {"memtotal_mb"}),
    ],
)
def test_only_the_facts_that_were_asked_for_are_gathered(subset, there, missing):
    found = set(facts.gather(Call(), subset=subset)["facts"])
    assert (there - found, missing & found) == (set(), set())


def test_a_subset_that_there_is_not_is_refused():
    with pytest.raises(Failed, match='no subset of facts "hardwear"'):
        facts.gather(Call(), subset=["hardwear"])


@pytest.mark.parametrize("pattern", ["ansible_mem*", "mem*"])
def test_facts_are_filtered_by_name_with_and_without_prefix(pattern):
    found = facts.gather(Call(), filters=[pattern])["facts"]
    assert sorted(found) == ["memfree_mb", "memory_mb", "memtotal_mb"]


def test_a_file_that_cannot_be_understood_costs_one_kind_of_facts(monkeypatch):
    monkeypatch.setattr(facts_hardware, "memory", lambda: {}["MemTotal"])
    found = facts.gather(Call(), subset=["hardware"])
    assert (list(found["missed"]), "distribution" in found["facts"]) == (["hardware"], True)
