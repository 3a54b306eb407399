"""Runs an Ansible module that the controller has packaged: a Python program, sent as the call's data."""

import sys

from cleanslate.remote import command
from cleanslate.remote.registry import Failed, changes

_KEEP = 16777216  # bytes of each end of the outputs; a module's answer is one JSON text, which must come whole


@changes
def run(call, environment=None):
    """Run the program with this very Python, from its standard input. Gives what command.run gives."""
    if call.blob is None:
        raise Failed("wrong", "there is no module to run")
    return command.run(call, argv=[sys.executable, "-"], environment=environment, keep=_KEEP)
