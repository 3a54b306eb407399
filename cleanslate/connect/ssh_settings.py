"""What OpenSSH's configuration, the options given to ssh and a host's variables together say about one connection."""

from __future__ import annotations

import getpass
import os
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from cleanslate.connect.known_hosts import marked
from cleanslate.connect.ssh_config import config_text
from cleanslate.connect.target import Address
from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError

# The library takes quotes off a value that is all quoted; with a word after it they stay, and say where the name ends.
_QUOTED_FILES = re.compile(r"^([ \t]*(?:user|global)knownhostsfile[ \t=]+\".*\")[ \t]*$", re.IGNORECASE | re.MULTILINE)
_USER_KNOWN_HOSTS = "~/.ssh/known_hosts ~/.ssh/known_hosts2"
_GLOBAL_KNOWN_HOSTS = "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"
_DEFAULT_KEYS = ("~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ed25519")
_STRICT = {"yes": "yes", "ask": "yes", "accept-new": "accept-new", "no": "no", "off": "no"}


@dataclass(frozen=True)
class SshSettings:
    """One connection, with nothing left to look up.

    alias: what OpenSSH would be called with; host, port: where that is. jump: the last hop of ProxyJump.
    strict: `yes`, `accept-new` or `no`. known_hosts: files, the one to write to first.
    identity_files: the keys that were named; default_keys: those to try besides.
    """

    alias: str
    host: str
    port: int
    user: str
    jump: Address | None
    proxy_command: str | None
    identity_files: tuple[Path, ...]
    default_keys: tuple[Path, ...]
    identities_only: bool
    agent_socket: str | None
    public_keys: bool
    passwords: bool
    password: str | None
    strict: str
    known_hosts: tuple[Path, ...]
    known_name: str
    connect_timeout: float
    alive_interval: float
    alive_count: int

    @property
    def silence(self) -> float:
        """Seconds without a sign of life after which the peer is taken for dead."""
        return self.alive_interval * self.alive_count


def settings_of(address: Address) -> SshSettings:
    """Everything about an ssh address. InputError for values that make no sense."""
    alias = address.host or address.name
    found = _Values(alias, _lookup(address, alias))
    host, port = found.text("hostname", alias), found.whole("port", 22)
    named = tuple(_paths(path for path in found.many("identityfile") if path.lower() != "none"))
    public_only = found.text("identitiesonly", "no") == "yes"
    jump, command = _proxy(found.values, address, host)
    methods = found.text("preferredauthentications", "publickey,password,keyboard-interactive")
    known = [*_split(found.text("userknownhostsfile", _USER_KNOWN_HOSTS)), *_known_globally(found)]
    return SshSettings(
        alias=alias,
        host=host,
        port=port,
        user=found.text("user", "") or getpass.getuser(),
        jump=jump,
        proxy_command=command,
        identity_files=named,
        default_keys=() if named else tuple(_paths(_DEFAULT_KEYS)),
        identities_only=public_only,
        agent_socket=_agent_socket(found.text("identityagent", "")),
        public_keys=found.text("pubkeyauthentication", "yes") != "no" and "publickey" in methods,
        passwords=found.text("passwordauthentication", "yes") != "no"
        and ("password" in methods or "keyboard" in methods),
        password=address.password,
        strict=found.one_of("stricthostkeychecking", "yes", _STRICT),
        known_hosts=tuple(_paths(known)),
        known_name=found.text("hostkeyalias", "") or marked(host, port),
        connect_timeout=float(found.whole("connecttimeout", 0)) or address.connect_timeout,
        alive_interval=float(found.whole("serveraliveinterval", 0) or 15),
        alive_count=found.whole("serveralivecountmax", 3) or 3,
    )


@cache
def _cached_text(user: Path | None, home: str, _stamp: tuple[int, ...]) -> str:
    return config_text(user)


def _text_of(user: Path | None) -> str:
    """The configuration's text, read again only when the main file has changed."""
    main = user or Path("~/.ssh/config").expanduser()
    try:
        info = main.stat()
        stamp: tuple[int, ...] = (info.st_mtime_ns, info.st_size)
    except OSError:
        stamp = ()
    return _cached_text(user, os.environ.get("HOME", ""), stamp)


def _lookup(address: Address, alias: str) -> dict[str, Any]:
    """The options for `alias`: the address's own first, as the first value that is found counts."""
    from paramiko.ssh_exception import SSHException

    from cleanslate.connect.ssh_lookup import OpenSshConfig

    given: list[tuple[str, str]] = []
    if address.port is not None:
        given.append(("Port", str(address.port)))
    if address.user is not None:
        given.append(("User", address.user))
    given += [("IdentityFile", path) for path in address.identity_files]
    given += address.ssh_options
    own = next((value for name, value in given if name == "ConfigFile"), None)
    lines = [f"{name} {value}" for name, value in given if name != "ConfigFile" and "\n" not in value]
    text = "\n".join([*lines, _text_of(Path(own).expanduser() if own else None)])
    text = _QUOTED_FILES.sub(r"\1 none", text)
    try:
        return dict(OpenSshConfig.from_text(text).lookup(alias))
    except (SSHException, ValueError) as error:
        raise InputError(f"{address.name}: the ssh configuration cannot be used: {error}") from None


def _proxy(values: dict[str, Any], address: Address, host: str) -> tuple[Address | None, str | None]:
    """The hop to jump from, or the command to connect through: whichever was said first. Both None: directly."""
    if address.via is not None:  # a hop behind another hop
        return address.via, None
    first = next((name for name in values if name in ("proxyjump", "proxycommand")), None)
    if first is None or not values[first] or values[first].lower() == "none":
        return None, None
    if first == "proxycommand":
        return None, values[first]
    hop: Address | None = None
    for text in values[first].split(","):
        hop = _hop(text.strip(), hop, address)
        if hop.host in (host, address.host or address.name):
            return None, None  # `Host *` with a ProxyJump, and this is the jump host itself
    return hop, None


def _hop(text: str, before: Address | None, address: Address) -> Address:
    text = text.removeprefix("ssh://")
    user, _, place = text.rpartition("@")
    host, port = place, ""
    if place.startswith("["):
        host, _, port = place[1:].partition("]")
        port = port.removeprefix(":")
    elif place.count(":") == 1:
        host, _, port = place.partition(":")
    if not host or (port and not port.isdigit()):
        raise InputError(f'{address.name}: ProxyJump "{text}" is not [user@]host[:port]')
    own = tuple(pair for pair in address.ssh_options if pair[0] == "ConfigFile")
    return Address(
        host, host=host, port=int(port) if port else None, user=user or None, via=before, ssh_options=own,
        connect_timeout=address.connect_timeout,
    )  # fmt: skip


def _agent_socket(value: str) -> str | None:
    """The ssh agent's socket; None when there is none or none is wanted."""
    if value.lower() == "none":
        return None
    if not value or value == "SSH_AUTH_SOCK":
        return os.environ.get("SSH_AUTH_SOCK") or None
    return str(Path(os.path.expandvars(value)).expanduser())


def _known_globally(found: _Values) -> list[str]:
    return _split(found.text("globalknownhostsfile", _GLOBAL_KNOWN_HOSTS))


def _split(text: str) -> list[str]:
    try:
        return [word for word in shlex.split(text) if word.lower() != "none"]
    except ValueError:
        return [text]


def _paths(texts: Any) -> Iterator[Path]:
    home = str(Path("~").expanduser())
    for text in texts:
        yield Path(str(text).replace("%d", home)).expanduser()


class _Values:
    """The looked-up options of one host, with a clear word for those that make no sense."""

    def __init__(self, alias: str, values: dict[str, Any]) -> None:
        self.alias = alias
        self.values = values

    def text(self, name: str, default: str) -> str:
        value = self.values.get(name)
        return default if value is None else str(value)

    def many(self, name: str) -> list[str]:
        return [str(value) for value in self.values.get(name) or []]

    def whole(self, name: str, default: int) -> int:
        text = self.text(name, str(default))
        if not text.isdigit():
            raise InputError(f'{self.alias}: the ssh option {name} is "{text}", not a whole number')
        return int(text)

    def one_of(self, name: str, default: str, known: dict[str, str]) -> str:
        text = self.text(name, default).lower()
        if text not in known:
            raise InputError(f'{self.alias}: the ssh option {name} is "{text}"; it is one of {", ".join(known)}')
        return known[text]
