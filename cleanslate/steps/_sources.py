"""Files of the controller that are sent to a target: their digests, and vault files decrypted."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cleanslate.errors import StepFailed
from cleanslate.steps.contract import StepContext

_ENVELOPE = b"$ANSIBLE_VAULT;"


def is_vault(path: Path) -> bool:
    """Whether a file is a vault envelope as a whole."""
    try:
        with path.open("rb") as file:
            return file.read(len(_ENVELOPE)) == _ENVELOPE
    except OSError as error:
        raise unreadable(path, error) from error


def content(path: Path, context: StepContext) -> bytes:
    """A file's bytes, decrypted where it is a vault envelope."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    return context.decrypt(data.decode("ascii")).encode() if data.startswith(_ENVELOPE) else data


def digest(path: Path) -> str:
    """The SHA-1 of a file of any size."""
    return _digest(path, "sha1")


def md5(path: Path) -> str | None:
    """The MD5 of a file of any size; None where the system forbids MD5."""
    try:
        return _digest(path, "md5")
    except ValueError:
        return None


def _digest(path: Path, algorithm: str) -> str:
    found = hashlib.new(algorithm, usedforsecurity=False)
    try:
        with path.open("rb") as file:
            for piece in iter(lambda: file.read(1 << 20), b""):
                found.update(piece)
    except OSError as error:
        raise unreadable(path, error) from error
    return found.hexdigest()


def mode(path: Path) -> str:
    """A file's permission bits, for `mode: preserve`."""
    return f"{path.stat().st_mode & 0o7777:04o}"


def unreadable(path: Path, error: OSError) -> StepFailed:
    """The failure for a controller's file that cannot be read."""
    return StepFailed(f"{path} cannot be read on the controller: {(error.strerror or str(error)).lower()}")
