"""Lookups of variables, of this machine's environment, and of what its commands print."""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
from collections.abc import Mapping
from typing import Any

from cleanslate.errors import RenderError, suggest
from cleanslate.render.lookups import Lookups
from cleanslate.render.marks import Undefined
from cleanslate.render.variables import MISSING


def undefined(what: str, fix: str | None = None) -> Any:
    """An undefined value that says why it is one."""
    from cleanslate.render.undefined import UndefinedValue

    return UndefinedValue(hint=f"{what}; {fix}" if fix else what)


def env(lookups: Lookups, terms: list[Any], default: Any = "") -> list[Any]:
    """Environment variables of this machine; the default is the empty text."""
    found: list[Any] = []
    for term in terms:
        name = str(term).split()[0] if str(term).split() else ""
        value = os.environ.get(name, default)
        if isinstance(value, Undefined):
            value = undefined(f'the environment variable "{name}" is not set')
        found.append(value)
    return found


def run_pipe(lookups: Lookups, command: Any) -> str:
    """What a shell command of this machine prints, without blanks at its end."""
    folders = lookups.renderer.lookup_paths("files")
    here = folders[-1] if folders and folders[-1].is_dir() else None
    done = subprocess.run(str(command), shell=True, cwd=here, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise RenderError(f"the command ended with {done.returncode}: {command}")
    return done.stdout.decode("utf-8", "replace").rstrip()


def pipe(lookups: Lookups, terms: list[Any]) -> list[Any]:
    """What shell commands of this machine print."""
    return [run_pipe(lookups, term) for term in terms]


def lines(lookups: Lookups, terms: list[Any]) -> list[Any]:
    """The lines that shell commands of this machine print."""
    return [line for term in terms for line in run_pipe(lookups, term).splitlines()]


def variables(lookups: Lookups, terms: list[Any], default: Any = None) -> list[Any]:
    """Variables, by name."""
    found: list[Any] = []
    for term in terms:
        if not isinstance(term, str):
            raise RenderError(f"vars wants the names of variables, not {type(term).__name__}")
        value = lookups.variables.resolve(term)
        if value is MISSING:
            hint = suggest(term, lookups.variables)
            value = undefined(f'no variable is named "{term}"', hint) if default is None else default
        found.append(value)
    return found


def varnames(lookups: Lookups, terms: list[Any]) -> list[Any]:
    """The names of variables that regular expressions find."""
    names = list(lookups.variables)
    found = []
    for term in terms:
        try:
            pattern = re.compile(str(term))
        except re.error as error:
            raise RenderError(f'"{term}" is no regular expression: {error}') from None
        found += [name for name in names if pattern.search(name)]
    return found


def inventory_hostnames(lookups: Lookups, terms: list[Any]) -> list[Any]:
    """The hosts that a pattern (`a:&b:!c`) names."""
    groups = lookups.variables.get("groups", {})
    if not isinstance(groups, Mapping):
        return []
    found: dict[str, None] = {}
    for part in [part for term in terms for part in re.split(r"[,:]", str(term)) if part]:
        hosts = _hosts_of(part.lstrip("!&"), groups)
        if part.startswith("!"):
            found = {name: None for name in found if name not in hosts}
        elif part.startswith("&"):
            found = {name: None for name in found if name in hosts}
        else:
            found.update(dict.fromkeys(hosts))
    return list(found)


def _hosts_of(pattern: str, groups: Mapping[str, Any]) -> list[str]:
    hosts = [host for name, members in groups.items() if fnmatch.fnmatchcase(name, pattern) for host in members]
    everyone = groups.get("all", [])
    return [*hosts, *(host for host in everyone if fnmatch.fnmatchcase(host, pattern))]


FUNCTIONS = {
    "env": env,
    "inventory_hostnames": inventory_hostnames,
    "lines": lines,
    "pipe": pipe,
    "varnames": varnames,
    "vars": variables,
}
