"""Reads the files of a folder, in the order of their names."""

import os
import re

from cleanslate.remote.oserrors import told
from cleanslate.remote.paths import expand
from cleanslate.remote.registry import Failed, reads


@reads
@told()
def read_all(call, path, regexp=None, ignore_hidden=False):
    """The contents of a folder's files one after the other as one blob; gives {path, names, sizes}."""
    path = expand(path)
    if not os.path.isdir(path):
        raise Failed("wrong" if os.path.lexists(path) else "missing", f"there is no folder {path}")
    pattern = re.compile(regexp) if regexp else None
    names = [name for name in sorted(os.listdir(path)) if _chosen(os.path.join(path, name), pattern, ignore_hidden)]
    contents = []
    for name in names:
        with open(os.path.join(path, name), "rb") as file:
            contents.append(file.read())
    return {"path": path, "names": names, "sizes": [len(content) for content in contents]}, b"".join(contents)


def _chosen(path, pattern, ignore_hidden):
    name = os.path.basename(path)
    hidden = ignore_hidden and name.startswith(".")
    return os.path.isfile(path) and not hidden and (pattern is None or pattern.search(name) is not None)
