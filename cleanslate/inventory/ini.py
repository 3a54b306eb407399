"""Inventories in Ansible's INI form: `[group]`, `[group:vars]`, `[group:children]`, host lines with variables."""

from __future__ import annotations

import re
from dataclasses import field
from pathlib import Path

from cleanslate.dataclass import dataclass
from cleanslate.errors import Origin, suggest
from cleanslate.inventory.assembly import Assembly, assign
from cleanslate.inventory.literals import literal
from cleanslate.inventory.words import QuoteMistake, Word, split_words
from cleanslate.model import Host

_HEADER = re.compile(r"^\[(?P<inside>[^\[\]]*)\]\s*(?P<rest>.*)$")
_KINDS = ("hosts", "vars", "children")


def read_ini(text: str, file: str, path: Path, assembly: Assembly) -> None:
    """Add what an INI text says to the assembly; mistakes go to its problems, with line and column."""
    _Ini(file, path, assembly).read(text)


@dataclass
class _Ini:
    """Where the reader stands: the section's group and kind (empty after a header that could not be read)."""

    file: str
    path: Path
    assembly: Assembly
    group: str = "ungrouped"
    kind: str = "hosts"
    awaiting: dict[str, list[tuple[str, Origin]]] = field(default_factory=dict)

    def read(self, text: str) -> None:
        for number, raw in enumerate(text.splitlines(), start=1):
            line = raw.strip()
            if not line or line[0] in "#;":
                continue
            origin = Origin(self.file, number, len(raw) - len(raw.lstrip()) + 1)
            if line[0] == "[" and self._header(line, origin):
                continue
            if self.kind == "hosts":
                self._host_line(line, origin)
            elif self.kind == "vars":
                self._variable(line, origin)
            elif self.kind == "children":
                self._child(line, origin)
        for child, parents in self.awaiting.items():
            for parent, origin in parents:
                self.assembly.require(child, f'group "{parent}" has the child', origin, parent=parent)

    # ------------------------------------------------------------------ sections

    def _header(self, line: str, origin: Origin) -> bool:
        """Begin a section; False when the line is a host whose name begins with a range or an IPv6 address."""
        found = _HEADER.match(line)
        if not found or (found["rest"] and found["rest"][0] not in "#;"):
            return False
        name, colon, kind = found["inside"].partition(":")
        self.kind = ""
        if found["rest"].startswith(";"):
            self._mistake('";" begins no comment after a header', origin, len(line) - len(found["rest"]), 'write "#"')
        elif not name or re.search(r"\s", found["inside"]):
            self._mistake(
                f'"[{found["inside"]}]" names no group',
                origin,
                1,
                "a header reads [group] or [group:vars], without blanks",
            )
        elif colon and kind not in _KINDS:
            fix = suggest(kind, _KINDS) or "a section is [group], [group:vars] or [group:children]"
            self._mistake(f'"{kind}" is no kind of section', origin, 2 + len(name), fix)
        else:
            self._begin(name, kind or "hosts", origin._replace(column=origin.column + 1))
        return True

    def _begin(self, group: str, kind: str, origin: Origin) -> None:
        self.group, self.kind = group, kind
        if kind == "vars":
            self.assembly.group(group, origin, declares=False)
            self.assembly.require(group, "variables are set for group", origin)
            return
        self.assembly.group(group, origin)
        for parent, place in self.awaiting.pop(group, ()):
            self.assembly.child(parent, group, place)

    def _child(self, line: str, origin: Origin) -> None:
        name, *rest = line.split(None, 1)
        if (rest and not rest[0].startswith("#")) or ":" in name:
            self._mistake(
                f'"{line}" is not one group name', origin, 0, f"below [{self.group}:children] stands one group a line"
            )
        elif name in self.assembly.inventory.groups:
            self.assembly.child(self.group, name, origin)
        else:  # Ansible's order of children: those declared further down come as they are declared
            self.awaiting.setdefault(name, []).append((self.group, origin))

    # ------------------------------------------------------------------ variables and hosts

    def _variable(self, line: str, origin: Origin) -> None:
        key, equals, value = line.partition("=")
        name = key.strip()
        if not equals:
            fix = 'write "=" instead of ":"' if ":" in line else "a line reads name=value"
            self._mistake(f'"{line}" sets no variable', origin, 0, fix)
        elif not name:
            self._mistake("the variable has no name", origin, 0, "a line reads name=value")
        else:
            self._check_name(name, origin)
            column = origin.column + len(key) + 1 + len(value) - len(value.lstrip())
            place = origin._replace(column=column)
            self.assembly.set_group_variable(self.group, name, literal(value.strip(), place), origin, place)

    def _host_line(self, line: str, origin: Origin) -> None:
        try:
            words, cut = split_words(line)
        except QuoteMistake as mistake:
            self._mistake(mistake.what, origin, mistake.column - 1, "close it, or escape it with a backslash")
            return
        if cut:
            self._mistake(
                '"#" begins a comment here', origin, cut - 1, "quote the value if it belongs to it", "warning"
            )
        name = words[0].text
        if not name:
            self._mistake("the host has no name", origin, 0, "a host line begins with the host's name")
            return
        if name == "---" or name.endswith(":"):
            self._mistake(f'"{name}" looks like YAML', origin, 0, "a YAML inventory's file is named *.yml or *.yaml")
            return
        hosts = self.assembly.hosts(name, self.group, origin, self.path)
        for word in words[1:]:
            self._host_variable(word, hosts, origin)

    def _host_variable(self, word: Word, hosts: list[Host], origin: Origin) -> None:
        name, equals, value = word.text.partition("=")
        if not equals or not name:
            fix = "variables read name=value; quote a value that holds blanks"
            self._mistake(f'"{word.text}" sets no variable', origin, word.columns[0] - 1, fix)
            return
        at = origin._replace(column=origin.column + word.columns[0] - 1)
        self._check_name(name, at)
        value_at = origin._replace(column=origin.column + word.columns[len(name) + 1] - 1)
        made = literal(value, value_at)
        for host in hosts:
            assign(host, name, made, at, value_at)

    def _check_name(self, name: str, origin: Origin) -> None:
        if not name.isidentifier():
            self.assembly.problems.add(
                f'"{name}" is no name that a template can use',
                origin,
                fix="names hold letters, digits and underscores",
                severity="warning",
            )

    def _mistake(self, what: str, origin: Origin, offset: int, fix: str, severity: str = "error") -> None:
        place = origin._replace(column=origin.column + offset)
        self.assembly.problems.add(what, place, fix=fix, severity=severity)
