"""A server, and playbooks that have the modules of this folder beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runner.plays import run_play
from tests.sshd import SYSTEM_PATH, Sshd

HERE = Path(__file__).parent

SUDO = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
SUDO_USER=$USER exec "$@"
"""


@pytest.fixture(scope="session")
def sshd(tmp_path_factory):
    """One whose sudo lets everybody become anybody, by name only."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "sudo").write_text(SUDO)
    (folder / "sudo").chmod(0o755)
    with Sshd(tmp_path_factory.mktemp("sshd"), path=f"{folder}:{SYSTEM_PATH}") as server:
        yield server


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A playbook's folder; the modules of this one are found for it, and packaged once for all tests."""
    monkeypatch.setenv("ANSIBLE_LIBRARY", str(HERE / "library"))
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", str(HERE / "collections"))
    return tmp_path


@pytest.fixture
def play(folder, sshd):
    """Runs steps, given as YAML, on hosts that all are that server."""

    def run(steps: str, *, hosts: str = "alpha", play: str = "", **settings):
        options = f"-o UserKnownHostsFile={sshd.known_hosts} -o IdentitiesOnly=yes"
        inventory = (
            "\n".join(["[all]", *hosts.split()])
            + f"\n[all:vars]\nansible_host=127.0.0.1\nansible_port={sshd.port}\n"
            + f"ansible_ssh_private_key_file={sshd.key}\nansible_ssh_common_args={options!r}\n"
        )
        lines = "\n".join("    " + line for line in steps.strip("\n").splitlines())
        text = f"- hosts: all\n  gather_facts: false\n{play}  tasks:\n{lines}\n"
        return run_play(folder, text, inventory=inventory, **settings)

    return run
