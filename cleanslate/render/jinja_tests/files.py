"""Tests of paths on this machine (not on the target: that is the stat step)."""

from __future__ import annotations

import os.path
from pathlib import Path
from typing import Any


def directory(path: Any) -> bool:
    """Whether it is a directory."""
    return Path(path).is_dir()


def regular(path: Any) -> bool:
    """Whether it is a file."""
    return Path(path).is_file()


def link(path: Any) -> bool:
    """Whether it is a symbolic link."""
    return Path(path).is_symlink()


def exists(path: Any) -> bool:
    """Whether it exists; a link whose target is gone does not."""
    return Path(path).exists()


def link_exists(path: Any) -> bool:
    """Whether it exists, if only as a link."""
    return os.path.lexists(path)


def absolute(path: Any) -> bool:
    """Whether it begins at the root."""
    return Path(path).is_absolute()


def same_file(path: Any, other: Any) -> bool:
    """Whether two paths are one file."""
    return Path(path).samefile(other)


def mount(path: Any) -> bool:
    """Whether it is a mount point."""
    return Path(path).is_mount()


def vaulted(path: Any) -> bool:
    """Whether it is a file that ansible-vault encrypted."""
    with Path(path).open("rb") as file:
        return file.read(15) == b"$ANSIBLE_VAULT;"


FUNCTIONS = {
    "abs": absolute,
    "directory": directory,
    "exists": exists,
    "file": regular,
    "is_abs": absolute,
    "is_dir": directory,
    "is_file": regular,
    "is_link": link,
    "is_mount": mount,
    "is_same_file": same_file,
    "link": link,
    "link_exists": link_exists,
    "mount": mount,
    "same_file": same_file,
    "vaulted_file": vaulted,
}
