"""Reads OpenSSH's configuration files into one text that the library underneath can parse: includes put in, and
lines that it would stumble over (new kinds of `Match`, keywords without a value) left out.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

_LINE = re.compile(r"\s*([A-Za-z0-9]+)(?:\s*=\s*|\s+)(\S.*?)\s*$")
_CONDITIONS = frozenset({"all", "canonical", "exec", "final", "host", "localuser", "originalhost", "user"})
_WITHOUT_VALUE = frozenset({"all", "canonical", "final"})
_NEVER = "Host !*"
_DEPTH = 16  # as OpenSSH


def config_text(user: Path | None = None) -> str:
    """The user's configuration (`~/.ssh/config`, or `user` alone as with `ssh -F`), then the system's."""
    if user is not None:
        return "\n".join(_lines(user, user.parent, 0))
    home = Path("~/.ssh").expanduser()
    system = Path("/etc/ssh")
    return "\n".join([*_lines(home / "config", home, 0), "Host *", *_lines(system / "ssh_config", system, 0)])


def _lines(file: Path, folder: Path, depth: int) -> Iterator[str]:
    """A file's lines; `folder` is where relative includes lie. A file that cannot be read is empty."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    section = "Host *"
    for line in text.splitlines():
        parts = _LINE.match(line)
        if parts is None or line.lstrip().startswith("#"):
            continue
        keyword, value = parts.group(1).lower(), parts.group(2)
        if keyword == "include" and depth < _DEPTH:
            for included in _included(value, folder):
                yield from _lines(included, folder, depth + 1)
            yield section  # what follows belongs to the section around the include again
            continue
        if keyword in ("host", "match"):
            section = line = line.strip() if keyword == "host" or _can_match(value) else _NEVER
        yield line


def _included(value: str, folder: Path) -> Iterator[Path]:
    try:
        patterns = shlex.split(value)
    except ValueError:
        return
    for pattern in patterns:
        path = Path(os.path.expandvars(pattern)).expanduser()
        base = Path("/") if path.is_absolute() else folder
        relative = str(path.relative_to("/")) if path.is_absolute() else str(path)
        yield from sorted(found for found in base.glob(relative) if found.is_file())


def _can_match(value: str) -> bool:
    try:
        words = shlex.split(value)
    except ValueError:
        return False
    while words:
        condition = words.pop(0).lower().removeprefix("!")
        if condition not in _CONDITIONS:
            return False
        if condition not in _WITHOUT_VALUE:
            if not words:
                return False
            words.pop(0)
    return True
