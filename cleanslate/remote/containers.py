"""Which container a process lives in: by its cgroup, else by the namespaces of the container's first process.

A container is told as {"kind", "id"}: lxc (its vmid or name), docker, podman, containerd (64 hexadecimal digits),
nspawn, vm (a virtual machine's own process), namespace (some PID namespace that nobody could name). None is the
machine itself. Containers within containers are listed from the outside in.
"""

import ctypes
import os
import re
import shutil
import subprocess

from cleanslate.remote import processes

_HEX = r"([0-9a-f]{64})"
_KINDS = (
    ("lxc", re.compile(r"lxc\.payload[./]([^/]+)")),
    # lxc.monitor is the container's keeper on the machine itself, not in the container
    ("lxc", re.compile(r"/lxc/([^/]+)")),
    ("podman", re.compile(r"libpod-(?:payload-)?" + _HEX)),
    ("containerd", re.compile(r"(?:cri-containerd|crio)-" + _HEX)),
    ("docker", re.compile(r"docker[-/]" + _HEX)),
    ("containerd", re.compile(r"/kubepods.*/" + _HEX)),
    ("nspawn", re.compile(r"machine\.slice/(?:machine|systemd-nspawn)[-@]([^/]+?)\.(?:scope|service)")),
    ("vm", re.compile(r"qemu\.slice/(\d+)\.scope")),
)
_UNIT = re.compile(r"([^/]+\.service)(?:/|$)")
_NS_GET_PARENT = 0xB702


def of(pid):
    """The containers around a process by its cgroup, outermost first; empty: by its cgroup it is in none."""
    return named_in(_cgroups(pid))


def named_in(paths):
    """The containers that cgroup paths name, outermost first."""
    found = {}
    for path in paths:
        for kind, pattern in _KINDS:
            for met in pattern.finditer(path):
                found.setdefault((kind, _plain(met.group(1))), met.start())
    ordered = sorted(found, key=lambda each: found[each])
    return [{"kind": kind, "id": name} for kind, name in ordered]


def unit(pid):
    """The systemd service that a process belongs to (`nvidia-dcgm.service`), or None."""
    for path in _cgroups(pid):
        met = _UNIT.findall(path)
        if met and not met[-1].startswith("user@"):
            return met[-1]
    return None


def label(containers):
    """Containers as people read them: `lxc 101`, `lxc 101 / docker 0123456789ab`, `this machine`."""
    return " / ".join("%s %s" % (each["kind"], each["id"][:12]) for each in containers) or "this machine"


def _plain(name):
    # systemd escapes a dash in unit names; Proxmox and LXD keep the name as it is
    return name.replace("\\x2d", "-")


def _cgroups(pid):
    """The paths of /proc/PID/cgroup, of either version, without their controllers."""
    text = processes.read_text("/proc/%s/cgroup" % pid) or ""
    return [line.split(":", 2)[2] for line in text.splitlines() if line.count(":") >= 2]


class Membership:
    """Decides whether processes belong to one container, named by vmid, name, or (the start of) its id."""

    def __init__(self, wanted):
        self.wanted = str(wanted)
        self.init = lxc_init(self.wanted)
        self.pid_namespace = _namespace(self.init, "pid") if self.init else None
        self.mount_namespace = _namespace(self.init, "mnt") if self.init else None
        if self.pid_namespace == _namespace("self", "pid"):
            self.pid_namespace = None  # a container without a PID namespace of its own: this tells nothing
        if self.mount_namespace == _namespace("self", "mnt"):
            self.mount_namespace = None

    @property
    def known(self):
        """Whether the container's own namespaces are known, beside what cgroups tell."""
        return self.pid_namespace is not None or self.mount_namespace is not None

    def holds(self, process):
        """Whether a process is in the container: True, False, or None when that cannot be seen from here."""
        named = of(process.pid)
        if any(self._is(each) for each in named):
            return True
        if any(each["kind"] == "lxc" for each in named):
            return False
        if not self.known:
            return False
        chain = namespace_chain(process.pid)
        if chain is None:
            # Refused. A process in our own PID namespace can only be in the container by its mounts.
            return None if len(process.nspids) > 1 or self.pid_namespace is None else False
        if self.pid_namespace in chain:
            return True
        return self.mount_namespace is not None and _namespace(process.pid, "mnt") == self.mount_namespace

    def _is(self, container):
        name = container["id"]
        return name == self.wanted or (len(self.wanted) >= 12 and name.startswith(self.wanted))


def where(process):
    """The containers around a process; a PID namespace below ours that no cgroup names is told as such."""
    named = of(process.pid)
    if named or processes.same_namespace(process):
        return named
    namespace = _namespace(process.pid, "pid")
    return [{"kind": "namespace", "id": namespace or "unknown"}]


def namespace_chain(pid):
    """The PID namespaces around a process from its own up to ours, or None when they cannot be seen."""
    own = _namespace("self", "pid")
    try:
        handle = os.open("/proc/%s/ns/pid" % pid, os.O_RDONLY)
    except OSError:
        return None
    found = []
    library = ctypes.CDLL(None, use_errno=True)
    while handle >= 0:
        name = "pid:[%d]" % os.fstat(handle).st_ino
        found.append(name)
        parent = -1 if name == own else library.ioctl(handle, _NS_GET_PARENT)
        os.close(handle)
        handle = parent
    return found


def inside_one():
    """Whether this very process is in a container: its PID namespace is not the kernel's first."""
    return _namespace("self", "pid") not in (None, "pid:[4026531836]") or bool(of("self"))


def _namespace(pid, kind):
    try:
        return os.readlink("/proc/%s/ns/%s" % (pid, kind))
    except OSError:
        return None


def lxc_init(name, seconds=10.0):
    """The pid here of an LXC container's first process, or None: no such tool, not running, no answer in time."""
    tool = shutil.which("lxc-info")
    if tool is None:
        return None
    try:
        done = subprocess.run(
            [tool, "-n", name, "-p", "-H"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = done.stdout.decode("ascii", "replace").strip()
    return int(text) if done.returncode == 0 and text.isdigit() and int(text) > 1 else None
