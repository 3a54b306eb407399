"""`inv vault`: files and values encrypted as ansible-vault does it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from cleanslate.cli.vault_options import read_keys
from cleanslate.errors import InputError, suggest

ACTIONS = ("encrypt", "decrypt", "view", "edit", "rekey", "encrypt-string")
_ASKED = ("default@prompt",)


def vault(action: str, name: str, sources: Sequence[str], new_source: str | None) -> int:
    """Do one of ACTIONS with a file. For encrypt-string the name is the variable's: its value is asked for, or read
    from standard input, and never an argument, since every process can read those.
    """
    from cleanslate import vault as room

    if action not in ACTIONS:
        raise InputError(
            f'inv vault knows no "{action}"', fix=suggest(action, ACTIONS) or f"one of {', '.join(ACTIONS)}"
        )
    if not name:
        raise InputError(
            f"inv vault {action} needs {'the name of a variable' if action == 'encrypt-string' else 'a file'}"
        )
    keys = read_keys(sources, _ASKED)
    path = Path(name).expanduser()
    if action == "encrypt-string":
        print(room.encrypt_string(_value(name), keys, name=name))
    elif action == "view":
        sys.stdout.write(room.view_file(path, keys))
    elif action == "edit":
        room.edit_file(path, keys, _edit)
    elif action == "encrypt":
        room.encrypt_files([path], keys)
        print(f"{path} is encrypted")
    elif action == "decrypt":
        room.decrypt_files([path], keys)
        print(f"{path} is decrypted")
    else:
        room.rekey_files([path], keys, read_keys([new_source] if new_source else _ASKED))
        print(f"{path} has a new key")
    return 0


def _value(name: str) -> str:
    """The value to encrypt: typed unseen at a terminal, else all of standard input."""
    if not sys.stdin.isatty():
        return sys.stdin.read()
    import getpass

    return getpass.getpass(f"Value of {name}: ")


def _edit(path: Path) -> None:
    """Open the person's editor, and wait for it."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    code = subprocess.run(["/bin/sh", "-c", f'{editor} "$1"', "sh", str(path)]).returncode
    if code:
        raise InputError(f"the editor ended with {code}; nothing was changed")
