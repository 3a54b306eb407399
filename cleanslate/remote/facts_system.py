"""Facts about the operating system, its user, its clock and its managers."""

import os
import platform as _platform
import pwd
import socket
import sys
import threading
import time

from cleanslate.remote.facts_files import line, pairs, text

_NAMES = {  # ID of os-release -> Ansible's name
    "debian": "Debian", "ubuntu": "Ubuntu", "raspbian": "Debian", "linuxmint": "Linux Mint", "pop": "Pop!_OS",
    "kali": "Kali", "fedora": "Fedora", "rhel": "RedHat", "centos": "CentOS", "rocky": "Rocky",
    "almalinux": "AlmaLinux", "ol": "OracleLinux", "amzn": "Amazon", "sles": "SLES", "sled": "SLED",
    "opensuse-leap": "openSUSE Leap", "opensuse-tumbleweed": "openSUSE Tumbleweed", "arch": "Archlinux",
    "manjaro": "Manjaro", "alpine": "Alpine", "gentoo": "Gentoo", "void": "Void", "nixos": "NixOS",
    "clear-linux-os": "Clear Linux OS", "flatcar": "Flatcar", "mageia": "Mageia", "openeuler": "openEuler",
    "azurelinux": "Azurelinux", "photon": "VMware Photon OS",
}  # fmt: skip
_FAMILIES = {
    "Debian": ("Debian", "Ubuntu", "Linux Mint", "Pop!_OS", "Kali"),
    "RedHat": ("Fedora", "RedHat", "CentOS", "Rocky", "AlmaLinux", "OracleLinux", "Amazon", "openEuler", "Azurelinux"),
    "Suse": ("SLES", "SLED", "openSUSE Leap", "openSUSE Tumbleweed"),
    "Archlinux": ("Archlinux", "Manjaro"),
    "Mandrake": ("Mageia",),
}
_LIKE = {
    "debian": "Debian",
    "ubuntu": "Debian",
    "rhel": "RedHat",
    "fedora": "RedHat",
    "suse": "Suse",
    "arch": "Archlinux",
}
_PACKAGE_MANAGERS = (
    ("apt", "/usr/bin/apt-get"), ("dnf5", "/usr/bin/dnf5"), ("dnf", "/usr/bin/dnf"), ("yum", "/usr/bin/yum"),
    ("zypper", "/usr/bin/zypper"), ("pacman", "/usr/bin/pacman"), ("apk", "/sbin/apk"), ("portage", "/usr/bin/emerge"),
    ("xbps", "/usr/bin/xbps-install"), ("nix", "/run/current-system/sw/bin/nix"),
)  # fmt: skip
_NAME_WAIT = 1.0  # seconds that the resolver may take to tell the full name


def platform(options):
    """System, kernel, architecture, names of the machine."""
    system = os.uname()
    bits = "64" if sys.maxsize > 2**32 else "32"
    machine = system.machine
    userspace = {"i686": "i386", "i586": "i386"}.get(machine, machine)
    full = _full_name(system.nodename)
    return {
        "system": system.sysname,
        "kernel": system.release,
        "kernel_version": system.version,
        "machine": machine,
        "architecture": userspace,
        "userspace_bits": bits,
        "userspace_architecture": "i386" if bits == "32" and userspace == "x86_64" else userspace,
        "nodename": system.nodename,
        "hostname": system.nodename.split(".")[0],
        "fqdn": full,
        "domain": full.partition(".")[2],
        "python_version": _platform.python_version(),
        "machine_id": line("/etc/machine-id") or line("/var/lib/dbus/machine-id"),
    }


def _full_name(name):
    found = []
    asking = threading.Thread(target=lambda: found.append(socket.getfqdn()), daemon=True)
    asking.start()
    asking.join(_NAME_WAIT)
    return found[0] if found else name


def distribution(options):
    """Which distribution, and which of it."""
    path = next((place for place in ("/etc/os-release", "/usr/lib/os-release") if os.path.exists(place)), None)
    release = pairs(path) if path else {}
    identity = release.get("ID", "").lower()
    name = _NAMES.get(identity, release.get("NAME", "Linux").split(" ")[0])
    version = _version(identity, release)
    parts = version.split(".")
    found = {
        "distribution": name,
        "distribution_version": version or "NA",
        "distribution_major_version": parts[0] or "NA",
        "distribution_release": release.get("VERSION_CODENAME") or _codename(release) or "NA",
        "os_family": _family(name, release),
        "distribution_file_parsed": bool(path),
        "distribution_file_path": path or "",
        "distribution_file_variety": name,
    }
    if len(parts) > 1:
        found["distribution_minor_version"] = parts[1]
    return found


def _version(identity, release):
    version = release.get("VERSION_ID", "")
    if identity == "debian":
        exact = line("/etc/debian_version")
        return exact if exact[:1].isdigit() and exact.startswith(version) else version
    if identity == "centos" and "." not in version:
        words = line("/etc/centos-release").split()
        exact = next((word for word in words if word[:1].isdigit()), "")
        return ".".join(exact.split(".")[:2]) or version
    if identity in ("arch", "gentoo", "void"):
        return version or "NA"
    return version


def _codename(release):
    inside = release.get("VERSION", "").partition("(")[2].partition(")")[0]
    return inside or release.get("UBUNTU_CODENAME", "")


def _family(name, release):
    for family, names in _FAMILIES.items():
        if name in names:
            return family
    for like in release.get("ID_LIKE", "").lower().split():
        if like in _LIKE:
            return _LIKE[like]
    return name


def user(options):
    """Whom the agent runs as."""
    entry = pwd.getpwuid(os.getuid())
    return {
        "user_id": entry.pw_name,
        "user_uid": entry.pw_uid,
        "user_gid": entry.pw_gid,
        "user_gecos": entry.pw_gecos,
        "user_dir": entry.pw_dir,
        "user_shell": entry.pw_shell,
        "real_user_id": os.getuid(),
        "effective_user_id": os.geteuid(),
        "real_group_id": os.getgid(),
        "effective_group_id": os.getegid(),
    }


def env(options):
    """The environment, with that of the step."""
    return {"env": dict(os.environ, **options["environment"])}


def date_time(options):
    """The target's clock."""
    now = time.time()
    here, utc = time.localtime(now), time.gmtime(now)
    micro = f"{int(now % 1 * 1000000):06d}"

    def form(pattern, moment=here):
        return time.strftime(pattern, moment)

    return {
        "date_time": {
            "year": form("%Y"),
            "month": form("%m"),
            "weekday": form("%A"),
            "weekday_number": form("%w"),
            "weeknumber": form("%W"),
            "day": form("%d"),
            "hour": form("%H"),
            "minute": form("%M"),
            "second": form("%S"),
            "epoch": str(int(now)),
            "epoch_int": str(int(now)),
            "date": form("%Y-%m-%d"),
            "time": form("%H:%M:%S"),
            "iso8601_micro": form("%Y-%m-%dT%H:%M:%S.", utc) + micro + "Z",
            "iso8601": form("%Y-%m-%dT%H:%M:%SZ", utc),
            "iso8601_basic": form("%Y%m%dT%H%M%S") + micro,
            "iso8601_basic_short": form("%Y%m%dT%H%M%S"),
            "tz": form("%Z"),
            "tz_dst": time.tzname[1],
            "tz_offset": form("%z"),
        }
    }


def python(options):
    """The Python that the agent runs on."""
    version = sys.version_info
    return {
        "python": {
            "version": {
                "major": version.major,
                "minor": version.minor,
                "micro": version.micro,
                "releaselevel": version.releaselevel,
                "serial": version.serial,
            },
            "version_info": list(version),
            "executable": sys.executable,
            "has_sslcontext": True,
            "type": sys.implementation.name,
        }
    }


def pkg_mgr(options):
    """The package manager."""
    return {"pkg_mgr": next((name for name, path in _PACKAGE_MANAGERS if os.path.exists(path)), "unknown")}


def service_mgr(options):
    """The service manager: systemd where it runs, else what process 1 is."""
    first = line("/proc/1/comm")
    if os.path.isdir("/run/systemd/system") or first == "systemd":
        return {"service_mgr": "systemd"}
    if first in ("", "init"):
        for name, path in (("openrc", "/run/openrc"), ("upstart", "/etc/init"), ("sysvinit", "/etc/init.d")):
            if os.path.exists(path):
                return {"service_mgr": name}
    return {"service_mgr": first or "service"}


def lsb(options):
    """What lsb_release would tell."""
    release = dict(pairs("/etc/os-release"), **pairs("/etc/lsb-release"))
    number = release.get("DISTRIB_RELEASE") or release.get("VERSION_ID", "")
    if not number:
        return {"lsb": {}}
    return {
        "lsb": {
            "id": release.get("DISTRIB_ID") or _NAMES.get(release.get("ID", ""), release.get("NAME", "")),
            "release": number,
            "major_release": number.split(".")[0],
            "codename": release.get("DISTRIB_CODENAME") or release.get("VERSION_CODENAME", ""),
            "description": release.get("DISTRIB_DESCRIPTION") or release.get("PRETTY_NAME", ""),
        }
    }


def cmdline(options):
    """The kernel's command line."""
    found, every = {}, {}
    for word in line("/proc/cmdline").split():
        key, mark, value = word.partition("=")
        found[key] = value if mark else True
        every.setdefault(key, []).append(value if mark else True)
    many = {key: values if len(values) > 1 else values[0] for key, values in every.items()}
    return {"cmdline": found, "proc_cmdline": many}


def security(options):
    """SELinux, AppArmor, FIPS, chroot."""
    selinux = {"status": "disabled"}
    if os.path.exists("/sys/fs/selinux/enforce"):
        enforcing = line("/sys/fs/selinux/enforce") == "1"
        config = pairs("/etc/selinux/config")
        selinux = {
            "status": "enabled",
            "mode": "enforcing" if enforcing else "permissive",
            "config_mode": config.get("SELINUX", "unknown"),
            "type": config.get("SELINUXTYPE", "unknown"),
        }
    return {
        "selinux": selinux,
        "selinux_python_present": True,
        "apparmor": {"status": "enabled" if os.path.exists("/sys/kernel/security/apparmor") else "disabled"},
        "fips": line("/proc/sys/crypto/fips_enabled") == "1",
        "is_chroot": _in_chroot(),
    }


def _in_chroot():
    if "debian_chroot" in os.environ:
        return True
    here = os.stat("/")
    try:
        there = os.stat("/proc/1/root/.")
    except OSError:
        return here.st_ino not in (2, 128, 256)
    return (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino)


def dns(options):
    """The resolver's settings."""
    found = {}
    for entry in text("/etc/resolv.conf").splitlines():
        words = entry.split("#")[0].split(";")[0].split()
        if len(words) < 2:
            continue
        if words[0] == "nameserver":
            found.setdefault("nameservers", []).append(words[1])
        elif words[0] in ("search", "sortlist"):
            found[words[0]] = words[1:]
        elif words[0] == "domain":
            found["domain"] = words[1]
        elif words[0] == "options":
            found["options"] = {key: value or True for key, _, value in (word.partition(":") for word in words[1:])}
    return {"dns": found}


def ssh_keys(options):
    """The host's public keys."""
    found = {}
    for kind in ("dsa", "rsa", "ecdsa", "ed25519"):
        for folder in ("/etc/ssh", "/etc/openssh", "/etc"):
            words = line(f"{folder}/ssh_host_{kind}_key.pub").split()
            if len(words) > 1:
                found[f"ssh_host_key_{kind}_public"] = words[1]
                found[f"ssh_host_key_{kind}_public_keytype"] = words[0]
                break
    return found
