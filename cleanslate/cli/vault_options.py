"""The keys of vaults: from the command line, else from where the environment says that the password is."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from cleanslate.errors import InputError
from cleanslate.redaction import Secrets
from cleanslate.vault import VaultKeys
from cleanslate.yamlfile import load_yaml_text


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
    keys = read_keys(sources)

    def decrypt(envelope: str) -> str:
        text = keys.decrypt(envelope)
        secrets.add(text.strip())
        for value in _values(text):
            secrets.add(value, "a value of a vault")
        return text

    return decrypt


def read_keys(sources: Sequence[str], otherwise: Sequence[str] = ()) -> VaultKeys:
    """The keys of `id@source`s; where none is given those of ANSIBLE_VAULT_PASSWORD_FILE, and `otherwise` last."""
    fallback = os.environ.get("ANSIBLE_VAULT_PASSWORD_FILE")
    given = list(sources) or ([f"default@{fallback}"] if fallback else otherwise)
    return VaultKeys.from_sources(given, prompt=lambda name: getpass.getpass(f"Vault password ({name}): "))


def _values(text: str) -> Iterator[str]:
    """What of a decrypted text is secret by itself: each value of a file of variables, each line of any other text."""
    try:
        content = load_yaml_text(text, "vault")
    except InputError:
        content = text
    if isinstance(content, Mapping | list):
        yield from _leaves(content)
    else:
        yield from (line.strip() for line in text.splitlines())


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value).strip()
