"""YAML text -> data that knows its file, line and column.

Read as Ansible reads it: YAML 1.1 (`yes` is true, `0644` is 420), `!vault` and `!unsafe`, anchors and merge
keys. What Ansible lets pass and people regret is refused: duplicate keys. Text comes back as `SourceText`, maps
and lists as `SourceMap` and `SourceList`, everything else as what it is (int, float, bool, None, date).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cleanslate.errors import InputError, Origin
from cleanslate.yamlfile.build import VAULT_HEADER, build

Decrypt = Callable[[str], str]
"""Given the text of a vault envelope (`$ANSIBLE_VAULT;...`), give the plain text, and register it as a secret."""

MOST_BYTES = 10_000_000


def load_yaml(path: Path, *, vault: Decrypt | None = None) -> Any:
    """Read one YAML document from a file; None when the file is empty.

    A file that is encrypted as a whole is decrypted first. InputError lists every mistake that can be told apart
    (after a syntax error, that is the first one only).
    """
    file = shown_path(path)
    return load_yaml_text(read_text(path, vault=vault), file, vault=vault)


def load_yaml_text(text: str, file: str, *, vault: Decrypt | None = None, first_line: int = 1) -> Any:
    """Read one YAML document from text; `file` and `first_line` are where errors say it stands."""
    return build(text, file, vault, first_line)


def load_foreign(text: str) -> Any:
    """Read YAML that is not of this repository, fast and without places; ValueError where it cannot be read."""
    import yaml

    try:
        return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


def read_text(path: Path, *, vault: Decrypt | None = None) -> str:
    """Give a file's text, decrypted if it is encrypted as a whole; InputError if it cannot be read as UTF-8."""
    file = shown_path(path)
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot read the file: {reason}", origin=Origin(file)) from None
    if len(data) > MOST_BYTES:
        raise InputError(
            f"the file is larger than {MOST_BYTES // 1_000_000} MB",
            origin=Origin(file),
            fix="keep data of that size outside the playbook",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8-sig", "replace")
        line, column = good.count("\n") + 1, len(good) - good.rfind("\n")
        raise InputError(
            f"the file is not UTF-8 text (byte 0x{data[error.start]:02x})",
            origin=Origin(file, line, column),
            fix="save it as UTF-8",
        ) from None
    if not text.startswith(VAULT_HEADER):
        return text
    if vault is None:
        raise InputError(
            "the file is encrypted, and no vault password was given",
            origin=Origin(file),
            fix="give --vault-password-file or --ask-vault-password",
        )
    return vault(text)


def shown_path(path: Path) -> str:
    """A path as errors show it: relative to the current folder where it lies below it."""
    text = str(path)
    here = str(Path.cwd())
    return text[len(here) + 1 :] if text.startswith(here + "/") else text


__all__ = ["Decrypt", "load_yaml", "load_yaml_text", "load_foreign", "read_text", "shown_path", "MOST_BYTES"]
