"""Which OpenSSH options are understood, and how `ansible_ssh_common_args` becomes pairs of them."""

from __future__ import annotations

import functools
import shlex

from cleanslate.errors import InputError, Origin, suggest

# What changes how a host is reached, and is done here as OpenSSH does it. By lower-case name.
UNDERSTOOD = {
    name.lower(): name
    for name in (
        "ConfigFile", "ConnectTimeout", "GlobalKnownHostsFile", "HostKeyAlias", "HostName", "IdentitiesOnly",
        "IdentityAgent", "IdentityFile", "PasswordAuthentication", "Port", "PreferredAuthentications", "ProxyCommand",
        "ProxyJump", "PubkeyAuthentication", "ServerAliveCountMax", "ServerAliveInterval", "StrictHostKeyChecking",
        "User", "UserKnownHostsFile",
    )
}  # fmt: skip

# What may be given and makes no difference here: one connection is shared anyway, nothing is forwarded or shown.
WITHOUT_EFFECT = {
    name.lower(): name
    for name in (
        "AddKeysToAgent", "AddressFamily", "BatchMode", "ChallengeResponseAuthentication", "CheckHostIP", "Compression",
        "ConnectionAttempts", "ControlMaster", "ControlPath", "ControlPersist", "EscapeChar", "ForwardX11",
        "GSSAPIAuthentication", "GSSAPIDelegateCredentials", "HashKnownHosts", "KbdInteractiveAuthentication",
        "LogLevel", "NumberOfPasswordPrompts", "RequestTTY", "SendEnv", "TCPKeepAlive", "UpdateHostKeys",
        "VerifyHostKeyDNS", "VisualHostKey",
    )
}  # fmt: skip

_SEVERAL_FILES = ("userknownhostsfile", "globalknownhostsfile")
_FLAGS_WITHOUT_EFFECT = "46aCKMnNqTtvxXY"
_FLAG_OPTIONS = {"J": "ProxyJump", "i": "IdentityFile", "p": "Port", "l": "User", "F": "ConfigFile"}


@functools.lru_cache(maxsize=256)  # every step of every host asks with the same few texts
def parse_arguments(text: str, variable: str, origin: Origin | None = None) -> tuple[tuple[str, str], ...]:
    """Give the (option, value) pairs of ssh's command line arguments; InputError names what is not understood."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"{variable} cannot be split into words: {str(error).lower()}", origin=origin) from None
    found: list[tuple[str, str]] = []
    while words:
        word = words.pop(0)
        flag, rest = word[:2], word[2:]
        if len(flag) == 2 and flag[0] == "-" and flag[1] in ("o", *_FLAG_OPTIONS):
            if not rest and not words:
                raise InputError(f"{variable}: {flag} needs a value", origin=origin)
            value = rest or words.pop(0)
            found.append(_option(value, variable, origin) if flag == "-o" else (_FLAG_OPTIONS[flag[1]], value))
        elif len(word) > 1 and word[0] == "-" and all(letter in _FLAGS_WITHOUT_EFFECT for letter in word[1:]):
            continue
        else:
            raise InputError(
                f'{variable}: the argument "{word}" is not understood',
                origin=origin,
                fix="write options as -o Key=value; -J, -i, -p, -l and -F are known too",
            )
    return tuple((name, value) for name, value in found if name.lower() in UNDERSTOOD)


def _option(text: str, variable: str, origin: Origin | None) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or " " in name.strip():
        name, _, value = text.strip().partition(" ")
    name, value = name.strip(), value.strip()
    if name.lower() not in _SEVERAL_FILES:  # there quotes say where one file's name ends
        value = value.strip('"')
    known = {**UNDERSTOOD, **WITHOUT_EFFECT}
    if name.lower() not in known:
        near = suggest(name, known.values()) or "reach the host through ~/.ssh/config or without it"
        raise InputError(f'{variable}: the ssh option "{name}" is not understood', origin=origin, fix=near)
    if not value:
        raise InputError(f"{variable}: the ssh option {known[name.lower()]} has no value", origin=origin)
    return known[name.lower()], value
