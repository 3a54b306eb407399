"""Processes that are never taken for part of a server: the machine's own, the driver's daemons, monitoring, ourselves.

Killing these by force is worse than the memory they hold: a killed dcgm-exporter froze A100s until the machine was
restarted (NVIDIA/dcgm-exporter#84), without the fabric manager no CUDA program starts on NVSwitch machines
(NVIDIA/NVSentinel#883), without nvidia-persistenced every nvidia-smi initialises the GPUs anew
(NVIDIA/nvidia-docker#723). A name ending in `*` is the start of one.
"""

import os

from cleanslate.remote import processes

PROBE = "cs-gpu-probe"
KEEPER = "cleanslate-keep"

# Daemons that a machine with GPUs runs all the time: whoever ends processes there verifies them afterwards.
DAEMONS = (
    "nvidia-persistenced",
    "nv-fabricmanager",
    "nvidia-fabricmanager",
    "nv-hostengine",
    "nvidia-dcgm",
    "dcgm-exporter",
    "nvidia-imex",
    "nvidia-powerd",
    "nvlsm",
    "nvidia-gridd",
    "nvidia-vgpu-mgr",
    "nvidia-vgpud",
)
MONITORS = (
    "nvidia-smi",
    "nvidia-cuda-mps-*",
    "nvidia_gpu_exporter",
    "nvtop",
    "nvitop",
    "gpustat",
    "gpud",
    "node_exporter",
    "prometheus",
    "telegraf",
    "netdata",
    "datadog-agent",
    "zabbix_agentd",
    "zabbix_agent2",
)
DISPLAY = ("Xorg", "X", "Xwayland", "gnome-shell", "gdm", "gdm3", "gdm-x-session", "sddm", "lightdm", "kwin_wayland")
MACHINE = (
    "init",
    "systemd*",
    "sshd",
    "sshd-session",
    "dbus-daemon",
    "cron",
    "crond",
    "sudo",
    "su",
    "login",
    "agetty",
    "tmux*",
    "screen",
    "SCREEN",
    "dockerd",
    "docker-proxy",
    "containerd*",
    "conmon",
    "crio",
    "kubelet",
    "lxc-start",
    "lxcfs",
    "pvedaemon*",
    "pveproxy*",
    "pvestatd",
    "nginx",
    "haproxy",
    "caddy",
    "traefik",
    "qemu-system-*",
    "kvm",
    "libvirtd",
    "virtqemud",
)
BUILT_IN = (*DAEMONS, *MONITORS, *DISPLAY, *MACHINE, PROBE, KEEPER)


def names_of(process):
    """What a process may be called: comm, the last part of argv[0], the name of its executable file."""
    found = {process.comm}
    if process.argv:
        # sshd, nginx and postgres write `name: what it does` there
        found.add(process.argv[0].rsplit("/", 1)[-1])
        found.add(process.argv[0].split(":", 1)[0].split(" ", 1)[0].rsplit("/", 1)[-1])
    target = processes.bounded(_executable, process.pid) if process.state == "D" else _executable(process.pid)
    if target:
        found.add(target)
    return found


def protector(process, names=BUILT_IN):
    """The name of the list that protects a process, or None. comm is cut to 15 characters by the kernel."""
    called = names_of(process)
    for name in names:
        if any(_means(name, each) for each in called):
            return name
    return None


def _means(name, called):
    if name.endswith("*"):
        return called.startswith(name[:-1])
    return called == name or (len(name) > 15 and called == name[:15])


def named(process, wanted):
    """Whether a user's list of names and pids means this process."""
    words = [str(word) for word in wanted or ()]
    return str(process.pid) in words or protector(process, [word for word in words if not word.isdigit()]) is not None


def _executable(pid):
    try:
        return os.readlink("/proc/%d/exe" % pid).rsplit("/", 1)[-1].replace(" (deleted)", "")
    except OSError:
        return None
