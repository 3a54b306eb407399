"""The vault options of the command line, as keys."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Sequence
from typing import Protocol

from cleanslate.redaction import Secrets
from cleanslate.vault import VaultKeys


class VaultOptions(Protocol):
    """The options that several tasks share."""

    vault_id: Sequence[str]
    vault_password_file: Sequence[str]
    ask_vault_password: bool


def vault_keys(options: VaultOptions, secrets: Secrets) -> Callable[[str], str]:
    """Read the keys; gives the function that decrypts an envelope and keeps what it held from being shown."""
    sources = list(options.vault_id) + [f"default@{path}" for path in options.vault_password_file]
    if options.ask_vault_password:
        sources.append("default@prompt")
    fallback = os.environ.get("ANSIBLE_VAULT_PASSWORD_FILE")
    if not sources and fallback:
        sources = [f"default@{fallback}"]
    keys = VaultKeys.from_sources(sources, prompt=lambda name: getpass.getpass(f"Vault password ({name}): "))

    def decrypt(envelope: str) -> str:
        text = keys.decrypt(envelope)
        for line in (text, *text.splitlines()):
            secrets.add(line.strip())
        return text

    return decrypt
