"""Vault passwords by id: from files, from programs, from a person; fetched when first needed, once."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterable
from dataclasses import field
from pathlib import Path

from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError, suggest
from cleanslate.model import origin_of
from cleanslate.vault.envelope import DEFAULT_ID, Envelope, parse_envelope, seal, unseal

Prompt = Callable[[str], str]
"""Given an id, ask a person for its password."""

PROMPTS = ("prompt", "prompt_ask_vault_pass")
MOST_SECONDS = 120


@dataclass
class Key:
    """One password: its id, where it comes from in words, and how to fetch it."""

    id: str
    source: str
    fetch: Callable[[], bytes]
    _password: bytes | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def password(self) -> bytes:
        """The password; fetched the first time. Raises InputError when it cannot be had."""
        with self._lock:
            if self._password is None:
                self._password = self.fetch()
                if not self._password:
                    self._password = None
                    raise InputError(f'the vault password for id "{self.id}" from {self.source} is empty')
            return self._password


class VaultKeys:
    """The passwords of a run. Safe for use by several threads."""

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self.keys = list(keys)
        self._opened: dict[str, bytes] = {}

    @classmethod
    def from_sources(cls, sources: Iterable[str], *, prompt: Prompt | None = None) -> VaultKeys:
        """Read `ID@SOURCE`, or `SOURCE` for the id `default`; SOURCE is a file, a program, or `prompt`.

        Nothing is asked or run yet, but a missing file is found here. Raises InputError with all that is wrong.
        """
        keys, problems = [], []
        for text in sources:
            try:
                keys.append(_key(text, prompt))
            except InputError as error:
                problems.extend(error.problems)
        if problems:
            raise InputError(problems=problems)
        return cls(keys)

    def decrypt(self, text: str) -> str:
        """Give the text of an envelope. Raises InputError that says which ids were tried."""
        try:
            return self.decrypt_bytes(text).decode("utf-8")
        except UnicodeDecodeError:
            raise InputError("the encrypted content is not UTF-8 text", origin=origin_of(text)) from None

    def decrypt_bytes(self, text: str) -> bytes:
        """Give the bytes of an envelope. Raises InputError that says which ids were tried."""
        known = self._opened.get(text)
        if known is None:
            known = self._opened[text] = self.open(text)[0]
        return known

    def open(self, text: str) -> tuple[bytes, Key]:
        """Give the bytes of an envelope, and the key that opened it."""
        try:
            envelope = parse_envelope(text)
        except InputError as error:
            raise InputError(error.what, origin=origin_of(text), fix=error.fix) from None
        for key in self._in_order(envelope):
            plain = unseal(envelope, key.password)
            if plain is not None:
                return plain, key
        raise InputError(self._refused(envelope), origin=origin_of(text), fix=self._advice(envelope))

    def encrypt(self, text: str | bytes, vault_id: str | None = None) -> str:
        """Make an envelope with the key of that id, or with the only key there is."""
        key = self.key(vault_id)
        return seal(text.encode("utf-8") if isinstance(text, str) else text, key.password, key.id)

    def key(self, vault_id: str | None = None) -> Key:
        """The key to encrypt with: that of the id (the first of several), or the only one."""
        if not self.keys:
            raise InputError(
                "there is no vault password to encrypt with", fix="give --vault-password-file or --vault-id"
            )
        if vault_id is None:
            if len({key.id for key in self.keys}) > 1:
                ids = ", ".join(key.id for key in self.keys)
                raise InputError(f"several vault ids were given: {ids}", fix="say which one to encrypt with")
            return self.keys[0]
        found = next((key for key in self.keys if key.id == vault_id), None)
        if found is None:
            known = [key.id for key in self.keys]
            fix = suggest(vault_id, known) or f"there are: {', '.join(known)}"
            raise InputError(f'no vault password was given for id "{vault_id}"', fix=fix)
        return found

    def _in_order(self, envelope: Envelope) -> list[Key]:
        """The key that the envelope names first, then the others: ids are labels, not promises."""
        return sorted(self.keys, key=lambda key: key.id != envelope.id)

    def _refused(self, envelope: Envelope) -> str:
        named = f'id "{envelope.id}"' if envelope.id else "no id"
        if not self.keys:
            return f"this is encrypted with a vault password ({named}), and none was given"
        tried = ", ".join(f'"{key.id}" from {key.source}' for key in self.keys)
        return f"no vault password opens this envelope, which names {named}; tried {tried}"

    def _advice(self, envelope: Envelope) -> str:
        if envelope.id and envelope.id not in [key.id for key in self.keys]:
            return f"give its password with --vault-id {envelope.id}@FILE"
        return "give the right one with --vault-password-file FILE" if self.keys else "give --vault-password-file FILE"


def _key(text: str, prompt: Prompt | None) -> Key:
    vault_id, at, source = text.partition("@")
    if not at:
        vault_id, source = DEFAULT_ID, text
    vault_id = vault_id or DEFAULT_ID
    if source in PROMPTS:
        if prompt is None:
            raise InputError(
                f'nobody can be asked for the vault password of id "{vault_id}"', fix="give a file instead"
            )
        ask = prompt
        return Key(vault_id, "the prompt", lambda: ask(vault_id).encode("utf-8"))
    path = Path(source).expanduser()
    if not path.is_file():
        raise InputError(f'the vault password file "{path}" does not exist', fix="give a file, a program, or prompt")
    if _is_program(path):
        return Key(vault_id, f"the program {path}", lambda: _run(path, vault_id))
    return Key(vault_id, f"the file {path}", lambda: _read(path))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes().strip()
    except OSError as error:
        raise InputError(f'the vault password file "{path}" cannot be read: {error.strerror or error}') from None


def _is_program(path: Path) -> bool:
    if not os.access(path, os.X_OK):
        return False
    try:
        with path.open("rb") as stream:
            return stream.read(4).startswith((b"#!", b"\x7fELF"))
    except OSError:  # executable and not readable
        return True


def _run(path: Path, vault_id: str) -> bytes:
    """Ask a program; one whose name ends in `-client` is told the id, as Ansible does."""
    command = [str(path.absolute())]
    if path.stem.endswith("-client"):
        command += ["--vault-id", vault_id]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=MOST_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f'the vault password program "{path}" cannot be run: {error}') from None
    if done.returncode:
        raise InputError(
            f'the vault password program "{path}" ended with exit code {done.returncode} for id "{vault_id}"',
            fix="run it and look",
        )
    return done.stdout.strip(b"\r\n")
