"""inv extras: what an extra needs is locked, fits the package's own words, and is installed beside us."""

import re
import subprocess
import sys
from pathlib import Path

from tests.cli.test_inv import inv

ROOT = Path(__file__).parents[2]


def test_the_extra_is_locked_for_every_python():
    """One version of ansible-core for each Python that cleanslate runs on, none below what pyproject.toml says."""
    lock = (ROOT / "requirements-ansible.txt").read_text()
    found = re.findall(r'ansible-core==(\d+)\.(\d+)\.\d+ ; python_version (<|==|>=) "3\.(\d+)"', lock)
    assert [("<", "11"), ("==", "11"), (">=", "12")] == [(sign, minor) for _, _, sign, minor in found]
    assert 'ansible = ["ansible-core>=2.17"]' in (ROOT / "pyproject.toml").read_text()
    assert all((int(major), int(minor)) >= (2, 17) for major, minor, _, _ in found)


def test_it_installs_what_is_locked(monkeypatch, capsys):
    """The command that is run, for this very Python; nothing else of ours is touched."""
    from cleanslate.cli import develop

    ran = []
    monkeypatch.setattr(subprocess, "run", lambda argv, **_: ran.append(argv))
    assert 0 == develop.extras("ansible")
    ((*_, option, lock),) = ran
    assert ("-r", str(ROOT / "requirements-ansible.txt")) == (option, lock)
    assert sys.executable in ran[0]
    assert capsys.readouterr().out.startswith("ansible: installed")


def test_an_extra_that_there_is_not():
    """Says which there are."""
    done = inv("extras", "anisble")
    assert (64, True) == (done.returncode, 'there is no extra "anisble"; there is ansible' in done.stderr)
