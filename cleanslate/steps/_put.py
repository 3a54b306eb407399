"""Puts one file's content on the target: one call to compare, and where it differs one call to write."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import StepFailed
from cleanslate.model import Answer, Diff
from cleanslate.steps import _sources
from cleanslate.steps._attributes import attribute_diff, file_fields
from cleanslate.steps._text import SHOWN, content_diff, md5, sha1
from cleanslate.steps.contract import Change, Outcome, StepContext


@dataclass(frozen=True)
class Content:
    """What a file shall hold: bytes, or a file of the controller; and the name it gets inside a folder."""

    data: bytes | Path
    name: str | None = None

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.data) if isinstance(self.data, bytes) else self.data.stat().st_size

    def sha1(self) -> str:
        """Ansible's `checksum`."""
        return sha1(self.data) if isinstance(self.data, bytes) else _sources.digest(self.data)

    def shown(self) -> bytes:
        """The bytes for a diff and for `md5sum`, read only when something differs."""
        return self.data if isinstance(self.data, bytes) else self.data.read_bytes()


@dataclass(frozen=True)
class Place:
    """Where a content goes, and how it is written there."""

    dest: str
    wanted: Mapping[str, Any]
    follow: bool = False
    force: bool = True
    backup: bool = False
    validate: str | None = None
    unsafe: bool = False
    directory_mode: str | None = None


def put(context: StepContext, content: Content, place: Place, **extra: Any) -> Generator[Change, Answer, Outcome]:
    """Write the content where it differs, set attributes where only they do. `extra` are more result fields."""
    # A large file is read twice only where it may be there already: otherwise its digest comes back with the answer.
    digest = content.sha1() if content.size <= _HASHED else None
    found = _survey(context, content, place, digest)
    if digest is None and found["kind"] == "file" and found["size"] == content.size:
        digest = content.sha1()
        found = _survey(context, content, place, digest)
    path = found["path"]
    if found["kind"] == "directory":
        raise StepFailed(
            f"{path} is a folder, so no file can be put there", data={"changed": False, "checksum": digest}
        )
    if found["exists"] and not place.force:
        return Outcome({"dest": path, **extra})
    if digest is not None and found["digest"] == digest and found["kind"] == "file":
        return (yield from _attributes(found, place, {**extra, "path": path, "dest": path, "checksum": digest}))
    answer = yield _write(found, content, place, digest)
    data = {"dest": path, **extra, "checksum": answer["sha1"], **file_fields(answer.values)}
    if content.size <= _HASHED:
        data["md5sum"] = md5(content.shown())
    if answer.get("backup_file"):
        data["backup_file"] = answer["backup_file"]
    return Outcome(data)


def _survey(context: StepContext, content: Content, place: Place, digest: str | None) -> Answer:
    return context.read(
        "files.survey",
        path=place.dest,
        name=content.name,
        follow=place.follow,
        digest=digest is not None,
        size=content.size,
        content=SHOWN,
        unless=digest,
        wanted=dict(place.wanted),
    )


_HASHED = 64 << 20
"""Larger contents get no `md5sum`, which they would be read for once more."""


def _attributes(found: Answer, place: Place, data: dict[str, Any]) -> Generator[Change, Answer, Outcome]:
    if not found["changes"]:
        return Outcome({**data, **file_fields(found.values)})
    path = found["path"]
    answer = yield Change(
        f"set attributes of {path}",
        "files.set_attributes",
        {"path": path, **place.wanted},
        predicted={**found.values, **found["after"]},
        diffs=[attribute_diff(path, found["changes"])],
    )
    return Outcome({**data, **file_fields(answer.values)})


def _write(found: Answer, content: Content, place: Place, digest: str | None) -> Change:
    path = found["path"]
    arguments = {
        "path": path,
        "backup": place.backup,
        "validate": place.validate,
        "unsafe": place.unsafe,
        "expect_digest": None if place.force else "absent",
        "make_parents": place.dest.endswith("/"),
        "directory_mode": place.directory_mode,
        **place.wanted,
    }

    def predicted() -> Mapping[str, Any]:
        known = {"state": "file", "size": content.size, "sha1": digest or content.sha1(), "backup_file": None}
        return {**found["after"], **known}

    return Change(
        f"write {path}",
        "files.write",
        arguments,
        predicted=predicted,
        diffs=_diffs(found, content, digest),
        blob=content.data,
    )


def _diffs(found: Answer, content: Content, digest: str | None) -> list[Diff]:
    path = found["path"]
    diffs = []
    if found["digest"] is None or found["digest"] != digest:
        before = found.blob if found["exists"] and found["cut"] is None else None
        if content.size <= SHOWN:
            diffs.append(content_diff(path, before, content.shown(), size=found["cut"]))
        else:
            diffs.append(content_diff(path, before, None, size=found["cut"], after_size=content.size))
    if found["kind"] == "link":
        diffs.append(Diff(path, f"leads to: {found['target']}\n", "a file of its own\n"))
    if found["changes"]:
        diffs.append(attribute_diff(path, found["changes"]))
    return diffs
