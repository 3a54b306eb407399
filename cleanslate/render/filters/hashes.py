"""Filters for digests, and for password hashes as Unix systems keep them."""

from __future__ import annotations

import ctypes
import hashlib
import secrets
import string
import threading
from typing import Any

from cleanslate.errors import RenderError

_SALT_LETTERS = string.ascii_letters + string.digits + "./"
_CRYPT = {"sha512": "6", "sha256": "5"}
_MOST_SALT = 16
_UNWRITTEN_ROUNDS = 5000
_one_at_a_time = threading.Lock()  # crypt(3) answers in one buffer for all
_DEFAULT_ROUNDS = {"sha512": 656000, "sha256": 535000}  # those that Ansible writes


def digest(data: Any, hashtype: str = "sha1") -> str | None:
    """The digest of a text, in hexadecimal."""
    try:
        made = hashlib.new(hashtype, usedforsecurity=False)
    except ValueError:
        raise RenderError(f'hash: there is no digest "{hashtype}"', fix="write sha256, sha1, md5, ...") from None
    made.update(data if isinstance(data, bytes) else str(data).encode("utf-8", "surrogateescape"))
    return made.hexdigest()


def _fixed(hashtype: str) -> Any:
    return lambda data: digest(data, hashtype)


def password_hash(
    password: Any,
    hashtype: str = "sha512",
    salt: Any = None,
    salt_size: int | None = None,
    rounds: int | None = None,
    ident: Any = None,
) -> str:
    """A password's hash for /etc/shadow; without a salt, another one each time."""
    if not isinstance(password, str):
        raise RenderError(f"password_hash wants text, not {type(password).__name__}")
    if hashtype not in _CRYPT:
        raise RenderError(f'password_hash: "{hashtype}" is not supported', fix="write sha512 or sha256")
    if salt is None:
        salt = "".join(secrets.choice(_SALT_LETTERS) for _ in range(salt_size or _MOST_SALT))
    salt = str(salt)
    if not salt or len(salt) > _MOST_SALT or not set(salt) <= set(_SALT_LETTERS):
        raise RenderError("password_hash: a salt is 1 to 16 letters, digits, dots and slashes")
    turns = rounds or _DEFAULT_ROUNDS[hashtype]
    turns_text = "" if turns == _UNWRITTEN_ROUNDS else f"rounds={turns}$"
    with _one_at_a_time:
        return _crypt(password, f"${_CRYPT[hashtype]}${turns_text}{salt}")


def _crypt(password: str, setting: str) -> str:
    """Ask the system's own crypt(3), which Python no longer brings."""
    for name in ("libcrypt.so.1", "libcrypt.so.2", "libcrypt.so"):
        try:
            function = ctypes.CDLL(name).crypt
        except (OSError, AttributeError):
            continue
        function.restype = ctypes.c_char_p
        function.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        found: bytes | None = function(password.encode(), setting.encode())
        if found and found.startswith(setting[:3].encode()):
            return found.decode("ascii")
    raise RenderError(
        "password_hash needs the system's libcrypt, which is not here",
        fix="make the hash once (openssl passwd -6) and keep it as a !vault value",
    )


FUNCTIONS = {
    "checksum": _fixed("sha1"),
    "hash": digest,
    "md5": _fixed("md5"),
    "password_hash": password_hash,
    "sha1": _fixed("sha1"),
}
