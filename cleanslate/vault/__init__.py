"""Secrets in the repository: ansible-vault's files and values, read and written byte for byte as it does."""

from cleanslate.vault.envelope import is_envelope
from cleanslate.vault.files import decrypt_files, edit_file, encrypt_files, encrypt_string, rekey_files, view_file
from cleanslate.vault.keys import VaultKeys

__all__ = [
    "VaultKeys",
    "decrypt_files",
    "edit_file",
    "encrypt_files",
    "encrypt_string",
    "is_envelope",
    "rekey_files",
    "view_file",
]
