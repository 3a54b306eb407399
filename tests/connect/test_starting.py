"""Starting the agent on whatever is there: noisy shells, old Pythons, none at all, shells that never get to it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from cleanslate.connect import bootstrap, client
from cleanslate.connect.target import Address
from cleanslate.errors import CallFailed, NoPython, Unreachable
from tests.connect.conftest import alive
from tests.sshd import Sshd, descendants

INSTALLED = sorted(Path("~/.pyenv/versions").expanduser().glob("3.*/bin/python3"))
MINOR = {path: int(path.parts[-3].split(".")[1]) for path in INSTALLED}
OTHERS = [pytest.param(path, marks=pytest.mark.slow) for path in INSTALLED if MINOR[path] >= 8]


@pytest.fixture
def server(tmp_path):
    with Sshd(tmp_path) as server:
        yield server


def echo(connections, address, deadline=20.0):
    """Whether a call is answered."""
    return connections.target(address).call("trial_calls.echo", {"a": 1}, deadline=deadline).values == {"a": 1}


def test_what_the_login_shell_prints_is_no_matter(server, connections):
    """Before the agent is up, on both outputs, even without an end of line."""
    (server.home / ".bashrc").write_text("echo Welcome; echo careful >&2; head -c 300000 /dev/zero; printf 'no end'\n")
    assert echo(connections, server.address())


def test_nothing_is_left_on_the_target(server, connections):
    """No file, not even a compiled one."""
    assert echo(connections, server.address())
    assert [] == list(server.home.iterdir())


def test_nothing_secret_is_on_the_command_line(server, connections):
    """Nor anything of the call: all of it goes over standard input."""
    target = connections.target(server.address())
    pid = target.call("trial_calls.where", {}, deadline=10)["pid"]
    command_line = Path(f"/proc/{pid}/cmdline").read_bytes()
    assert (True, False) == (b"zlib.decompress" in command_line, b"trial_calls" in command_line)


@pytest.mark.parametrize("python", [sys.executable, *OTHERS])
def test_every_python_from_3_8_on_will_do(sshd, connections, python):
    """Calls, bytes and commands work in it."""
    target = connections.target(sshd.address(python=str(python)))
    assert "hi\n" == target.call("command.run", {"command": "cat"}, blob=b"hi\n", deadline=20)["stdout"]
    assert b"text" == target.call("trial_calls.give", {"text": "text"}, deadline=10).blob


@pytest.fixture
def old_python(tmp_path):
    """Something that says that it is Python 3.6, whatever there is."""
    path = tmp_path / "old-python"
    starter = "import sys; sys.version_info=(3,6,15); exec(sys.argv[-2])"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{starter}" "$@"\n')
    path.chmod(0o755)
    return path


def test_an_old_python_is_refused_by_name(sshd, connections, old_python):
    """The interpreter that was named is the only one that is tried."""
    with pytest.raises(NoPython, match=f"web: ansible_python_interpreter {old_python} is older than Python 3.8"):
        echo(connections, sshd.address(python=str(old_python)))


@pytest.mark.parametrize("python", [path for path in INSTALLED if MINOR[path] < 8] or ["/nowhere/python3"])
def test_really_old_pythons_are_refused(sshd, connections, python):
    with pytest.raises(NoPython, match=r"is older than Python 3\.8|is not there"):
        echo(connections, sshd.address(python=str(python)))


def test_a_python_that_is_not_there(sshd, connections):
    with pytest.raises(NoPython, match="ansible_python_interpreter /nowhere/python3 is not there") as caught:
        echo(connections, sshd.address(python="/nowhere/python3"))
    assert "raw, command and shell work without" in caught.value.fix


def test_an_interpreter_may_have_arguments(sshd, connections):
    """Many write `/usr/bin/env python3`."""
    assert echo(connections, sshd.address(python=f"/usr/bin/env {sys.executable}"))


def test_an_old_python_is_passed_over(sshd, connections, old_python, monkeypatch):
    """Without a named interpreter, the next candidate is tried."""
    monkeypatch.setattr(bootstrap, "_PYTHONS", f"nowhere {old_python} {sys.executable}")
    assert echo(connections, sshd.address())


def test_no_python_at_all(sshd, connections, old_python, monkeypatch):
    """Told once, remembered, and plain commands still work."""
    monkeypatch.setattr(bootstrap, "_PYTHONS", f"nowhere {old_python}")
    target = connections.target(sshd.address())
    for _ in range(2):
        with pytest.raises(NoPython, match=rf"web has no Python 3\.8 or later \({old_python}: older than 3\.8\)"):
            target.call("trial_calls.echo", {}, deadline=10)
    assert "hi\n" == target.plain("echo hi", deadline=10)["stdout"]
    monkeypatch.undo()
    connections.reset(target.address)


def test_after_a_reset_python_is_looked_for_again(sshd, connections, tmp_path):
    """It may have been installed meanwhile."""
    python = tmp_path / "python"
    target = connections.target(sshd.address(python=str(python)))
    with pytest.raises(NoPython):
        target.call("trial_calls.give", {"text": ""}, deadline=10)
    python.symlink_to(sys.executable)
    connections.reset(target.address)
    assert b"a" == target.call("trial_calls.give", {"text": "a"}, deadline=10).blob


def test_a_login_shell_that_refuses(server, connections):
    """Its words are in the message."""
    (server.home / ".bashrc").write_text("echo This account is not available. >&2; exit 1\n")
    with pytest.raises(NoPython, match=r"ended with 1 before it ran anything of ours: This account is not available\."):
        echo(connections, server.address())


@pytest.mark.slow
def test_a_login_shell_that_never_comes_to_the_point(server, connections, monkeypatch):
    """The call was surely not made: an agent that starts late finds its input closed."""
    monkeypatch.setattr(client, "START", 0.3)
    (server.home / ".bashrc").write_text(f"while [ ! -e {server.home}/go ]; do sleep 0.1; done\n")
    target = connections.target(server.address())
    with pytest.raises(Unreachable, match=r"the login shell did not start the agent within 0\.3 s"):
        target.call("trial_calls.change", {"path": str(server.home / "made")}, deadline=20)
    waiting = [pid for session in server.sessions() for pid in descendants(session)]
    (server.home / "go").touch()
    until = time.monotonic() + 10
    while any(map(alive, waiting)) and time.monotonic() < until:
        time.sleep(0.02)
    assert (True, False) == (bool(waiting), (server.home / "made").exists())


def test_a_python_that_crashes_at_once(sshd, connections, tmp_path):
    """What it wrote to standard error is in the message."""
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho libpython is missing >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(NoPython, match="ended with 1 before it ran anything of ours: libpython is missing"):
        echo(connections, sshd.address(python=str(broken)))


def test_local_hosts_share_one_agent(local, shared):
    """Whatever their names; another user has another one."""
    other = shared.target(Address("also-here", kind="local"))
    assert local is other


def test_the_agent_sees_no_input_of_its_own(web):
    """A command that reads its standard input finds the end, not our frames."""
    assert "" == web.call("command.run", {"argv": ["cat"]}, deadline=10)["stdout"]


def test_a_crash_of_the_agent_is_told(connections, sshd):
    """What it wrote to standard error comes with the lost call."""
    target = connections.target(sshd.address())
    code = "import os,sys; os.write(2, b'fatal: out of luck'); os._exit(3)"
    with pytest.raises(Exception, match="fatal: out of luck"):
        target.call("trial_calls.run_here", {"code": code}, deadline=10)


def test_a_call_of_a_module_that_does_not_import(connections, sshd):
    """A bug, with its reason."""
    target = connections.target(sshd.address())
    with pytest.raises(CallFailed, match="ModuleNotFoundError"):
        target.call("trial_broken.echo", {}, deadline=10)
