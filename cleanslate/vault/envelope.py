"""The vault envelope: `$ANSIBLE_VAULT;1.1;AES256` or `1.2` with an id, then hexadecimal lines.

Inside: a salt, an HMAC-SHA256 and the text, enciphered with AES-256 in counter mode; the keys come from the
password by PBKDF2-HMAC-SHA256 with 10,000 rounds.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import os

from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError

HEADER = "$ANSIBLE_VAULT"
DEFAULT_ID = "default"

_ROUNDS = 10_000
_LINE = 80
_BLOCK = 16


@dataclass(frozen=True)
class Envelope:
    """An envelope taken apart. `id` is None where it names none (version 1.1)."""

    id: str | None
    salt: bytes
    digest: bytes
    ciphertext: bytes


def is_envelope(text: str) -> bool:
    """Whether a text is a vault envelope, by its first line."""
    return text.startswith(HEADER + ";")


def parse_envelope(text: str) -> Envelope:
    """Take an envelope apart. Raises InputError when it is damaged, or of a kind that nobody writes any more."""
    lines = text.strip().splitlines()
    if not lines or not is_envelope(lines[0]):
        raise InputError("this is not encrypted: it does not begin with $ANSIBLE_VAULT")
    header = [part.strip() for part in lines[0].split(";")]
    if len(header) < 3 or header[1] not in ("1.1", "1.2"):
        raise InputError(f'the vault header "{lines[0]}" is not of version 1.1 or 1.2')
    if header[2] != "AES256":
        raise InputError(f'the vault cipher "{header[2]}" is unknown', fix="rekey it with ansible-vault to AES256")
    try:
        salt, digest, ciphertext = (
            binascii.unhexlify(part)
            for part in binascii.unhexlify("".join(line.strip() for line in lines[1:])).split(b"\n", 2)
        )
    except ValueError:
        raise InputError("the vault envelope is damaged: its lines are not what encrypting writes") from None
    return Envelope(header[3] if len(header) > 3 and header[3] else None, salt, digest, ciphertext)


def seal(plain: bytes, password: bytes, vault_id: str | None, *, salt: bytes | None = None) -> str:
    """Encrypt; the id is written down unless it is the default one. Without a salt, another one each time."""
    salt = os.urandom(32) if salt is None else salt
    cipher_key, digest_key, counter = _keys(password, salt)
    padding = _BLOCK - len(plain) % _BLOCK
    ciphertext = _cipher(plain + bytes([padding]) * padding, cipher_key, counter)
    digest = hmac.new(digest_key, ciphertext, hashlib.sha256).digest()
    inner = b"\n".join(binascii.hexlify(part) for part in (salt, digest, ciphertext))
    body = binascii.hexlify(inner).decode("ascii")
    named = vault_id if vault_id and vault_id != DEFAULT_ID else None
    header = f"{HEADER};1.2;AES256;{named}" if named else f"{HEADER};1.1;AES256"
    return "\n".join([header, *(body[start : start + _LINE] for start in range(0, len(body), _LINE)), ""])


def unseal(envelope: Envelope, password: bytes) -> bytes | None:
    """Decrypt; None when the password is not the envelope's."""
    cipher_key, digest_key, counter = _keys(password, envelope.salt)
    digest = hmac.new(digest_key, envelope.ciphertext, hashlib.sha256).digest()
    if not hmac.compare_digest(digest, envelope.digest):
        return None
    padded = _cipher(envelope.ciphertext, cipher_key, counter)
    return padded[: -padded[-1]] if padded else b""


def _keys(password: bytes, salt: bytes) -> tuple[bytes, bytes, bytes]:
    """The key of the cipher, that of the digest, and the counter's first value."""
    derived = hashlib.pbkdf2_hmac("sha256", password, salt, _ROUNDS, 32 + 32 + _BLOCK)
    return derived[:32], derived[32:64], derived[64:]


def _cipher(data: bytes, key: bytes, counter: bytes) -> bytes:
    """AES-256 in counter mode, which is its own inverse."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    encryptor = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
    return encryptor.update(data) + encryptor.finalize()
