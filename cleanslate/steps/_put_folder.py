"""Puts a folder of the controller on the target: one call to compare everything, one to write what differs."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cleanslate.model import Answer, Diff
from cleanslate.steps import _sources
from cleanslate.steps._attributes import attribute_diff
from cleanslate.steps._put import Content, Place
from cleanslate.steps._text import SHOWN, content_diff
from cleanslate.steps.contract import Change, Outcome, StepContext

_IN_MEMORY = 8 << 20


def walk(base: Path, *, follow: bool) -> Iterator[Path]:
    """Everything below a folder, folders before what is in them; links are entered once when followed."""
    seen = {base.resolve()}

    def below(folder: Path) -> Iterator[Path]:
        for path in sorted(folder.iterdir()):
            if follow and path.is_symlink() and not path.exists():
                continue
            yield path
            if path.is_dir() and (follow or not path.is_symlink()):
                real = path.resolve()
                if real not in seen:
                    seen.add(real)
                    yield from below(path)

    return below(base)


def entries_of(
    base: Path, context: StepContext, *, follow: bool, decrypt: bool, preserve: bool
) -> list[dict[str, Any]]:
    """The entries (see remote/trees.py) of a folder; `data` holds the bytes of a decrypted vault file."""
    entries = []
    for path in walk(base, follow=follow):
        entry: dict[str, Any] = {"path": str(path.relative_to(base)), "mode": None}
        if path.is_symlink() and not follow:
            entry.update(kind="link", target=str(path.readlink()))
        elif path.is_dir():
            entry["kind"] = "directory"
        else:
            entry.update(kind="file", source=path, data=None)
            if decrypt and _sources.is_vault(path):
                entry["data"] = _sources.content(path, context)
            content = Content(path if entry["data"] is None else entry["data"])
            entry.update(sha1=content.sha1(), size=content.size)
            if preserve:
                entry["mode"] = _sources.mode(path)
        entries.append(entry)
    return entries


def put_folder(
    context: StepContext, entries: list[dict[str, Any]], place: Place, source: str
) -> Generator[Change, Answer, Outcome]:
    """Write what differs below `place.dest`."""
    sent = [{key: value for key, value in entry.items() if key not in ("source", "data")} for entry in entries]
    wanted = dict(place.wanted)
    found = context.read(
        "trees.survey", path=place.dest, entries=sent, wanted=wanted, content=SHOWN, follow=place.follow
    )
    path = found["path"]
    differing = [item for item in found["differing"] if place.force or item["kind"] is None]
    data = {"dest": f"{path.rstrip('/')}/", "src": source}
    if not differing and found["folder"]:
        return Outcome(data)
    chosen, files = [], []
    for item in differing:
        whole = entries[item["index"]]["kind"] == "file" and not item["changes"]
        chosen.append({**sent[item["index"]], "content": whole})
        if whole:
            files.append(entries[item["index"]])
    with _joined(files) as blob:
        answer = yield Change(
            f"write {len(files)} of {sum(entry['kind'] == 'file' for entry in entries)} files below {path}",
            "trees.write",
            {
                "path": path,
                "entries": chosen,
                "directory_mode": place.directory_mode,
                "backup": place.backup,
                "validate": place.validate,
                "unsafe": place.unsafe,
                "follow": place.follow,
                **wanted,
            },
            predicted={"backup_files": []},
            diffs=[_diff(path, entries[item["index"]], item) for item in differing],
            blob=blob,
        )
    if answer["backup_files"]:
        data["backup_files"] = answer["backup_files"]
    return Outcome(data)


def _diff(path: str, entry: Mapping[str, Any], item: Mapping[str, Any]) -> Diff:
    place = f"{path.rstrip('/')}/{entry['path']}"
    if item["changes"]:
        return attribute_diff(place, item["changes"])
    if entry["kind"] != "file":
        before = "absent" if item["kind"] is None else f"(a {item['kind']})"
        return attribute_diff(place, {"state": [before, entry["kind"]]})
    before_bytes = base64.b64decode(item["before"]) if item.get("before") is not None else None
    size = item["size"] if item["kind"] == "file" and before_bytes is None else None
    if entry["size"] > SHOWN:
        return content_diff(place, before_bytes, None, size=size, after_size=entry["size"])
    after = entry["data"] if entry["data"] is not None else entry["source"].read_bytes()
    return content_diff(place, before_bytes, after, size=size)


@contextmanager
def _joined(files: list[dict[str, Any]]) -> Iterator[bytes | Path]:
    """The contents of files one after the other: bytes, or a temporary file when there are many."""

    def pieces() -> Iterator[bytes]:
        for entry in files:
            if entry["data"] is not None:
                yield entry["data"]
                continue
            with entry["source"].open("rb") as source:
                yield from iter(lambda: source.read(1 << 20), b"")

    if sum(entry["size"] for entry in files) <= _IN_MEMORY:
        yield b"".join(pieces())
        return
    with tempfile.NamedTemporaryFile(prefix="cleanslate-") as joined:
        for piece in pieces():
            joined.write(piece)
        joined.flush()
        yield Path(joined.name)
