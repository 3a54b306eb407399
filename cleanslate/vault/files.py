"""Encrypts, decrypts, rekeys and edits files, each replaced whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from cleanslate.errors import InputError, Origin, Problem
from cleanslate.vault.envelope import HEADER, is_envelope
from cleanslate.vault.keys import VaultKeys


def encrypt_files(
    paths: Sequence[Path], keys: VaultKeys, *, vault_id: str | None = None, output: Path | None = None
) -> None:
    """Encrypt files in place, or one file into `output`. When one cannot be, none is touched."""

    def content(path: Path) -> bytes:
        plain = path.read_bytes()
        if is_envelope(plain[:80].decode("utf-8", "replace")):
            raise InputError("the file is encrypted already", fix="rekey it to change its password")
        return keys.encrypt(plain, vault_id).encode("ascii")

    _replace_all(paths, content, output)


def decrypt_files(paths: Sequence[Path], keys: VaultKeys, *, output: Path | None = None) -> None:
    """Decrypt files in place, or one file into `output`. When one cannot be, none is touched."""
    _replace_all(paths, lambda path: keys.decrypt_bytes(_envelope(path)), output)


def rekey_files(paths: Sequence[Path], keys: VaultKeys, new: VaultKeys, *, vault_id: str | None = None) -> None:
    """Encrypt files anew with a key of `new`. When one cannot be opened, none is touched."""
    _replace_all(paths, lambda path: new.encrypt(keys.decrypt_bytes(_envelope(path)), vault_id).encode("ascii"), None)


def view_file(path: Path, keys: VaultKeys) -> str:
    """Give the text of an encrypted file."""
    with _at(path):
        return keys.decrypt(_envelope(path))


def edit_file(path: Path, keys: VaultKeys, edit: Callable[[Path], None]) -> bool:
    """Let `edit` change the plain text in a private file; gives whether it did. The key stays the same.

    The private file is gone afterwards, also when `edit` fails.
    """
    with _at(path):
        before, key = keys.open(_envelope(path))
    with tempfile.TemporaryDirectory(prefix="cleanslate-") as folder:
        private = Path(folder) / path.name
        private.touch(mode=0o600)
        private.write_bytes(before)
        edit(private)
        with _at(path):
            after = private.read_bytes()
    if after == before:
        return False
    replace_file(path, VaultKeys([key]).encrypt(after).encode("ascii"))
    return True


def encrypt_string(text: str, keys: VaultKeys, *, name: str | None = None, vault_id: str | None = None) -> str:
    """Give a value for a variable file: `name: !vault |` and the envelope, indented as ansible-vault does."""
    lines = keys.encrypt(text, vault_id).splitlines()
    first = f"{name}: !vault |" if name else "!vault |"
    return "\n".join([first, *(f"          {line}" for line in lines), ""])


def replace_file(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, keeping mode and owner; a link keeps pointing to it. A new file is private."""
    target = path.resolve()
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            status = target.stat()
            temporary.chmod(status.st_mode & 0o7777)
            with contextlib.suppress(PermissionError):  # a file of someone else's becomes ours, as with any editor
                os.chown(temporary, status.st_uid, status.st_gid)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _replace_all(paths: Sequence[Path], content: Callable[[Path], bytes], output: Path | None) -> None:
    """Work everything out first, telling all mistakes; then write."""
    if output is not None and len(paths) != 1:
        raise InputError("an output file is for one input file", fix="leave it out to change the files in place")
    made: dict[Path, bytes] = {}
    problems: list[Problem] = []
    for path in paths:
        try:
            with _at(path):
                made[path] = content(path)
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(problems=problems)
    for path, data in made.items():
        replace_file(output or path, data)


def _envelope(path: Path) -> str:
    text = path.read_bytes().decode("utf-8", "replace")
    if not is_envelope(text):
        raise InputError(f"the file is not encrypted: it does not begin with {HEADER}")
    return text


@contextlib.contextmanager
def _at(path: Path) -> Iterator[None]:
    """Errors within say which file they are about."""
    try:
        yield
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror or error}", origin=Origin(str(path))) from None
    except InputError as error:
        raise InputError(error.what, origin=Origin(str(path)), fix=error.fix) from None
