"""Lookups that draw lots: a choice, and passwords that are kept in files of this machine."""

from __future__ import annotations

import random
import secrets
import string
from pathlib import Path
from typing import Any

from cleanslate.errors import RenderError
from cleanslate.render.lookups import Lookups
from cleanslate.render.lookups.words import key_values

_CHARS = ["ascii_letters", "digits", ".,:-_"]


def random_choice(lookups: Lookups, terms: list[Any]) -> list[Any]:
    """One of the terms."""
    return [secrets.choice(terms)] if terms else []


def password(
    lookups: Lookups,
    terms: list[Any],
    length: Any = 20,
    chars: Any = None,
    encrypt: Any = None,
    seed: Any = None,
    ident: Any = None,
) -> list[Any]:
    """A random password, made once and kept in the named file; `/dev/null` keeps nothing."""
    given = {"length": length, "chars": chars, "encrypt": encrypt, "seed": seed, "ident": ident}
    found = []
    for term in terms:
        name, words = key_values(str(term))
        if unknown := set(words) - set(given):
            raise RenderError(f'password has no option "{sorted(unknown)[0]}"', fix=f"it has {', '.join(given)}")
        found.append(_password(lookups, name, {**given, **words}))
    return found


def _password(lookups: Lookups, name: str, options: dict[str, Any]) -> str:
    path = Path(name).expanduser()
    if not path.is_absolute():
        folders = lookups.renderer.lookup_paths("files")
        path = (folders[-1] if folders else Path.cwd()) / path
    text, salt = _kept(path)
    if text is None:
        text = _made(options)
    method = options["encrypt"]
    if method and salt is None:
        salt = "".join(secrets.choice(string.ascii_letters + string.digits + "./") for _ in range(16))
    if lookups.renderer.secrets is not None:
        lookups.renderer.secrets.add(text)
    if str(path) != "/dev/null":
        _keep(path, f"{text} salt={salt}" if method else text)
    if not method:
        return text
    from cleanslate.render.filters.hashes import password_hash

    return password_hash(text, str(method), salt)


def _kept(path: Path) -> tuple[str | None, str | None]:
    if str(path) == "/dev/null" or not path.exists():
        return None, None
    content = path.read_text(encoding="utf-8").rstrip("\n")
    text, _, salt = content.partition(" salt=")
    return text, salt.partition(" ")[0] or None


def _keep(path: Path, content: str) -> None:
    if path.exists() and path.read_text(encoding="utf-8").rstrip("\n") == content:
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600, exist_ok=True)
    path.write_text(content + "\n", encoding="utf-8")


def _made(options: dict[str, Any]) -> str:
    try:
        size = int(options["length"])
    except (TypeError, ValueError):
        raise RenderError(f"password: the length {options['length']!r} is no number") from None
    letters = _letters(options["chars"])
    source = random.SystemRandom() if options["seed"] is None else random.Random(options["seed"])
    return "".join(source.choice(letters) for _ in range(size))


def _letters(chars: Any) -> str:
    """The characters: names of string's constants (`ascii_letters`, `digits`), or the characters themselves."""
    if chars is None:
        chars = _CHARS
    if isinstance(chars, str):
        comma = "," if ",," in chars else ""
        chars = [*(part for part in chars.replace(",,", ",").split(",") if part), comma]
    letters = "".join(getattr(string, part, part) if part.isidentifier() else part for part in map(str, chars))
    letters = letters.replace('"', "").replace("'", "")
    if not letters:
        raise RenderError("password: there are no characters to choose from")
    return letters


FUNCTIONS = {"password": password, "random_choice": random_choice}
