"""The controller's files that took part in a run: their digests, and the content of those that git does not have."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cleanslate.record.git import untracked
from cleanslate.redaction import Secrets

_MOST_HASHED = 64 * 1024 * 1024  # bytes; a larger file is known by size and time of change
_MOST_KEPT = 256 * 1024  # bytes of one file whose content is kept
_MOST_IN_FOLDER = 2000  # files of a folder that is copied as a whole


class FilesUsed:
    """Collects files from any thread. Paths in the root are shown relative to it, others in full."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.abspath(root))  # noqa: PTH100 - resolve() would follow links, which are shown as they are
        self.digests: dict[str, str | None] = {}
        self._cwd = Path.cwd()
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def is_new(self, path: Path) -> bool:
        """Whether a path has not been given before; quick, for every use of a file is told."""
        key = str(path)
        with self._lock:
            if key in self._seen:
                return False
            self._seen.add(key)
            return True

    def add(self, paths: Iterable[Path]) -> None:
        """Take digests of files, and of the files in folders; what is known already is not read again."""
        for path in paths:
            for file in _files_of(self._cwd / path):
                shown = self.shown(file)
                if shown not in self.digests:
                    self.digests[shown] = digest_of(file)

    def shown(self, path: Path) -> str:
        """The name by which the record knows a file."""
        text = os.path.abspath(self._cwd / path)  # noqa: PTH100 - as above
        inside = text.startswith(f"{self.root}{os.sep}")
        return text[len(str(self.root)) + 1 :] if inside else text

    def kept(self, top: Path | None, secrets: Secrets) -> dict[str, dict[str, Any]]:
        """The content of the files that are not in the repository whose working tree is `top`: without it, all."""
        names = list(self.digests)
        inside = [name for name in names if top and _is_below(self.root / name, top)]
        outside = [name for name in names if name not in set(inside)]
        found = untracked(self.root, inside)
        kept = {name: keep(self.root / name, secrets) for name in outside}
        for name, ignored in found.items():
            kept[name] = {"left_out": "git ignores it"} if ignored else keep(self.root / name, secrets)
        return kept


def keep(path: Path, secrets: Secrets) -> dict[str, Any]:
    """A file's mode and content as text or base64; `left_out` says why there is no content."""
    try:
        status = path.stat()
        if status.st_size > _MOST_KEPT:
            return {"left_out": f"{status.st_size} bytes are too many"}
        data = path.read_bytes()
    except OSError as error:
        return {"left_out": (error.strerror or str(error)).lower()}
    kept = as_text(data)
    if secrets.redact_text(data.decode("latin-1")) != data.decode("latin-1") or secrets.redact(kept) != kept:
        return {"left_out": "it holds a secret"}
    return {"mode": f"{stat.S_IMODE(status.st_mode):04o}", **kept}


def as_text(data: bytes) -> dict[str, str]:
    """Bytes as JSON: `text`, or `base64` where they are not UTF-8."""
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def as_bytes(kept: dict[str, Any]) -> bytes | None:
    """The bytes of what `keep` or `as_text` gave; None where there are none."""
    if isinstance(kept.get("text"), str):
        return str(kept["text"]).encode("utf-8")
    return base64.b64decode(kept["base64"]) if "base64" in kept else None


def digest_of(path: Path) -> str | None:
    """SHA-256 of a file; of a very large one its size and time of change; None where it cannot be read."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_size > _MOST_HASHED:
                return f"{status.st_size} bytes of {status.st_mtime_ns}"
            found = hashlib.sha256()
            for piece in iter(lambda: file.read(1 << 20), b""):
                found.update(piece)
    except OSError:
        return None
    return found.hexdigest()


def _files_of(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    count = 0
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            count += 1
            if count > _MOST_IN_FOLDER:
                return
            yield Path(folder, name)


def _is_below(path: Path, top: Path) -> bool:
    real = os.path.realpath(path.parent)
    return f"{real}{os.sep}".startswith(f"{os.path.realpath(top)}{os.sep}")
