"""Where a host is and as whom to work there: from Ansible's connection variables, already rendered."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from cleanslate.connect.ssh_options import parse_arguments
from cleanslate.connect.target import Address, Become
from cleanslate.errors import InputError, Origin, suggest
from cleanslate.model import origin_of

_PCT = ("pct", "community.proxmox.proxmox_pct_remote", "community.general.proxmox_pct_remote", "proxmox_pct_remote")
_KINDS = {
    **dict.fromkeys(("ssh", "smart", "paramiko", "paramiko_ssh", "ansible.builtin.ssh"), "ssh"),
    **dict.fromkeys(("ansible.builtin.paramiko_ssh", "ansible.netcommon.libssh"), "ssh"),
    **dict.fromkeys(("local", "ansible.builtin.local"), "local"),
    **dict.fromkeys(_PCT, "pct"),
}
_ARGUMENTS = ("ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args")
_YES = ("yes", "on", "1", "true", "t", "y")
_NO = ("no", "off", "0", "false", "f", "n", "")


def address_of(host: str, variables: Mapping[str, Any], *, via: Address | None = None) -> Address:
    """The address that a host's variables give. InputError for nonsense, naming variable and host.

    A `pct` host needs the container's number (`proxmox_vmid` or `vmid`) and its hypervisor's address: `via`, or for
    Ansible's own plugin the host's own `ansible_host`, which there means the hypervisor.
    """
    given = _Variables(host, variables)
    name = given.text("ansible_connection") or "ssh"
    if name not in _KINDS:
        raise InputError(
            f'{host}: ansible_connection "{name}" is not known',
            origin=given.origin("ansible_connection"),
            fix=suggest(name, _KINDS) or "ssh, local and pct are",
        )
    kind = _KINDS[name]
    python = given.text("ansible_python_interpreter")
    if python is not None and python.startswith("auto"):
        python = None
    if kind == "local":
        return Address(host, kind="local", python=python)
    if kind == "ssh":
        return _ssh(host, given, python)
    return _pct(host, given, python, name, via)


def become_of(keywords: Mapping[str, Any], variables: Mapping[str, Any]) -> Become | None:
    """Whom to become: keywords (`become`, `become_user`, ...), over which Ansible's variables win. None: nobody."""
    given = _Variables("", variables)
    said = keywords.get("become")
    wanted = given.flag("ansible_become")
    if wanted is None:
        wanted = _flag("become", said)
    if not wanted:
        return None

    def value(name: str, default: str) -> str:
        keyword = keywords.get(f"become_{name}")
        return given.text(f"ansible_become_{name}") or (default if keyword is None else str(keyword)) or default

    method = value("method", "sudo").rpartition(".")[2]
    if method != "sudo":
        raise InputError(f'become_method "{method}" is not known', fix="sudo is the only one")
    flags = value("flags", "")
    try:
        shlex.split(flags)
    except ValueError as error:
        raise InputError(f"become_flags cannot be split into words: {str(error).lower()}") from None
    password = given.text("ansible_become_password", "ansible_become_pass", "ansible_sudo_pass")
    return Become(user=value("user", "root"), method=method, flags=flags, password=password)


def _ssh(host: str, given: _Variables, python: str | None) -> Address:
    identity = given.text("ansible_ssh_private_key_file", "ansible_private_key_file")
    options = [
        pair for name in _ARGUMENTS if (text := given.text(name)) for pair in parse_arguments(text, name, given.last)
    ]
    checking = given.flag("ansible_ssh_host_key_checking", "ansible_host_key_checking")
    if checking is False:
        options.append(("StrictHostKeyChecking", "no"))
    return Address(
        host,
        kind="ssh",
        host=given.text("ansible_host", "ansible_ssh_host"),
        port=given.port("ansible_port", "ansible_ssh_port"),
        user=given.text("ansible_user", "ansible_ssh_user"),
        identity_files=(identity,) if identity else (),
        password=given.text("ansible_password", "ansible_ssh_password", "ansible_ssh_pass"),
        ssh_options=tuple(options),
        python=python,
        connect_timeout=given.seconds(15.0, "ansible_timeout", "ansible_ssh_timeout"),
    )


def _pct(host: str, given: _Variables, python: str | None, name: str, via: Address | None) -> Address:
    vmid = given.whole("proxmox_vmid", "vmid")
    if vmid is None:
        raise InputError(
            f"{host} is reached through pct, and its container's number is not given",
            origin=given.origin("ansible_connection"),
            fix="set the host variable vmid",
        )
    if name != "pct" and given.text("ansible_host") and (via is None or given.text("proxmox_vmid")):
        via = _ssh(host, given, None)  # as Ansible's plugin has it: ansible_host is the hypervisor
    if via is None:
        raise InputError(
            f"{host} is reached through pct, and no hypervisor is named for it",
            origin=given.origin("ansible_connection"),
            fix="set the host variable hypervisor to the inventory host that carries the container",
        )
    return Address(host, kind="pct", vmid=vmid, via=via, python=python, connect_timeout=via.connect_timeout)


def _flag(name: str, value: Any) -> bool:
    word = str(value).strip().lower() if value is not None else ""
    if word in _YES:
        return True
    if word in _NO:
        return False
    raise InputError(f'{name} is "{value}"; write true or false', origin=origin_of(value))


class _Variables:
    """A host's variables, asked for by each of the names that Ansible has for one thing; the first that is set wins."""

    def __init__(self, host: str, values: Mapping[str, Any]) -> None:
        self._host = f"{host}: " if host else ""
        self._values = values
        self.last: Origin | None = None  # the place of the value asked for last

    def origin(self, name: str) -> Origin | None:
        """Where a variable's value stands, when it is known."""
        return origin_of(self._values.get(name))

    def _find(self, names: tuple[str, ...]) -> tuple[str, Any]:
        for name in names:
            value = self._values.get(name)
            if value is not None and value != "":
                self.last = origin_of(value)
                return name, value
        return "", None

    def text(self, *names: str) -> str | None:
        name, value = self._find(names)
        if value is None:
            return None
        if isinstance(value, dict | list):
            raise InputError(f"{self._host}{name} is not text", origin=self.last)
        return str(value)

    def flag(self, *names: str) -> bool | None:
        name, value = self._find(names)
        return None if value is None else _flag(f"{self._host}{name}", value)

    def whole(self, *names: str) -> int | None:
        name, value = self._find(names)
        if value is None:
            return None
        try:
            return int(str(value))
        except ValueError:
            raise InputError(f'{self._host}{name} is "{value}", not a whole number', origin=self.last) from None

    def port(self, *names: str) -> int | None:
        port = self.whole(*names)
        if port is not None and not 0 < port < 65536:
            raise InputError(f"{self._host}{names[0]} is {port}; a port is between 1 and 65535", origin=self.last)
        return port

    def seconds(self, default: float, *names: str) -> float:
        name, value = self._find(names)
        if value is None:
            return default
        try:
            seconds = float(str(value))
        except ValueError:
            seconds = 0.0
        if not 0 < seconds < 86400:
            raise InputError(f'{self._host}{name} is "{value}", not a number of seconds', origin=self.last)
        return seconds
