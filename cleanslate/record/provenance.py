"""With which code and which variables a run was started: what makes it comparable and repeatable."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import cleanslate
from cleanslate.model import Inventory, Playbook
from cleanslate.redaction import Secrets

_LIBRARIES = ("fabric", "invoke", "paramiko", "pyyaml", "jinja2", "pydantic", "nvidia-ml-py", "structlog")
_MAX_DIFF = 1_000_000  # bytes of uncommitted diff that are kept; a larger one is kept by digest only
_GIT_SECONDS = 10


def provenance(
    root: Path, playbook: Playbook, inventory: Inventory, extra_vars: Mapping[str, Any], secrets: Secrets
) -> dict[str, Any]:
    """Commit and uncommitted diff, digests of the files that took part, variables as written, versions."""
    return {
        "commit": _commit(root),
        "uncommitted": secrets.redact(_uncommitted(root)),
        "files": {str(path): _digest(path) for path in sorted({*playbook.files, *inventory.sources})},
        "inventory": {
            "hosts": {name: _shown(host.vars, secrets) for name, host in inventory.hosts.items()},
            "groups": {
                name: {"hosts": group.hosts, "children": group.children, "vars": _shown(group.vars, secrets)}
                for name, group in inventory.groups.items()
            },
        },
        "extra_vars": _shown(extra_vars, secrets),
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Of us, of Python, and of the libraries that decide what a run does."""
    found = {"cleanslate": cleanslate.__version__, "python": platform.python_version(), "platform": sys.platform}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "missing"
    return found


def _shown(variables: Mapping[str, Any], secrets: Secrets) -> dict[str, Any]:
    """Variables as written, without values whose name says that they are secret."""
    return {
        str(name): "(secret)" if secrets.looks_secret(str(name)) else secrets.redact(_plain(value))
        for name, value in variables.items()
    }


def _plain(value: Any) -> Any:
    """The JSON form of a value from a source file."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _git(root: Path, *words: str) -> str | None:
    """What git says, or None where there is no git, no repository, or no answer in time."""
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, timeout=_GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def _commit(root: Path) -> str | None:
    said = _git(root, "rev-parse", "HEAD")
    return said.strip() if said else None


def _uncommitted(root: Path) -> dict[str, Any] | None:
    """The difference from the commit; None when there is none, or no repository."""
    diff = _git(root, "diff", "HEAD", "--no-color", "--no-ext-diff")
    if not diff:
        return None
    digest = hashlib.sha256(diff.encode()).hexdigest()
    if len(diff) > _MAX_DIFF:
        return {"sha256": digest, "bytes": len(diff)}
    return {"sha256": digest, "diff": diff}
