"""Fixtures that several rooms' tests share."""

import gc
import os
import shutil
import tempfile

import tests.laws  # noqa: F401 - the profiles of Hypothesis, which pytest is told by name
from tests.room.fixtures import actor, freezer, gpu_room, libraries, room, rooms, standing_rooms  # noqa: F401 - fixtures


def pytest_configure(config):
    """No test waits for another one's lease on this machine, nor writes into the machine's journal.

    Each of several test processes has its own folder for what Hypothesis keeps: at the first run of a checkout they
    would write the same tables at the same moment, and one would not find what the other has just moved.
    """
    config.leases = tempfile.mkdtemp(prefix="cleanslate-leases-test-")
    os.environ["CLEANSLATE_LEASES"] = config.leases
    gc.set_threshold(100_000, 20, 50)  # what four thousand tests are made of stays: do not look through it all the time
    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(config.rootpath / ".hypothesis" / worker)


def pytest_unconfigure(config):
    """Leave nothing."""
    shutil.rmtree(config.leases, ignore_errors=True)
