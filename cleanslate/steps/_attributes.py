"""The arguments that every step type shares which makes or changes a file: mode, owner and the like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleanslate.model import Diff
from cleanslate.steps.contract import AliasChoices, Field, Flag, Mode, StepArguments, Text

_NAMES = ("mode", "owner", "group", "attributes", "seuser", "serole", "setype", "selevel")


class FileAttributes(StepArguments):
    """Attributes of the file that the step makes or changes."""

    mode: Mode | None = None
    """The file mode: octal (`"0644"`), or symbolic (`u=rw,g=r`). Left as it is when not given."""
    owner: Text | None = None
    """The user who shall own it, by name or number."""
    group: Text | None = None
    """The group that shall own it, by name or number."""
    attributes: Text | None = Field(None, validation_alias=AliasChoices("attributes", "attr"))
    """Flags as chattr takes them: `+i`, `-a`, `=A`."""
    seuser: Text | None = None
    """The user part of the SELinux label; without SELinux, nothing."""
    serole: Text | None = None
    """The role part of the SELinux label."""
    setype: Text | None = None
    """The type part of the SELinux label."""
    selevel: Text | None = None
    """The level part of the SELinux label."""
    unsafe_writes: Flag = False
    """Write in place where the file cannot be replaced as a whole (a mount point)."""

    def wanted(self, **other: Any) -> dict[str, Any]:
        """The attributes that are given, as the calls on files take them; `other` overrides."""
        found = {name: getattr(self, name) for name in _NAMES} | other
        return {name: value for name, value in found.items() if value is not None}


def attribute_diff(path: str, changes: Mapping[str, Any]) -> Diff:
    """A diff that shows attributes before and after, one a line."""
    before = "".join(f"{name}: {was}\n" for name, (was, _) in sorted(changes.items()))
    after = "".join(f"{name}: {then}\n" for name, (_, then) in sorted(changes.items()))
    return Diff(path, before, after)


def file_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Ansible's file fields of a survey's or a write's answer."""
    names = ("uid", "gid", "owner", "group", "mode", "size", "state", "secontext")
    return {name: values[name] for name in names if name in values}


FILE_RETURNS = {
    "uid": "the owner's number",
    "gid": "the group's number",
    "owner": "the owner's name",
    "group": "the group's name",
    "mode": "the file mode, octal text such as 0644",
    "size": "bytes",
    "state": "file, directory, link, hard or absent",
}
"""What the file fields hold, for `StepType.returns`."""
