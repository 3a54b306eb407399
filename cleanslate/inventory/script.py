"""Inventories that a program prints: `--list` gives groups as JSON, `--host NAME` a host's variables."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from dataclasses import field
from pathlib import Path
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError, Origin
from cleanslate.inventory.assembly import Assembly
from cleanslate.model import Host, SourceList, SourceMap, SourceText
from cleanslate.yamlfile import Decrypt, shown_path

MOST_SECONDS = 120
_PARTS = ("hosts", "vars", "children")


def is_script(path: Path) -> bool:
    """Whether a file is to be run: executable, and a script with `#!` or a compiled program.

    Files on some mounts are all executable; an inventory that is plain text is read, not run.
    """
    try:
        with path.open("rb") as stream:
            start = stream.read(4)
    except OSError:  # whoever reads it says why it cannot be read
        return False
    runnable = start.startswith(b"#!") or start == b"\x7fELF"
    if runnable and not os.access(path, os.X_OK) and path.suffix not in (".yml", ".yaml", ".json", ".ini"):
        raise InputError(
            "the inventory begins with #! but is not executable",
            origin=Origin(shown_path(path)),
            fix=f"chmod +x {path}, or remove that line",
        )
    return runnable and os.access(path, os.X_OK)


def read_script(path: Path, file: str, assembly: Assembly, vault: Decrypt | None) -> None:
    """Run an inventory script and add what it prints to the assembly. Text in it may be templates."""
    _Script(path, Origin(file), assembly, vault).read()


@dataclass
class _Script:
    path: Path
    origin: Origin
    assembly: Assembly
    vault: Decrypt | None
    named: dict[str, Host] = field(default_factory=dict)

    def read(self) -> None:
        data = self._answer("--list")
        meta = data.pop("_meta", None)
        for group, content in data.items():
            self._group(group, content)
        known = self._known_variables(meta)
        for name, host in self.named.items():
            values = known.get(name) if known is not None else self._answer("--host", name)
            if isinstance(values, SourceMap):
                self.assembly.set_host_variables(host, values)
            elif values is not None:
                self._mistake(f'the variables of host "{name}" are not a map')

    def _known_variables(self, meta: Any) -> SourceMap | None:
        """What `_meta` says of the hosts; None when the script must be asked for each host."""
        if meta is None:
            return None
        variables = meta.get("hostvars") if isinstance(meta, SourceMap) else None
        if isinstance(variables, SourceMap):
            return variables
        self._mistake('"_meta" holds no map "hostvars"')
        return SourceMap()

    def _group(self, name: str, content: Any) -> None:
        self.assembly.group(name, self.origin)
        if isinstance(content, SourceMap) and not any(part in content for part in _PARTS):
            content = SourceMap({"hosts": SourceList([SourceText(name)]), "vars": content})  # a host with its variables
        elif isinstance(content, SourceList):
            content = SourceMap({"hosts": content})
        elif not isinstance(content, SourceMap):
            self._mistake(f'group "{name}" is neither a list of hosts nor a map')
            return
        for host in self._names(name, "hosts", content):
            self.named[host] = self.assembly.host(host, name, self.origin, self.path)
        variables = content.get("vars", SourceMap())
        if isinstance(variables, SourceMap):
            self.assembly.set_group_variables(name, variables)
        else:
            self._mistake(f'"vars" of group "{name}" is not a map')
        for child in self._names(name, "children", content):
            self.assembly.group(child, self.origin)
            self.assembly.child(name, child, self.origin)

    def _names(self, group: str, part: str, content: SourceMap) -> list[str]:
        names = content.get(part, [])
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            return [str(name) for name in names]
        self._mistake(f'"{part}" of group "{group}" is not a list of names')
        return []

    def _answer(self, *arguments: str) -> SourceMap:
        text, said = run_script(self.path, self.origin, arguments)
        if said:
            self.assembly.problems.add(f"the inventory script says: {said}", self.origin, severity="warning")
        if not text.strip() and arguments[0] == "--host":
            return SourceMap()
        try:
            data = json.loads(text)
        except ValueError as error:
            raise self._refused(f"{' '.join(arguments)} printed no JSON: {error}") from None
        if not isinstance(data, dict):
            raise self._refused(f"{' '.join(arguments)} printed no JSON object")
        made = as_source(data, self.origin, self.vault)
        assert isinstance(made, SourceMap)
        return made

    def _refused(self, what: str) -> InputError:
        return InputError(f"the inventory script's {what}", origin=self.origin, fix=f"run {self.path} --list and look")

    def _mistake(self, what: str) -> None:
        self.assembly.problems.add(f"the inventory script's answer: {what}", self.origin)


def run_script(path: Path, origin: Origin, arguments: tuple[str, ...]) -> tuple[str, str]:
    """Run a script; give its standard output and the end of its standard error. Raises InputError when it fails."""
    command = [str(path), *arguments]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=MOST_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise InputError(f"the inventory script did not end within {MOST_SECONDS} s", origin=origin) from None
    except OSError as error:
        what = f"the inventory script cannot be run: {error.strerror or error}"
        raise InputError(what, origin=origin, fix="look at its first line") from None
    said = "\n".join(done.stderr.decode("utf-8", "replace").strip().splitlines()[-3:])
    if done.returncode:
        what = f"the inventory script ended with exit code {done.returncode}" + (f": {said}" if said else "")
        raise InputError(what, origin=origin, fix=f"run {shlex.join(command)} and look")
    return done.stdout.decode("utf-8", "replace"), said


def as_source(data: Any, origin: Origin, vault: Decrypt | None) -> Any:
    """JSON from the repository's own programs as source data: its text may be a template.

    As Ansible, it reads `{"__ansible_unsafe": text}` (never a template) and `{"__ansible_vault": envelope}`.
    """
    if isinstance(data, str):
        return SourceText(data, origin)
    if isinstance(data, list):
        return SourceList((as_source(item, origin, vault) for item in data), origin)
    if not isinstance(data, dict):
        return data
    if len(data) == 1:
        key, value = next(iter(data.items()))
        if key == "__ansible_unsafe" and isinstance(value, str):
            return value
        if key == "__ansible_vault" and isinstance(value, str) and vault:
            return SourceText(vault(value), origin)
    return SourceMap(((key, as_source(value, origin, vault)) for key, value in data.items()), origin)
