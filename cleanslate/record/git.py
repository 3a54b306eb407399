"""What git says of the code that ran: commit, branch, uncommitted changes; and worktrees and bundles of a commit."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError

_SECONDS = 30
_DIFF = (
    "diff", "HEAD", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
    "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
# Nothing of the person's configuration may change what is read, and reading must not write the index.
_PLAIN = tuple(
    word
    for setting in ("diff.noprefix=false", "diff.mnemonicPrefix=false", "diff.relative=false", "core.quotePath=false")
    for word in ("-c", setting)
)


class Question:
    """A git command under way; started at once, so that several run side by side, and answered when asked."""

    def __init__(self, folder: Path, *words: str) -> None:
        environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
        try:
            self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
                ["git", *_PLAIN, "-C", str(folder), *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
            )
        except OSError:
            self._process = None

    def answer(self) -> bytes | None:
        """What git says; None where there is no git, no repository, or no answer in time."""
        if self._process is None:
            return None
        try:
            said, _ = self._process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            return None
        return said if self._process.returncode == 0 else None


@dataclass(frozen=True)
class Checkout:
    """The state of a working tree. `prefix` is the folder's place in it, with a slash at the end, or empty."""

    top: Path
    prefix: str
    commit: str
    branch: str
    diff: bytes


def read_checkout(folder: Path) -> Checkout | None:
    """Commit and uncommitted diff of the repository that a folder is in; None where there is none, or no commit."""
    place = Question(folder, "rev-parse", "--show-toplevel", "--show-prefix", "HEAD", "--abbrev-ref", "HEAD")
    diff = Question(folder, *_DIFF)
    said, changed = place.answer(), diff.answer()
    if said is None or changed is None:
        return None
    top, prefix, commit, branch = os.fsdecode(said).split("\n")[:4]
    return Checkout(Path(top), prefix, commit, branch, changed)


def changed_files(diff: bytes) -> list[str]:
    """The files that a diff changes, relative to the top of the working tree."""
    names = re.findall(rb'^diff --git "?a/(.*?)"? "?b/\1"?$', diff, re.M)
    return [os.fsdecode(name) for name in names]


def untracked(folder: Path, files: Iterable[str]) -> dict[str, bool]:
    """Those of the files that git does not keep, relative to `folder`; True for those that it was told to ignore."""
    wanted = list(files)
    if not wanted:
        return {}
    words = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored=matching", "--no-renames", "--")
    place = Question(folder, "rev-parse", "--show-prefix")
    said = Question(folder, *words, *(f":(literal){name}" for name in wanted)).answer()
    prefix = os.fsdecode(place.answer() or b"").strip("\n")
    found: dict[str, bool] = {}
    for entry in os.fsdecode(said or b"").split("\0"):
        if entry[:2] in ("??", "!!"):
            shown = entry[3:].removeprefix(prefix)
            inside = [name for name in wanted if name == shown or (shown.endswith("/") and name.startswith(shown))]
            found.update(dict.fromkeys(inside, entry[:2] == "!!"))
    return found


def has_commit(folder: Path, commit: str) -> bool:
    """Whether the repository has a commit."""
    return Question(folder, "cat-file", "-e", f"{commit}^{{commit}}").answer() is not None


def files_between(folder: Path, before: str, after: str) -> list[str] | None:
    """The files that differ between two commits; None where one of them is not here."""
    said = Question(folder, "diff", "--name-only", "-z", "--no-renames", before, after).answer()
    return None if said is None else [name for name in os.fsdecode(said).split("\0") if name]


def subjects_between(folder: Path, before: str, after: str, most: int = 10) -> list[str]:
    """The first lines of the commits that came between two, the newest first; empty where git cannot say."""
    said = Question(folder, "log", "--format=%h %s", f"-{most}", f"{before}..{after}").answer()
    return (said or b"").decode("utf-8", "replace").splitlines()


def run_git(folder: Path, *words: str, stdin: bytes = b"") -> bytes:
    """Run a git command that changes something, without hooks; InputError with what it said when it fails."""
    command = ["git", "-c", f"core.hooksPath={os.devnull}", "-C", str(folder), *words]
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, check=False)
    except OSError as error:
        raise InputError(f"git cannot be run: {error.strerror}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise InputError(f"git {words[0]}: {said or f'exit code {done.returncode}'}")
    return done.stdout
