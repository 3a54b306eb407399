"""Facts about the target, under the names of Ansible's setup; gathered from files and system calls, in milliseconds."""

import fnmatch
import time

from cleanslate.remote import facts_hardware, facts_local, facts_network, facts_system, facts_virtual
from cleanslate.remote.registry import Failed, reads

# name -> (what gathers it, whether it belongs to the minimum, other subset names that ask for it)
_COLLECTORS = {
    "platform": (
        facts_system.platform,
        True,
        "system kernel kernel_version machine python_version architecture machine_id fqdn hostname nodename domain",
    ),
    "distribution": (
        facts_system.distribution,
        True,
        "os_family distribution_version distribution_release distribution_major_version",
    ),
    "user": (
        facts_system.user,
        True,
        "user_id user_uid user_gid user_gecos user_dir user_shell real_user_id effective_user_id effective_group_ids",
    ),
    "env": (facts_system.env, True, ""),
    "date_time": (facts_system.date_time, True, ""),
    "python": (facts_system.python, True, ""),
    "pkg_mgr": (facts_system.pkg_mgr, True, ""),
    "service_mgr": (facts_system.service_mgr, True, "systemd"),
    "lsb": (facts_system.lsb, True, ""),
    "cmdline": (facts_system.cmdline, True, ""),
    "selinux": (facts_system.security, True, "apparmor fips chroot is_chroot caps"),
    "dns": (facts_system.dns, True, ""),
    "ssh_pub_keys": (facts_system.ssh_keys, True, "ssh_host_pub_keys"),
    "local": (facts_local.local, True, ""),
    "hardware": (
        facts_hardware.hardware,
        False,
        "processor processor_cores processor_count processor_vcpus memtotal_mb memfree_mb swaptotal_mb swapfree_mb "
        "uptime loadavg product_name devices dmi",
    ),
    "mounts": (facts_hardware.mounts, False, "hardware"),
    "network": (
        facts_network.network,
        False,
        "interfaces default_ipv4 default_ipv6 all_ipv4_addresses all_ipv6_addresses",
    ),
    "virtual": (facts_virtual.virtual, False, "virtualization_type virtualization_role virtualization_tech_guest"),
}
_NOTHING_HERE = {"facter", "ohai", "nvme", "iscsi"}


@reads
def echo(call, data):
    """Give the data back."""
    return {"data": data}


@reads
def gather(call, subset=("all",), filters=(), fact_path=None, timeout=10, environment=None):
    """{"facts": {name without ansible_: value}, "missed": {subset: why}, "seconds"}.

    subset: names as Ansible's gather_subset takes them (`all`, `min`, `network`, `!hardware`). filters: patterns of
    names, with or without `ansible_`; environment is added to `env`.
    """
    began = time.monotonic()
    options = {"timeout": timeout, "fact_path": fact_path, "environment": environment or {}}
    facts, missed = {}, {}
    for name in _chosen(subset):
        try:
            facts.update(_COLLECTORS[name][0](options))
        except (
            OSError,
            ValueError,
            KeyError,
            IndexError,
        ) as error:  # a file that is otherwise here costs one subset only
            missed[name] = f"{type(error).__name__}: {error}"
    if filters:
        facts = {name: value for name, value in facts.items() if _passes(name, filters)}
    return {"facts": facts, "missed": missed, "seconds": time.monotonic() - began}


def _passes(name, filters):
    return any(
        fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch("ansible_" + name, pattern) for pattern in filters if pattern
    )


def _chosen(subset):
    """The collectors that a gather_subset asks for, in a fixed order."""
    least = {name for name, (_, minimal, _) in _COLLECTORS.items() if minimal}
    wanted, refused, chosen = set(), set(), False
    for word in subset:
        negative, name = word.startswith("!"), word.lstrip("!")
        names = _named(name, least)
        if not negative:
            chosen = True
            wanted |= names
        else:
            refused |= names - least if name == "all" else names
    if not chosen and "!all" not in subset:
        wanted = set(_COLLECTORS)
    if "!min" not in subset:
        wanted |= least
    explicit = {name for word in subset if word not in ("all", "min") for name in _named(word, least) if word[0] != "!"}
    wanted = (wanted - refused) | explicit
    return [name for name in _COLLECTORS if name in wanted]


def _named(name, least):
    name = name.lstrip("!")
    if name == "all":
        return set(_COLLECTORS)
    if name == "min":
        return set(least)
    found = {key for key, (_, _, aliases) in _COLLECTORS.items() if key == name or name in aliases.split()}
    if not found and name not in _NOTHING_HERE:
        raise Failed("wrong", f'there is no subset of facts "{name}": known are all, min, {", ".join(_COLLECTORS)}')
    return found
