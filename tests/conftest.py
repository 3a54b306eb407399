"""Fixtures that several rooms' tests share."""

import os
import shutil
import tempfile

from tests.room.fixtures import actor, freezer, gpu_room, libraries, room, rooms, standing_rooms  # noqa: F401 - fixtures


def pytest_configure(config):
    """No test waits for another one's lease on this machine, nor writes into the machine's journal."""
    config.leases = tempfile.mkdtemp(prefix="cleanslate-leases-test-")
    os.environ["CLEANSLATE_LEASES"] = config.leases


def pytest_unconfigure(config):
    """Leave nothing."""
    shutil.rmtree(config.leases, ignore_errors=True)
