"""Reads OpenSSH's known_hosts files: which keys a host is known to have, and which of them were revoked.

Names may be plain, patterns with `*` and `?`, negated with `!`, or hashed; a port other than 22 is written
`[name]:port`. `@revoked` keys are never accepted. `@cert-authority` lines are not used: host certificates are unknown
to the library underneath, so a host that only has one counts as unknown.
"""

from __future__ import annotations

import base64
import binascii
import fnmatch
import hashlib
import hmac
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from cleanslate.dataclass import dataclass


@dataclass(frozen=True)
class KnownKey:
    """One line that names the host: the key's type and bytes, and where it stands."""

    type: str
    blob: bytes
    file: Path
    line: int
    revoked: bool = False


def marked(name: str, port: int) -> str:
    """The way known_hosts writes a host: `name`, or `[name]:port`."""
    return name if port == 22 else f"[{name}]:{port}"


def fingerprint(blob: bytes) -> str:
    """A key's fingerprint as OpenSSH prints it: `SHA256:...`."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def known_keys(files: Sequence[Path], names: Iterable[str]) -> list[KnownKey]:
    """Every key that the files give for one of the names; files that do not exist are empty."""
    wanted = list(names)
    found: list[KnownKey] = []
    for file in files:
        for number, line in enumerate(_lines(file), 1):
            key = _read(line, wanted, file, number)
            if key is not None:
                found.append(key)
    return found


def _lines(file: Path) -> Sequence[str]:
    """A file's lines, read again only when it has changed; none where there is no file."""
    try:
        now = file.stat()
        return _read_lines(file, (now.st_mtime_ns, now.st_size, now.st_ino))
    except OSError:
        return ()


@lru_cache(maxsize=16)
def _read_lines(file: Path, _stamp: tuple[int, ...]) -> Sequence[str]:
    return file.read_text(encoding="utf-8", errors="replace").splitlines()


def remember(file: Path, name: str, key_type: str, blob: bytes) -> None:
    """Add a line to a known_hosts file, making it (and its folder, for the user alone) where missing."""
    if str(file) == "/dev/null":
        return
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with file.open("a+b") as stream:
        stream.seek(0, 2)
        if stream.tell():
            stream.seek(-1, 2)
            if stream.read(1) != b"\n":
                stream.write(b"\n")
        stream.write(f"{name} {key_type} {base64.b64encode(blob).decode()}\n".encode())


def _read(line: str, names: list[str], file: Path, number: int) -> KnownKey | None:
    words = line.split()
    marker = words.pop(0) if words and words[0].startswith("@") else ""
    if len(words) < 3 or words[0].startswith("#") or marker not in ("", "@revoked"):
        return None
    hosts, key_type, data = words[:3]
    if not any(_matches(hosts, name) for name in names):
        return None
    try:
        blob = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return KnownKey(key_type, blob, file, number, revoked=marker == "@revoked")


def _matches(hosts: str, name: str) -> bool:
    if hosts.startswith("|1|"):
        return _matches_hash(hosts, name)
    name = name.lower()
    found = False
    for pattern in hosts.lower().split(","):
        bare = pattern.removeprefix("!")
        # fnmatch would take [host]:22 for a set of characters.
        if fnmatch.fnmatchcase(name, bare.replace("[", "[[]")):
            if pattern.startswith("!"):
                return False
            found = True
    return found


def _matches_hash(hosts: str, name: str) -> bool:
    try:
        salt, wanted = (base64.b64decode(part) for part in hosts.split("|")[2:4])
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(hmac.new(salt, name.encode(), hashlib.sha1).digest(), wanted)
