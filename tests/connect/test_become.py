"""Becoming another user through sudo: without a password, with one, and every way in which it fails."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cleanslate.connect.target import Address, Become
from cleanslate.errors import Unreachable
from tests.sshd import SYSTEM_PATH, Sshd, keys

# Does what sudo does with what we give it, as the user who runs the tests. The password, if any, is in a file.
SUDO = """#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in
    -n) never=1 ;; -S) reads=1 ;; -p) prompt=$2; shift ;; -u) user=$2; shift ;; --) shift; break ;;
  esac
  shift
done
echo "$user: $*" >> "$0.log"
if [ -f "$0.refuses" ]; then echo "sudo: sorry, you must have a tty to run sudo" >&2; exit 1; fi
if [ -f "$0.password" ]; then
  if [ "$never" ]; then echo "sudo: a password is required" >&2; exit 1; fi
  for try in 1 2 3; do
    printf %s "$prompt" >&2
    IFS= read -r given || exit 1
    [ "$given" = "$(cat "$0.password")" ] && break
    echo "Sorry, try again." >&2
    [ $try = 3 ] && exit 1
  done
fi
SUDO_USER=$USER exec "$@"
"""


class Sudo:
    """The stand-in, and what it should do."""

    def __init__(self, folder):
        self.path = folder / "sudo"
        self.path.write_text(SUDO)
        self.path.chmod(0o755)

    def want(self, password):
        self.path.with_name("sudo.password").write_text(password)

    def refuse(self):
        self.path.with_name("sudo.refuses").touch()

    @property
    def log(self):
        log = self.path.with_name("sudo.log")
        return log.read_text() if log.exists() else ""


@pytest.fixture
def sudo(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    return Sudo(folder)


@pytest.fixture(params=["ssh", pytest.param("local", marks=pytest.mark.slow)])
def address(request, tmp_path, sudo, monkeypatch):
    """A target whose PATH has our sudo first."""
    path = f"{sudo.path.parent}:{SYSTEM_PATH}"
    if request.param == "local":
        monkeypatch.setenv("PATH", path)
        yield Address("here", kind="local")
    else:
        with Sshd(tmp_path, path=path) as server:
            yield server.address()


OTHER = Become(user="somebody")


def became(target):
    """Whether a call and a plain command both went through sudo."""
    environment = target.call("trial_calls.where", {}, deadline=10)["environ"]
    plain = target.plain("echo ${SUDO_USER+became} && cat", stdin=b"input", deadline=10)
    return ("SUDO_USER" in environment, plain["stdout"], plain["rc"]) == (True, "became\ninput", 0)


def test_without_a_password(address, connections, sudo):
    """Sudo -n is all it takes."""
    assert became(connections.target(address, OTHER))


@pytest.mark.parametrize("wanted", [True, False])
def test_with_the_password_of_the_variables(address, connections, sudo, wanted):
    """Given when it is asked for; not given away to the command when it is not."""
    if wanted:
        sudo.want("geh'eim $x")
    assert became(connections.target(address, Become(user="somebody", password="geh'eim $x")))
    assert "geh" not in sudo.log


@pytest.mark.slow
def test_the_password_is_asked_for_once(address, open_connections, sudo):
    """When the first sudo wants one; for every target of the run."""
    sudo.want("geheim")
    asked = []
    connections = open_connections(become_password=lambda: asked.append(1) or "geheim")
    assert became(connections.target(address, OTHER))
    assert became(connections.target(address, Become(user="somebody-else")))
    assert [1] == asked


def test_nobody_to_ask(address, connections, sudo):
    """An early, clear failure, for calls and plain commands."""
    sudo.want("geheim")
    target = connections.target(address, OTHER)
    for attempt in (lambda: target.call("trial_calls.echo", {}, deadline=10), lambda: target.plain("id", deadline=10)):
        with pytest.raises(Unreachable, match="sudo wants a password for becoming somebody") as caught:
            attempt()
        assert "ansible_become_password" in caught.value.fix


def test_a_wrong_password(address, connections, sudo):
    """Told at the second question; the password is not shown, nor tried again."""
    sudo.want("geheim")
    target = connections.target(address, Become(user="somebody", password="falsch"))
    for attempt in (lambda: target.call("trial_calls.echo", {}, deadline=10), lambda: target.plain("id", deadline=10)):
        with pytest.raises(Unreachable, match="sudo does not take the password for becoming somebody") as caught:
            attempt()
        assert "falsch" not in str(caught.value)
        assert "Sorry, try again" in str(caught.value)


@pytest.mark.parametrize("password", [None, "geheim"])
def test_a_sudo_that_refuses(address, connections, sudo, password):
    """Its own words."""
    sudo.refuse()
    target = connections.target(address, Become(user="somebody", password=password))
    with pytest.raises(Unreachable, match=r"sudo does not let us become somebody: .*you must have a tty to run sudo"):
        target.call("trial_calls.echo", {}, deadline=10)


def test_becoming_who_we_are_needs_no_sudo(address, connections, sudo):
    """Containers often have none."""
    target = connections.target(address, Become(user=getpass.getuser()))
    assert "hi\n" == target.plain("echo hi", deadline=10)["stdout"]
    target.call("trial_calls.echo", {}, deadline=10)
    assert "" == sudo.log


def test_flags_are_passed_on(address, connections, sudo):
    """As they are."""
    target = connections.target(address, Become(user="somebody", flags="--chdir '/tmp'"))
    assert "" != target.call("trial_calls.where", {}, deadline=10)["argv"]


@pytest.mark.slow
def test_users_have_agents_of_their_own(address, connections, sudo):
    """One for each user, on one connection."""
    pids = {
        connections.target(address, become).call("trial_calls.where", {}, deadline=10)["pid"]
        for become in (None, OTHER, Become(user="another"), OTHER)
    }
    assert 3 == len(pids)


def test_an_exit_code_under_sudo_is_the_commands(address, connections, sudo):
    """A command that fails is not a sudo that refuses."""
    assert 3 == connections.target(address, OTHER).plain("echo x >&2; exit 3", deadline=10)["rc"]


@pytest.fixture
def member():
    """A user of this machine with a password, who may use sudo with it. Needs root."""
    name = "cleanslate-test"
    rule = Path("/etc/sudoers.d") / name
    subprocess.run(["useradd", "--no-create-home", "--home-dir", "/", "--shell", "/bin/sh", name], check=True)
    try:
        subprocess.run(["chpasswd"], input=f"{name}:geheim\n", text=True, check=True)
        rule.write_text(f"{name} ALL=(ALL) ALL\n")
        rule.chmod(0o440)
        yield name
    finally:
        rule.unlink(missing_ok=True)
        subprocess.run(["userdel", name], check=True, capture_output=True)
        for leftover in (Path("/run/sudo/ts") / name, Path("/var/lib/sudo/lectured") / name):
            with contextlib.suppress(OSError):
                leftover.unlink()


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("sudo"), reason="makes a user and asks the real sudo")
def test_the_real_sudo(member, tmp_path_factory, open_connections):
    """From a user without rights to root, with the password; it fails well without one, and with a wrong one."""
    folder = Path(tmp_path_factory.mktemp("open"))
    for path in (folder, *folder.parents[:-2]):
        path.chmod(0o755)
    with Sshd(folder) as server:
        for path in (server.folder, server.home):
            path.chmod(0o755)
        (server.folder / "authorized_keys").chmod(0o644)
        assert keys().exists()
        address = server.address(user=member)
        root = Become()
        with pytest.raises(Unreachable, match="sudo wants a password for becoming root"):
            open_connections().target(address, root).call("trial_calls.echo", {}, deadline=20)
        with pytest.raises(Unreachable, match="sudo does not take the password"):
            open_connections().target(address, Become(password="falsch")).call("trial_calls.echo", {}, deadline=20)
        connections = open_connections(become_password=lambda: "geheim")
        target = connections.target(address, root)
        assert 0 == target.call("trial_calls.where", {}, deadline=20)["uid"]
        assert "root\n" == target.plain("id -un", deadline=20)["stdout"]
        assert 0 != connections.target(address).call("trial_calls.where", {}, deadline=20)["uid"]
