"""Filters that encrypt and decrypt with a password of their own, as ansible-vault does."""

from __future__ import annotations

from typing import Any

from cleanslate.errors import InputError, RenderError


def vault(data: Any, secret: Any, salt: Any = None, vault_id: str = "filter_default", wrap_object: bool = False) -> str:
    """A text as a vault envelope; without a salt, another one each time."""
    from cleanslate.vault.envelope import seal

    plain, password = _text(data, "vault"), _text(secret, "the password of vault")
    given = None if salt is None else _text(salt, "the salt of vault")
    return seal(plain, password, vault_id, salt=given).removesuffix("\n") + "\n"


def unvault(data: Any, secret: Any, vault_id: str = "filter_default", vaultid: Any = None) -> str:
    """The text in a vault envelope; a text that is none is given back as it is."""
    from cleanslate.vault.envelope import is_envelope, parse_envelope, unseal

    text, password = _text(data, "unvault").decode(), _text(secret, "the password of unvault")
    if not is_envelope(text):
        return text
    try:
        plain = unseal(parse_envelope(text), password)
    except InputError as error:
        raise RenderError(f"unvault: {error.what}", fix=error.fix) from None
    if plain is None:
        raise RenderError("unvault: the password does not open this")
    return plain.decode("utf-8", "replace")


def _text(value: Any, what: str) -> bytes:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise RenderError(f"{what} wants text, not {type(value).__name__}")
    return value.encode("utf-8", "surrogateescape")


FUNCTIONS = {"vault": vault, "unvault": unvault}
