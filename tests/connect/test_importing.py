"""Paramiko is imported without the readers of mail and zip archives, and is none the worse for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

CHECKS = {
    "it knows its version": (
        "import paramiko; from importlib import metadata; print(paramiko.__version__ == metadata.version('paramiko'))"
    ),
    "it came without them": "print(not {'email.message', 'zipfile', 'importlib.metadata'} & set(sys.modules))",
    "the real one is there afterwards": (
        "import importlib.metadata; print(importlib.metadata.version('invoke').count('.') > 0)"
    ),
    "a second time is nothing": "import_paramiko(); import paramiko; print(paramiko.Transport.__name__ == 'Transport')",
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_paramiko_is_whole(check: str) -> None:
    """In a process that has imported nothing else."""
    start = "import sys; from cleanslate.connect.importing import import_paramiko; import_paramiko(); "
    said = subprocess.run([sys.executable, "-c", start + check], capture_output=True, text=True, check=True)
    assert "True\n" == said.stdout


def test_the_stand_in_gives_way_to_the_real_one() -> None:
    """To whoever asks it for more than paramiko's version meanwhile."""
    code = (
        "import sys; from cleanslate.connect.importing import _only_the_version; "
        "stand_in = sys.modules['importlib.metadata'] = _only_the_version('1.2.3'); "
        "from importlib.metadata import version, PackageNotFoundError; "
        "print(version('paramiko'), version('invoke').count('.') > 0, PackageNotFoundError.__name__)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "1.2.3 True PackageNotFoundError\n" == said.stdout


def test_fifty_hosts_that_begin_together_find_all_of_it() -> None:
    """Each in its own thread, and none goes on while another one is in the middle of the import."""
    code = (
        "import sys, threading\n"
        "from cleanslate.connect.importing import import_paramiko\n"
        "sys.setswitchinterval(1e-5)\n"
        "failed = []\n"
        "def begin():\n"
        "    try:\n"
        "        import_paramiko()\n"
        "        from paramiko.client import SSHClient\n"
        "        from paramiko.message import Message\n"
        "    except BaseException as error:\n"
        "        failed.append(error)\n"
        "threads = [threading.Thread(target=begin) for _ in range(50)]\n"
        "[thread.start() for thread in threads], [thread.join() for thread in threads]\n"
        "print(failed)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[]\n" == said.stdout
