"""The tools that we are measured beside, installed into an environment of their own under the cache folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

WANTED = ("ansible-core", "mitogen", "pyinfra", "fabric", "asyncssh")


def folder() -> Path:
    """Where the environment lies: `$XDG_CACHE_HOME/cleanslate/peers`, or where `CLEANSLATE_PEERS` says."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("CLEANSLATE_PEERS") or Path(cache, "cleanslate", "peers"))


def program(name: str) -> str:
    """The path of a program of the environment, which is made when it is missing."""
    place = folder()
    stamp = place / "installed"
    if not stamp.exists():
        print(f"installing {', '.join(WANTED)} into {place}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *WANTED], check=True)
        stamp.touch()
    return str(place / "bin" / name)


def versions() -> str:
    """What is installed there, as one line."""
    listing = [program("python"), "-m", "pip", "list", "--disable-pip-version-check", "--format=freeze"]
    said = subprocess.run(listing, check=True, capture_output=True, text=True).stdout
    known = dict(line.split("==") for line in said.split() if "==" in line)
    return ", ".join(f"{name} {known.get(name, 'missing')}" for name in WANTED)


def mitogen_strategies() -> str:
    """The folder of mitogen's strategies for Ansible."""
    asking = [program("python"), "-c", "import ansible_mitogen, os; print(os.path.dirname(ansible_mitogen.__file__))"]
    found = subprocess.run(asking, check=True, capture_output=True, text=True).stdout.strip()
    return f"{found}/plugins/strategy"
