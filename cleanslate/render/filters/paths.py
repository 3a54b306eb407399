"""Filters for paths of this machine, and for those of Windows as text."""

from __future__ import annotations

import glob
import ntpath
import os.path
from typing import Any

from cleanslate.errors import RenderError


def _of_text(function: Any) -> Any:
    def call(value: Any, *arguments: Any) -> Any:
        if not isinstance(value, str):
            raise RenderError(f"{function.__name__} wants a path as text, not {type(value).__name__}")
        return function(str(value), *arguments)

    call.__name__ = function.__name__
    return call


def path_join(paths: Any) -> str:
    """The parts as one path; an absolute part starts anew."""
    if isinstance(paths, str):
        return str(paths)
    if isinstance(paths, list | tuple):
        return os.path.join(*[str(part) for part in paths])  # noqa: PTH118 - a filter on text
    raise RenderError(f"path_join wants a list of texts, not {type(paths).__name__}")


def commonpath(paths: Any) -> str:
    """The longest path that all have in common."""
    if isinstance(paths, str) or not hasattr(paths, "__iter__"):
        raise RenderError("commonpath wants a list of paths")
    return os.path.commonpath([str(path) for path in paths])


def relpath(path: Any, start: Any = os.curdir) -> str:
    """The path as seen from another."""
    return os.path.relpath(str(path), str(start))


def fileglob(pattern: Any) -> list[str]:
    """The files of this machine that a pattern names."""
    return [found for found in glob.glob(str(pattern)) if os.path.isfile(found)]  # noqa: PTH113, PTH207


FUNCTIONS = {
    "basename": _of_text(os.path.basename),
    "commonpath": commonpath,
    "dirname": _of_text(os.path.dirname),
    "expanduser": _of_text(os.path.expanduser),
    "expandvars": _of_text(os.path.expandvars),
    "fileglob": fileglob,
    "normpath": _of_text(os.path.normpath),
    "path_join": path_join,
    "realpath": _of_text(os.path.realpath),
    "relpath": relpath,
    "splitext": _of_text(os.path.splitext),
    "win_basename": _of_text(ntpath.basename),
    "win_dirname": _of_text(ntpath.dirname),
    "win_splitdrive": _of_text(ntpath.splitdrive),
}
