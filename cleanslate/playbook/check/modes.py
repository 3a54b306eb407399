"""File modes that were written as numbers and mean another mode than they seem to."""

from __future__ import annotations

import linecache
import re

from cleanslate.errors import Origin, Problems
from cleanslate.playbook.check.survey import Found

_NAMES = ("mode", "directory_mode")


def check_modes(found: Found, problems: Problems) -> None:
    """Warn of `mode: 644`: YAML reads a decimal number there, which is the mode 1204. `0644` is octal to it."""
    for name in _NAMES:
        value = found.step.args.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            continue
        origin = found.step.args.value_origin(name)
        written = _written(origin) if origin else ""
        if re.fullmatch(r"[1-7][0-7]{2,3}", written):
            what = f'{found.subject}: "{name}: {written}" is a decimal number to YAML, and the mode {value:04o}'
            problems.add(what, origin, fix=f'write "0{written}", in quotes', severity="warning", code="octal-mode")


def _written(origin: Origin) -> str:
    """The word that stands at a place of the sources."""
    line = linecache.getline(origin.file, origin.line)[origin.column - 1 :]
    return re.split(r"[\s,}\]#]", line, maxsplit=1)[0]
