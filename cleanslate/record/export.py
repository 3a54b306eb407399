"""A record as one file, with the code that it needs, for a teammate with another checkout."""

from __future__ import annotations

import re
import shutil
import tarfile
import tempfile
from pathlib import Path

from cleanslate.errors import InputError
from cleanslate.record.git import Question, has_commit, run_git
from cleanslate.record.reading import read_run
from cleanslate.record.workplace import BUNDLE

ENDING = ".cleanslate.tar.gz"
_MEMBER = re.compile(
    r"(?P<run>[\w][\w.-]*)/"
    r"(?P<file>run\.json|events\.jsonl|repository\.bundle|outputs/\d+\.txt|diagnostics/\w[\w.-]*/\w[\w.-]*)"
)
_MOST_BYTES = 4 * 1024**3


def export_record(folder: Path, repository: Path, file: Path) -> None:
    """Write a record into one file: facts, events, outputs, and the history of its commit as a git bundle.

    Raises InputError where the file is there already or the commit is not here.
    """
    facts = read_run(folder)
    commit = facts.get("commit")
    if file.exists():
        raise InputError(f"{file} is there already", fix="name another file, or remove it")
    with tempfile.TemporaryDirectory(prefix="cleanslate-export-") as work:
        bundle = folder / BUNDLE
        if commit and has_commit(repository, commit):
            bundle = _bundle(repository, commit, Path(work))
        elif commit and not bundle.is_file():
            raise InputError(f"commit {commit[:12]} is not in the repository at {repository}", fix="fetch it")
        part = file.with_name(f".{file.name}.part")
        try:
            with tarfile.open(part, "w:gz") as archive:
                names = ["run.json", "events.jsonl", *_more(folder)]
                for name in names:
                    if (folder / name).is_file():
                        archive.add(folder / name, f"{facts['id']}/{name}", filter=_anonymous)
                if bundle.is_file():
                    archive.add(bundle, f"{facts['id']}/{BUNDLE}", filter=_anonymous)
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)


def _more(folder: Path) -> list[str]:
    """Long outputs and diagnostics, by their names in the record."""
    found = [*(folder / "outputs").glob("*.txt"), *(folder / "diagnostics").glob("*/*")]
    return sorted(str(one.relative_to(folder)) for one in found if _MEMBER.fullmatch(f"x/{one.relative_to(folder)}"))


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o600
    return member


def _bundle(repository: Path, commit: str, work: Path) -> Path:
    """A bundle of a commit's history. The branch that it needs is made in a repository of its own."""
    objects = Question(repository, "rev-parse", "--path-format=absolute", "--git-path", "objects").answer() or b""
    borrower = work / "borrower"
    run_git(work, "init", "--quiet", "--bare", str(borrower))
    (borrower / "objects" / "info" / "alternates").write_bytes(objects)
    run_git(borrower, "update-ref", "refs/heads/run", commit)
    run_git(borrower, "bundle", "create", "--quiet", str(work / BUNDLE), "refs/heads/run")
    return work / BUNDLE


def import_record(file: Path, runs: Path) -> Path:
    """Unpack an exported record among the runs; gives its folder. What is there already under its id stays."""
    runs.mkdir(parents=True, exist_ok=True, mode=0o700)
    work = Path(tempfile.mkdtemp(prefix=".import-", dir=runs))
    try:
        run_id = _unpack(file, work)
        target = runs / run_id
        if not target.exists():
            (work / run_id).rename(target)
        return target
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _unpack(file: Path, work: Path) -> str:
    """Unpack with our own hands: only the files that a record has, as plain files, of one run."""
    found: set[str] = set()
    size = 0
    try:
        with tarfile.open(file, "r:gz") as archive:
            for member in archive:
                match = _MEMBER.fullmatch(member.name)
                size += member.size
                if match is None or not member.isreg() or size > _MOST_BYTES or len(found | {match["run"]}) > 1:
                    raise InputError(f"{file} is not what `inv export` makes: {member.name}")
                found.add(match["run"])
                content = archive.extractfile(member)
                path = work / member.name
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with path.open("xb") as unpacked:
                    path.chmod(0o600)
                    shutil.copyfileobj(content, unpacked) if content else None
    except (tarfile.TarError, OSError, EOFError) as error:
        raise InputError(f"{file} is not what `inv export` makes: {error}") from None
    if len(found) != 1 or read_run(work / next(iter(found))).get("id") != next(iter(found)):
        raise InputError(f"{file} holds no record of a run")
    return found.pop()
