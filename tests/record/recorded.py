"""Runs playbooks as `inv play` does, in a small repository of their own, and gives their records."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cleanslate.cli.loading import PlayOptions
from cleanslate.cli.play import play
from cleanslate.cli.settings import Settings
from cleanslate.record import find_run, read_run

INVENTORY = "[all]\nalpha\n[all:vars]\nansible_connection=local\ncolor=green\n"
PLAY = """\
- name: Paint
  hosts: all
  gather_facts: false
  vars: {shade: dark, paint: "{{ shade }} {{ color }}"}
  tasks:
    - name: Say it
      debug: {msg: "is {{ paint }}"}
"""
BROKEN = PLAY.replace('debug: {msg: "is {{ paint }}"}', "fail: {msg: no paint}")
_QUIET = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@localhost",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@localhost",
}


def git(folder: Path, *words: str) -> str:
    """Run git, without anybody's configuration."""
    done = subprocess.run(
        ["git", "-C", str(folder), *words], check=True, capture_output=True, text=True, env={**os.environ, **_QUIET}
    )
    return done.stdout.strip()


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def commit(folder: Path, files: dict[str, str] | None = None, message: str = "a change") -> str:
    """Write files and commit everything; gives the commit."""
    write(folder, files or {})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def repository(folder: Path, files: dict[str, str] | None = None) -> Path:
    """A repository with one playbook, `paint`, and an inventory."""
    git(folder, "init", "-q", "-b", "main")
    own = {"invoke.yaml": "cleanslate:\n  inventory: [hosts.ini]\n", ".gitignore": "/.runs/\n/ignored*\n"}
    commit(folder, {**own, "hosts.ini": INVENTORY, "playbooks/paint.yml": PLAY, **(files or {})}, "the beginning")
    return folder


def settings(folder: Path, **changes: Any) -> Settings:
    """The settings of a repository made here."""
    given: dict[str, Any] = {
        "root": folder,
        "inventory": [str(folder / "hosts.ini")],
        "runs": folder / ".runs",
        "forks": 5,
        "accept_new_host_keys": False,
    }
    return Settings(**{**given, **changes})


@contextmanager
def standing_in(folder: Path) -> Iterator[None]:
    """Be in a folder for a while."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def run(folder: Path, name: str = "paint", **options: Any) -> dict[str, Any]:
    """Run a playbook as `inv play` does; gives the facts of its record, and `folder`, where it lies."""
    with standing_in(folder):
        play(PlayOptions(name, output="quiet", **options), settings(folder))
    found = find_run(folder / ".runs", "last")
    return {**read_run(found), "folder": found}
