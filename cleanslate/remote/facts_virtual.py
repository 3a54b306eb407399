"""Facts about what the target runs in, and what it may run: containers and virtual machines."""

import os

from cleanslate.remote.facts_files import line, text

_PRODUCTS = (  # the firmware's words -> Ansible's name
    ("KVM", "kvm"), ("QEMU", "kvm"), ("Bochs", "kvm"), ("OpenStack", "openstack"), ("VMware", "VMware"),
    ("VirtualBox", "virtualbox"), ("innotek", "virtualbox"), ("Xen", "xen"), ("Microsoft", "VirtualPC"),
    ("Amazon EC2", "kvm"), ("Google Compute Engine", "kvm"), ("Alibaba", "kvm"), ("DigitalOcean", "kvm"),
    ("Hetzner", "kvm"), ("Nutanix", "kvm"), ("Parallels", "parallels"), ("oVirt", "oVirt"), ("RHEV", "RHEV"),
)  # fmt: skip


def virtual(options):
    """virtualization_type, _role, _tech_guest, _tech_host."""
    guest, host = _container(), _hosts()
    machine = _machine()
    inside = guest + [name for name in machine if name not in guest]
    if inside:
        kind, role = inside[0], "guest"
    elif host:
        kind, role = host[0], "host"
    else:
        kind, role = "NA", "NA"
    return {
        "virtualization_type": kind,
        "virtualization_role": role,
        "virtualization_tech_guest": inside,
        "virtualization_tech_host": host,
    }


def _container():
    groups = text("/proc/1/cgroup") + text("/proc/self/cgroup")
    told = dict(
        entry.partition("=")[::2] for entry in text("/proc/1/environ").split("\0") if entry.startswith("container")
    ).get("container", "") or line("/run/systemd/container")
    if os.path.exists("/.dockerenv") or "/docker/" in groups:
        return ["docker", "container"]
    if os.path.exists("/run/.containerenv") or told in ("podman", "oci"):
        return ["podman", "container"]
    if told == "lxc" or "/lxc/" in groups or "lxc.payload" in groups:
        return ["lxc", "container"]
    if told == "systemd-nspawn":
        return ["systemd-nspawn", "container"]
    if "/kubepods" in groups:
        return ["container", "kubernetes"]
    if os.path.isdir("/proc/vz") and not os.path.isdir("/proc/bc"):
        return ["openvz", "container"]
    return ["container"] if told else []


def _machine():
    words = " ".join(line(f"/sys/class/dmi/id/{name}") for name in ("product_name", "sys_vendor", "bios_vendor"))
    for word, name in _PRODUCTS:
        if word in words:
            return [name] if word != "Microsoft" or "Virtual Machine" in words else []
    return []


def _hosts():
    if os.path.exists("/dev/kvm"):
        return ["kvm"]
    modules = {entry.split(" ", 1)[0] for entry in text("/proc/modules").splitlines()}
    return ["kvm"] if modules & {"kvm_intel", "kvm_amd"} else ["virtualbox"] if "vboxdrv" in modules else []
