"""`inv check`, `inv test`, `inv fix`: the gate, and its parts."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from cleanslate.errors import InputError

_QUICK = ["-m", "not slow", "--hypothesis-profile", "fast"]
_CODE = ("cleanslate", "tests", "benchmarks", "tasks.py")


def _gate(*, fast: bool, static: bool) -> list[tuple[str, list[str]]]:
    """Every check of the gate, with its command; cheap ones first."""
    python = sys.executable
    tests = [python, "-m", "pytest", *_parallel(), *(_QUICK if fast else [])]
    gate = [
        ("format", [python, "-m", "ruff", "format", "--check", *_CODE]),
        ("lint", [python, "-m", "ruff", "check", *_CODE]),
        ("types", [python, "-m", "mypy"]),
        ("imports", [str(Path(python).parent / "lint-imports"), "--no-cache"]),
        ("docs are fresh", [python, "-m", "cleanslate.cli", "docs", "--check"]),
        ("playbooks", [python, "-m", "cleanslate.cli", "lint"]),
    ]
    return gate if static else [*gate, ("tests", tests)]


def check(root: Path, *, fast: bool, static: bool) -> int:
    """Run every check, also after one has failed; 0 only when all passed."""
    _bring_tools(root)
    failed: list[str] = []
    for name, command in _gate(fast=fast, static=static):
        began = time.monotonic()
        print(f"── {name}", flush=True)
        code = subprocess.run(command, cwd=root).returncode
        print(f"── {name}: {'ok' if code == 0 else 'FAILED'} in {time.monotonic() - began:.1f}s", flush=True)
        if code:
            failed.append(name)
    print(f"gate: {'passed' if not failed else 'FAILED: ' + ', '.join(failed)}")
    return 1 if failed else 0


def test(root: Path, paths: Sequence[str], *, fast: bool, match: str | None, failed: bool) -> int:
    """Run the tests, or some of them; gives pytest's exit code."""
    _bring_tools(root)
    command = [sys.executable, "-m", "pytest", *(_parallel() if not (paths or failed) else [])]
    if failed:
        command.append("--last-failed")
    if fast:
        command += _QUICK
    if match:
        command += ["-k", match]
    return subprocess.run([*command, *paths], cwd=root).returncode


_REFERENCE = ("ansible-core==2.19.14", "passlib==1.7.4")
_REFERENCE_NEEDS = (3, 11)


def against_ansible(root: Path, parts: Sequence[str]) -> int:
    """Ask ansible-core again for what the tests hold against it; 0 when it agrees, 1 when it does not."""
    _bring_tools(root)
    python = _reference_python()
    return subprocess.run([sys.executable, "-m", "tests.against", str(python), *parts], cwd=root).returncode


def _reference_python() -> Path:
    """The Python of an environment with the reference, in the user's cache; made once for each of its versions."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "cleanslate"
    folder = cache / "-".join(word.replace("==", "-") for word in _REFERENCE)
    python = folder / "bin/python"
    if (folder / "whole").is_file():
        return python
    import shutil

    names = (sys.executable, "python3.13", "python3.12", "python3.11")
    with_it = next((one for one in names if (found := shutil.which(one)) and _version(found) >= _REFERENCE_NEEDS), None)
    if with_it is None:
        raise InputError("the reference, ansible-core 2.19, needs Python 3.11 or later", fix="install one beside this")
    print(f"making an environment with {_REFERENCE[0]} in {folder}", flush=True)
    subprocess.run([with_it, "-m", "venv", "--clear", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *_REFERENCE], check=True)
    (folder / "whole").touch()
    return python


def _version(python: str) -> tuple[int, ...]:
    said = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
    return tuple(int(part) for part in said.stdout.split())


def bench(rows: Sequence[str]) -> int:
    """Measure rows, or all of them, in the checkout that we are part of; gives the process's exit code."""
    home = Path(__file__).resolve().parent.parent.parent
    if not (home / "benchmarks").is_dir():
        raise InputError("the benchmarks are in cleanslate's repository, and this is an installed package")
    return subprocess.run([sys.executable, "-m", "benchmarks", *rows], cwd=home).returncode


def fix(root: Path) -> int:
    """Format, and mend what can be mended without a thought."""
    _bring_tools(root)
    codes = [
        subprocess.run([sys.executable, "-m", "ruff", *words, *_CODE], cwd=root).returncode
        for words in (["check", "--fix"], ["format"])
    ]
    return max(codes)


def _parallel() -> list[str]:
    """Three test processes for two cores: many tests wait for processes rather than compute."""
    return ["-n", str(max(2, (os.cpu_count() or 2) * 3 // 2))]


def _bring_tools(root: Path) -> None:
    """Install the locked development tools into our environment, once for each state of the lock."""
    import hashlib

    locks = [root / "requirements-dev.txt", root / "requirements-ansible.txt"]
    digest = hashlib.sha256(b"".join(lock.read_bytes() for lock in locks)).hexdigest()
    stamp = Path(sys.prefix) / ".cleanslate-dev"
    if stamp.is_file() and stamp.read_text() == digest:
        return
    print("installing the development tools", flush=True)
    install(locks, root)
    stamp.write_text(digest)


def extras(name: str) -> int:
    """Install what an extra of ours needs into our environment; InputError for one that there is not."""
    root = Path(__file__).parents[2]
    locks = {path.stem.removeprefix("requirements-"): path for path in root.glob("requirements-*.txt")}
    locks.pop("dev", None)
    if name not in locks:
        there = f"there is {', '.join(sorted(locks))}" if locks else f"pip install 'cleanslate-runner[{name}]'"
        raise InputError(f'there is no extra "{name}"', fix=there)
    install([locks[name]], root)
    print(f"{name}: installed in {sys.prefix}")
    return 0


def install(locks: Sequence[Path], root: Path) -> None:
    """Install what is locked into our environment, with uv where it is there."""
    import shutil

    wanted = [word for lock in locks for word in ("-r", str(lock))]
    uv = shutil.which("uv")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command = [uv, "pip", "install", "--quiet", "--python", sys.executable] if uv else pip
    subprocess.run([*command, *wanted], cwd=root, check=True)
