"""Fixtures that several rooms' tests share."""

import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path

import tests.laws  # noqa: F401 - the profiles of Hypothesis, which pytest is told by name
from tests.room.fixtures import actor, freezer, gpu_room, libraries, room, rooms, standing_rooms  # noqa: F401 - fixtures


def pytest_configure(config):
    """No test waits for another one's lease on this machine, nor writes into the machine's journal.

    Each of several test processes has its own folder for what Hypothesis keeps: at the first run of a checkout they
    would write the same tables at the same moment, and one would not find what the other has just moved.
    """
    config.leases = tempfile.mkdtemp(prefix="cleanslate-leases-test-")
    os.environ["CLEANSLATE_LEASES"] = config.leases
    _keep_bytecode()
    gc.set_threshold(100_000, 20, 50)  # what four thousand tests are made of stays: do not look through it all the time
    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(config.rootpath / ".hypothesis" / worker)


def _keep_bytecode():
    """Where Python was told to write no bytecode, keep it in the virtual environment, also that of processes we start.

    Else each of three test processes compiles every test, and each `inv`, lab and agent that a test starts our code.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None) and sys.prefix != sys.base_prefix:
        sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(Path(sys.prefix, "bytecode"))
        sys.dont_write_bytecode = False


def pytest_unconfigure(config):
    """Leave nothing."""
    shutil.rmtree(config.leases, ignore_errors=True)
