"""Makes temporary files and folders."""

import os
import tempfile

from cleanslate.remote import attributes
from cleanslate.remote.oserrors import told
from cleanslate.remote.paths import expand
from cleanslate.remote.registry import changes


@changes
@told()
def make(call, directory=False, path=None, prefix="cleanslate.", suffix=""):
    """Make an empty file or folder that only this user can read; gives Ansible's file fields and path."""
    folder = expand(path) if path else None
    if directory:
        made = tempfile.mkdtemp(prefix=prefix, suffix=suffix, dir=folder)
    else:
        handle, made = tempfile.mkstemp(prefix=prefix, suffix=suffix, dir=folder)
        os.close(handle)
    return dict(attributes.describe(made), path=made)
