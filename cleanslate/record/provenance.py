"""With which code and which variables a run was started: what makes it comparable and repeatable."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import cleanslate
from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError
from cleanslate.model import Inventory, Playbook, SourceText
from cleanslate.record.files import FilesUsed, as_text
from cleanslate.record.git import Checkout, Question, changed_files, read_checkout
from cleanslate.redaction import Secrets, looks_secret

_LIBRARIES = ("fabric", "invoke", "paramiko", "pyyaml", "jinja2", "pydantic", "nvidia-ml-py", "structlog")
_MAX_DIFF = 1_000_000  # bytes of uncommitted diff that are kept; a larger one is kept by digest only
HIDDEN = "(secret)"
"""What stands for a value whose name says that it is a secret."""


@dataclass
class Provenance:
    """What is known before a host is contacted. `facts` go into the record; the rest helps to complete it later."""

    facts: dict[str, Any]
    files: FilesUsed
    checkout: Checkout | None


def provenance(
    root: Path,
    playbook: Playbook,
    inventory: Inventory,
    extra_vars: Mapping[str, Any],
    secrets: Secrets,
    options: Mapping[str, Any],
    sources: Sequence[str],
) -> Provenance:
    """Commit and uncommitted diff, options, digests of the files that took part, variables as written, versions.

    `root` is the repository's folder, as settings have it; `sources` are the inventory's, from the options or settings.
    """
    checkout = read_checkout(root)
    files = FilesUsed(root)
    files.add([*playbook.files, *inventory.files, *_variable_files(options)])
    facts = {
        "root": str(files.root),
        "prefix": checkout.prefix if checkout else "",
        "sources": [text if "," in text else files.shown(Path(text)) for text in sources],
        "options": secrets.redact(dict(options)),
        "commit": checkout.commit if checkout else None,
        "branch": checkout.branch if checkout else None,
        "uncommitted": _uncommitted(checkout, secrets),
        "files": dict(files.digests),
        "kept": files.kept(checkout.top if checkout else None, secrets),
        "inventory": {
            # Copies: a play may add hosts and groups, whose names are for its events to tell.
            "hosts": {name: shown(host.vars, secrets) for name, host in inventory.hosts.items()},
            "groups": {
                name: {"hosts": [*group.hosts], "children": [*group.children], "vars": shown(group.vars, secrets)}
                for name, group in inventory.groups.items()
            },
        },
        "extra_vars": shown(extra_vars, secrets),
        "versions": versions(),
    }
    return Provenance(facts, files, checkout)


def refuse_changes(root: Path) -> None:
    """For `--clean`: InputError where the repository has changes or files that are not committed, or is none."""
    said = Question(root, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames").answer()
    if said is None:
        raise InputError(f"--clean: {root} is not in a git repository")
    files = [entry[3:] for entry in os.fsdecode(said).split("\0") if entry]
    if files:
        shown = ", ".join(files[:5]) + (f" and {len(files) - 5} more" if len(files) > 5 else "")
        raise InputError(f"--clean: not committed: {shown}", fix="commit them, or leave --clean away")


def _variable_files(options: Mapping[str, Any]) -> list[Path]:
    """The files that `-e @file` names."""
    given = [str(text).strip() for text in options.get("extra_vars") or ()]
    return [Path(text[1:]).expanduser() for text in given if text.startswith("@")]


def versions() -> dict[str, str]:
    """Of us, of Python, and of the libraries that decide what a run does."""
    installed = _installed()
    return {
        "cleanslate": cleanslate.__version__,
        "python": sys.version.split()[0],
        "platform": sys.platform,
        **{name: installed.get(name, "missing") for name in _LIBRARIES},
    }


def _installed() -> dict[str, str]:
    """Name to version, from the names of dist-info folders: importlib.metadata takes 20 ms to say the same."""
    found: dict[str, str] = {}
    for folder in reversed(sys.path):
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208 - only the names are wanted
        except OSError:
            continue
        for name in names:
            if match := re.fullmatch(r"(.+?)-([^-]+)\.dist-info", name):
                found[re.sub(r"[-_.]+", "-", match[1]).lower()] = match[2]
    return found


@functools.lru_cache(maxsize=1)
def code_digest() -> str:
    """A digest of our own code: versions do not tell one state of a checkout from the next.

    To read all of it takes 30 ms of every run, so the digest is kept beside the bytecode, for as long as every file has
    the size and the time of change that it had.
    """
    home = os.path.dirname(cleanslate.__file__)  # noqa: PTH120 - for 340 files, paths as objects take longer than reading
    files = sorted(_sources(home))
    state = hashlib.sha256(repr([(name[len(home) :], *when) for name, *when in files]).encode()).hexdigest()
    kept = Path(cache_from_source(cleanslate.__file__)).with_name("code.sha256")
    try:
        known, _, digest = kept.read_text().partition(" ")
    except (OSError, ValueError):
        known = digest = ""
    if known != state or not re.fullmatch("[0-9a-f]{64}", digest):
        digest = _digest(home, [name for name, *_ in files])
        if not sys.dont_write_bytecode:
            _keep(kept, f"{state} {digest}")
    return digest


def _sources(folder: str) -> Iterator[tuple[str, int, int, int]]:
    """Our files below a folder, each with what changes when it does: size, time of change, inode."""
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from _sources(entry.path)
        elif entry.name.endswith(".py"):
            found = entry.stat()
            yield entry.path, found.st_size, found.st_mtime_ns, found.st_ino


def _digest(home: str, files: Sequence[str]) -> str:
    found = hashlib.sha256()
    for path in files:
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            found.update(f"{path[len(home) :]}\0".encode() + file.read() + b"\0")
    return found.hexdigest()


def _keep(file: Path, text: str) -> None:
    """Write a small file whole, where that is possible; who may not does without."""
    part = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(exist_ok=True)
        part.write_text(text)
        part.replace(file)
    except OSError:
        return


def shown(value: Any, secrets: Secrets, name: str = "") -> Any:
    """The JSON form of a value from a source file, without what stands under the names of secrets."""
    if isinstance(value, Mapping):
        return {str(key): shown(item, secrets, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [shown(item, secrets, name) for item in value]
    if looks_secret(name) and value is not None and not isinstance(value, bool) and not _is_template(value):
        return HIDDEN
    if value is None or isinstance(value, bool | int | float):
        return secrets.redact(value)
    return secrets.redact_text(str(value))


def _is_template(value: Any) -> bool:
    return isinstance(value, SourceText) and ("{{" in value or "{%" in value)


def _uncommitted(checkout: Checkout | None, secrets: Secrets) -> dict[str, Any] | None:
    """The difference from the commit; None when there is none, or no repository."""
    if checkout is None or not checkout.diff:
        return None
    diff = checkout.diff
    facts: dict[str, Any] = {
        "sha256": hashlib.sha256(diff).hexdigest(),
        "bytes": len(diff),
        "files": changed_files(diff),
    }
    if len(diff) > _MAX_DIFF:
        return {**facts, "left_out": f"{len(diff)} bytes are too many"}
    kept = as_text(diff)
    plain = secrets.redact_text(diff.decode("utf-8", "replace"))
    if "text" in kept and plain != kept["text"]:
        return {**facts, "diff": plain, "left_out": "it holds a secret, which is masked here"}
    if "base64" in kept:
        return {**facts, "diff": plain, "base64": kept["base64"]} if plain == diff.decode("utf-8", "replace") else facts
    return {**facts, "diff": kept["text"]}
