"""Decides whether a server's host key is the right one, and says which command would accept it when it is not known."""

from __future__ import annotations

import shlex
from pathlib import Path

from cleanslate.connect.known_hosts import KnownKey, fingerprint, known_keys, remember
from cleanslate.connect.ssh_settings import SshSettings
from cleanslate.errors import Unreachable

_RSA = ("rsa-sha2-512", "rsa-sha2-256")


def known_types(settings: SshSettings) -> list[str]:
    """The key algorithms to ask the server for first: those of which a key is known."""
    types = dict.fromkeys(key.type for key in _known(settings) if not key.revoked)
    return [each for name in types for each in (_RSA if name == "ssh-rsa" else (name,))]


def judge(settings: SshSettings, key_type: str, blob: bytes, *, accept_new: bool) -> str | None:
    """Accept a server's key, or raise Unreachable. Gives a warning where it was accepted all the same.

    An unknown key is accepted and remembered where the user asked for that; a changed one only where host key
    checking is off; a revoked one never.
    """
    known = _known(settings)
    if any(key.revoked and key.blob == blob for key in known):
        raise Unreachable(f"{settings.alias}: the server's host key {fingerprint(blob)} is marked as revoked")
    current = [key for key in known if not key.revoked]
    if any(key.blob == blob for key in current):
        return None
    if current and settings.strict != "no":
        raise _changed(settings, key_type, blob, current[0])
    if not current and settings.strict == "yes" and not accept_new:
        raise _unknown(settings, key_type, blob)
    if current:
        return f"{settings.alias}: the host key has CHANGED to {fingerprint(blob)}, and host key checking is off"
    if settings.known_hosts:
        remember(settings.known_hosts[0], settings.known_name, key_type, blob)
    return f"{settings.alias}: its host key {fingerprint(blob)} was not known, and is accepted from now on"


def _known(settings: SshSettings) -> list[KnownKey]:
    """The keys on file; those under the bare name only where none are filed with the port, as OpenSSH does."""
    found = known_keys(settings.known_hosts, [settings.known_name])
    if not found and settings.known_name.startswith("["):
        found = known_keys(settings.known_hosts, [settings.host])
    return found


def _unknown(settings: SshSettings, key_type: str, blob: bytes) -> Unreachable:
    return Unreachable(
        f"{settings.alias}: the server's host key is not known ({_short(key_type)} {fingerprint(blob)})",
        fix=f"compare that fingerprint with the server's, then accept the key with: {_accepting(settings, key_type)}",
    )


def _changed(settings: SshSettings, key_type: str, blob: bytes, known: KnownKey) -> Unreachable:
    removing = f"ssh-keygen -f {_quoted(known.file)} -R {shlex.quote(settings.known_name)}"
    return Unreachable(
        f"{settings.alias}: THE HOST KEY HAS CHANGED to {_short(key_type)} {fingerprint(blob)}; "
        f"{known.file}:{known.line} has {fingerprint(known.blob)}. Somebody may be listening in, "
        f"or the machine was installed anew",
        fix=f"if you know why, accept it with: {removing} && {_accepting(settings, key_type)}",
    )


def _accepting(settings: SshSettings, key_type: str) -> str:
    """The shell command that puts the server's key on file."""
    if settings.jump or settings.proxy_command or not settings.known_hosts:
        return f"ssh -o StrictHostKeyChecking=accept-new {shlex.quote(settings.alias)} true"
    port = f"-p {settings.port} " if settings.port != 22 else ""
    scan = f"ssh-keyscan {port}-t {_short(key_type).lower()} {shlex.quote(settings.host)}"
    if settings.known_name not in (settings.host, f"[{settings.host}]:{settings.port}"):
        scan += f" | sed 's/^[^ ]*/{settings.known_name}/'"  # filed under HostKeyAlias
    return f"{scan} >> {_quoted(settings.known_hosts[0])}"


def _short(key_type: str) -> str:
    """ED25519 for ssh-ed25519, as ssh-keyscan and ssh-keygen name the types."""
    for name in ("ed25519", "ecdsa", "rsa"):
        if name in key_type:
            return name.upper()
    return key_type


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
