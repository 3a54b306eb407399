"""A folder in which the code of an earlier run lies again as it was: its commit, its uncommitted changes, its files."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError
from cleanslate.record.files import as_bytes, digest_of
from cleanslate.record.git import has_commit, read_checkout, run_git

BUNDLE = "repository.bundle"
"""The commit's history beside an imported record, for checkouts that do not have it."""


@dataclass
class Workplace:
    """The code of a run. `root` is its repository's folder here; `unlike` says what is not as it was."""

    top: Path
    root: Path
    outside: Path
    facts: Mapping[str, Any]
    unlike: list[str] = field(default_factory=list)

    def place(self, text: str, base: str = "") -> str:
        """Where a file of the run is now; `base` is the folder that relative names were meant from."""
        path = os.path.normpath(os.path.join(base or self.facts["root"], text))  # noqa: PTH118 - of another machine
        root = str(self.facts["root"])
        if path == root or path.startswith(f"{root}/"):
            return str(self.root / path[len(root) + 1 :])
        copy = Path(f"{self.outside}{path}")
        return str(copy) if copy.exists() else path


@contextmanager
def workplace(facts: Mapping[str, Any], folder: Path, here: Path) -> Iterator[Workplace]:
    """Lay out the code of the run with these facts, whose record is `folder`; it is gone afterwards.

    `here` is the repository of today. Raises InputError where the commit cannot be had.
    """
    base = Path(tempfile.mkdtemp(prefix="cleanslate-rerun-"))
    top = base / "tree"
    owner = None
    try:
        owner = _check_out(facts.get("commit"), folder, here, top)
        place = Workplace(top, top / str(facts.get("prefix") or ""), base / "outside", facts)
        _apply(place, here)
        _lay_out(place, here)
        yield place
    finally:
        if owner is not None:
            run_git(owner, "worktree", "remove", "--force", str(top))
        shutil.rmtree(base, ignore_errors=True)


def _check_out(commit: str | None, folder: Path, here: Path, top: Path) -> Path | None:
    """Put the commit into `top`; gives the repository that a worktree was made of."""
    if commit is None:
        top.mkdir()
        return None
    if has_commit(here, commit):
        run_git(here, "worktree", "add", "--quiet", "--detach", str(top), commit)
        return here
    if not (folder / BUNDLE).is_file():
        raise InputError(
            f"commit {commit[:12]} is not in the repository at {here}",
            fix="fetch it, or rerun from a file that `inv export` made",
        )
    run_git(top.parent, "clone", "--quiet", "--no-checkout", str(folder / BUNDLE), str(top))
    run_git(top, "checkout", "--quiet", "--detach", commit)
    return None


def _apply(place: Workplace, here: Path) -> None:
    """Apply the uncommitted changes, from the record or, where it could not keep them, from the checkout of today."""
    changed = place.facts.get("uncommitted")
    if not changed:
        return
    diff = None if changed.get("left_out") else as_bytes(changed) or str(changed.get("diff") or "").encode()
    if not diff:
        import hashlib

        today = read_checkout(here)
        same = today is not None and hashlib.sha256(today.diff).hexdigest() == changed["sha256"]
        diff = today.diff if today is not None and same else None
    if diff is None:
        place.unlike.append(
            f"the uncommitted changes ({', '.join(changed.get('files') or ())}) are not in the record: "
            f"{changed.get('left_out')}"
        )
        return
    run_git(place.top, "apply", "--index", "--whitespace=nowarn", "-", stdin=diff)


def _lay_out(place: Workplace, here: Path) -> None:
    """Put the files that git did not have where they were; those of other folders below `outside`."""
    digests = place.facts.get("files") or {}
    for name, kept in place.facts.get("kept", {}).items():
        content = as_bytes(kept)
        if os.path.isabs(name):  # noqa: PTH117 - of another machine
            _outside(place, name, content, kept, digests.get(name))
            continue
        if content is None:
            content = _of_today(place, here / name, name, digests.get(name))
        if content is not None:
            _write(place, place.root / name, content, kept)
    # The lab lies where git does not look; its machines are those of the repository, and not others that come and go.
    lab = place.root / ".lab"
    if not lab.exists() and any(_is_lab(place.place(str(name))) for name in place.facts.get("sources") or ()):
        lab.symlink_to(here.resolve() / ".lab")


def _is_lab(source: str) -> bool:
    """Whether an inventory source is the lab."""
    try:
        return re.search(r"^plugin:\s*[\"']?lab\b", Path(source).read_text("utf-8"), re.M) is not None
    except (OSError, UnicodeDecodeError):
        return False


def _of_today(place: Workplace, path: Path, name: str, digest: str | None) -> bytes | None:
    """A file that the record could not keep, as it is in the checkout of today."""
    now = digest_of(path)
    if now is None:
        place.unlike.append(f"{name}, which took part, is not in the record and not here")
        return None
    if now != digest:
        place.unlike.append(f"{name}, which is not in the record, is not as it was")
    return path.read_bytes()


def _outside(place: Workplace, name: str, content: bytes | None, kept: Mapping[str, Any], digest: str | None) -> None:
    now = digest_of(Path(name))
    if now == digest:
        return
    if content is not None:
        _write(place, Path(f"{place.outside}{os.path.normpath(name)}"), content, kept)
    else:
        state = "is not here" if now is None else "is not as it was"
        place.unlike.append(f"{name}, which is not in the record, {state}")


def _write(place: Workplace, path: Path, content: bytes, kept: Mapping[str, Any]) -> None:
    """Write a file, never outside of the workplace, whatever a record says."""
    base = os.path.realpath(place.top.parent)
    if not os.path.realpath(path).startswith(f"{base}{os.sep}"):
        raise InputError(f"the record wants to write {path}, which is not its own")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(int(str(kept.get("mode", "0600")), 8) & 0o777)
