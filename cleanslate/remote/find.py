"""Searches below folders, and tells which patterns match something."""

import glob
import os

from cleanslate.remote.paths import expand
from cleanslate.remote.registry import reads


@reads
def matching(call, patterns, chdir=None):
    """{"matched": {pattern: whether a path matches it}}; relative ones are looked for in `chdir`."""
    base = expand(chdir) if chdir else ""
    return {"matched": {pattern: _matches(os.path.join(base, expand(pattern))) for pattern in patterns}}


def _matches(pattern):
    return bool(os.path.lexists(pattern) or next(glob.iglob(pattern), None))
