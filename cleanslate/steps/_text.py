"""Content of files as people see it in a diff, and its checksums."""

from __future__ import annotations

import hashlib

from cleanslate.model import Diff

SHOWN = 100 * 1024
"""Larger contents are named, not shown, in a diff."""


def content_diff(
    path: str,
    before: bytes | None,
    after: bytes | None,
    *,
    size: int | None = None,
    after_size: int | None = None,
    encoding: str = "utf-8",
) -> Diff:
    """A diff of two contents (None: no file). The sizes are those of contents too large to be at hand."""
    if size is None and after_size is None and _shows(before, encoding) and _shows(after, encoding):
        return Diff(path, _decoded(before, encoding), _decoded(after, encoding))
    return Diff(path, _named(before, size), _named(after, after_size))


def _shows(content: bytes | None, encoding: str = "utf-8") -> bool:
    if content is None:
        return True
    if len(content) > SHOWN or b"\0" in content:
        return False
    try:
        content.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _decoded(content: bytes | None, encoding: str) -> str | None:
    return None if content is None else content.decode(encoding)


def _named(content: bytes | None, size: int | None) -> str | None:
    if size is not None:
        return f"({size} bytes, too large to show)\n"
    if content is None:
        return None
    what = "too large to show" if len(content) > SHOWN else "text" if _shows(content) else "not text"
    return f"({len(content)} bytes, {what}, SHA-1 {sha1(content)})\n"


def sha1(content: bytes) -> str:
    """Ansible's `checksum` of a content."""
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def md5(content: bytes) -> str | None:
    """Ansible's `md5sum` of a content; None where the system forbids MD5."""
    try:
        return hashlib.md5(content, usedforsecurity=False).hexdigest()
    except ValueError:
        return None
