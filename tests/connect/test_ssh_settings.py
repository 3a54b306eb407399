"""OpenSSH's configuration, options and variables become one connection's settings, as `ssh` itself would have it."""

from __future__ import annotations

import getpass
import socket
import subprocess
from pathlib import Path

import pytest

from cleanslate.connect.ssh_config import config_text
from cleanslate.connect.ssh_settings import settings_of
from cleanslate.connect.target import Address
from cleanslate.errors import InputError


@pytest.fixture
def configure(own_home):
    """Writes ~/.ssh/config."""

    def write(text):
        (own_home / ".ssh" / "config").write_text(text)

    return write


def test_without_any_configuration(own_home):
    """OpenSSH's defaults."""
    found = settings_of(Address("web"))
    assert ("web", "web", 22, getpass.getuser()) == (found.alias, found.host, found.port, found.user)
    assert (None, None, "yes", "web") == (found.jump, found.proxy_command, found.strict, found.known_name)
    assert own_home / ".ssh" / "known_hosts" == found.known_hosts[0]
    assert (15.0, 3, 45.0, 15.0) == (found.alive_interval, found.alive_count, found.silence, found.connect_timeout)
    assert own_home / ".ssh" / "id_ed25519" in found.default_keys


def test_the_configuration_is_read(configure, own_home):
    """Host sections, first value wins, keys add up."""
    configure(
        "Host web\n  HostName 10.0.0.5\n  Port 2222\n  User me\n  IdentityFile ~/.ssh/one\n"
        "Host *\n  User other\n  IdentityFile ~/.ssh/two\n  ServerAliveInterval 5\n  ConnectTimeout 7\n"
        "  HostKeyAlias known\n  IdentitiesOnly yes\n  StrictHostKeyChecking accept-new\n"
    )
    found = settings_of(Address("web"))
    assert ("10.0.0.5", 2222, "me") == (found.host, found.port, found.user)
    assert tuple(own_home / ".ssh" / name for name in ("one", "two")) == found.identity_files
    assert (5.0, 7.0, "known", True, "accept-new") == (
        found.alive_interval, found.connect_timeout, found.known_name, found.identities_only, found.strict,
    )  # fmt: skip


def test_the_resolver_is_asked_only_for_a_full_name_that_is_wanted(configure, own_home, monkeypatch):
    """Each key file would cost a question to DNS, and as long as that takes."""
    asked = []
    monkeypatch.setattr(socket, "getfqdn", lambda *_: asked.append(1) or "here.example")
    configure("Host *\n  IdentityFile ~/.ssh/%h-%u\n")
    assert (own_home / f".ssh/web-{getpass.getuser()}",) == settings_of(Address("web")).identity_files
    assert [] == asked
    configure("Host *\n  IdentityFile ~/.ssh/%l\n")
    assert (own_home / ".ssh/here.example",) == settings_of(Address("web")).identity_files
    assert [1] == asked


def test_variables_win_over_options_and_those_over_the_configuration(configure):
    """ansible_user, then -o, then ~/.ssh/config."""
    configure("Host *\n  User config\n  Port 1\n  HostKeyAlias config\n")
    found = settings_of(
        Address(
            "web", user="variable", ssh_options=(("User", "option"), ("Port", "2"), ("StrictHostKeyChecking", "no"))
        )
    )
    assert ("variable", 2, "config", "no") == (found.user, found.port, found.known_name, found.strict)


def test_the_configuration_is_asked_for_ansible_host(configure):
    """As Ansible calls `ssh ANSIBLE_HOST`, not the inventory's name."""
    configure("Host web\n  User wrong\nHost 10.0.0.5\n  User right\n")
    assert "right" == settings_of(Address("web", host="10.0.0.5")).user


def test_proxy_command_gets_the_final_host_and_port(configure):
    """Its tokens stand for what the variables say."""
    configure("Host web\n  HostName 10.0.0.5\n  ProxyCommand nc %h %p %r\n")
    assert "nc 10.0.0.5 2222 me" == settings_of(Address("web", port=2222, user="me")).proxy_command


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ProxyJump bastion", Address("bastion", host="bastion")),
        ("ProxyJump me@bastion:2222", Address("bastion", host="bastion", port=2222, user="me")),
        ("ProxyJump me@[::1]:2222", Address("::1", host="::1", port=2222, user="me")),
        ("ProxyJump a,b", Address("b", host="b", via=Address("a", host="a"))),
        ("ProxyJump none", None),
        ("ProxyJump web", None),
        ("ProxyCommand none\n  ProxyJump bastion", None),
    ],
)
def test_proxy_jump(configure, text, expected):
    """One hop, several, none, and the jump host itself."""
    configure(f"Host *\n  {text}\n")
    assert expected == settings_of(Address("web")).jump


def test_what_stands_first_counts_of_proxy_jump_and_command(configure):
    configure("Host *\n  ProxyCommand nc %h %p\n  ProxyJump bastion\n")
    found = settings_of(Address("web"))
    assert (None, "nc web 22") == (found.jump, found.proxy_command)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((("Port", "ssh"),), 'web: the ssh option port is "ssh", not a whole number'),
        (
            (("StrictHostKeyChecking", "maybe"),),
            'web: the ssh option stricthostkeychecking is "maybe"; it is one of yes',
        ),
        ((("ProxyJump", "me@:22"),), r'web: ProxyJump "me@:22" is not \[user@\]host'),
    ],
)
def test_nonsense_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        settings_of(Address("web", ssh_options=options))


def test_a_broken_configuration_is_refused(configure):
    configure("Host 'web\n  User me\n")
    with pytest.raises(InputError, match="web: the ssh configuration cannot be used: Unparsable host"):
        settings_of(Address("web"))


def test_included_files_are_read(configure, own_home):
    """Relative to ~/.ssh, with wildcards; what follows an include belongs to the section around it."""
    folder = own_home / ".ssh" / "conf.d"
    folder.mkdir()
    (folder / "a.conf").write_text("Host db\n  User db\n")
    (folder / "b.conf").write_text("Host web\n  Port 2222\n")
    configure("Include conf.d/*.conf\nHost web\n  Include none\n  User me\n")
    assert ("me", 2222) == (settings_of(Address("web")).user, settings_of(Address("web")).port)
    assert ("db", 22) == (settings_of(Address("db")).user, settings_of(Address("db")).port)


def test_a_file_that_includes_itself_ends(configure):
    configure("Include config\nHost *\n  User me\n")
    assert "me" == settings_of(Address("web")).user


def test_what_the_library_cannot_parse_is_left_out(configure):
    """A new kind of Match is taken for one that does not match, a keyword without value is no reason to stop."""
    configure(
        "Match localnetwork 10.0.0.0/8\n  User wrong\nMatch host\n  User wrong\nTag\n"
        "Match host web exec true\n  User right\nMatch all\n  Port 2222\n"
    )
    found = settings_of(Address("web"))
    assert ("right", 2222) == (found.user, found.port)


def test_another_configuration_file_replaces_the_users(configure, tmp_path):
    """As ssh -F does."""
    configure("Host *\n  User home\n")
    other = tmp_path / "other"
    other.write_text("Host *\n  Port 2222\n")
    found = settings_of(Address("web", ssh_options=(("ConfigFile", str(other)),)))
    assert (getpass.getuser(), 2222) == (found.user, found.port)


def test_a_changed_configuration_is_read_again(configure):
    configure("Host *\n  User one\n")
    assert "one" == settings_of(Address("web")).user
    configure("Host *\n  User another\n")
    assert "another" == settings_of(Address("web")).user


def test_openssh_reads_the_same(configure, own_home):
    """The text that the library gets means to OpenSSH what the files mean."""
    folder = own_home / ".ssh" / "conf.d"
    folder.mkdir()
    (folder / "a.conf").write_text("Host web\n  Port 2222\n")
    configure("Host web\n  Include conf.d/*\n  User me\nHost w*\n  HostName 10.0.0.5\n")
    text = own_home / "text"
    text.write_text(config_text())
    printed = subprocess.run(["ssh", "-G", "-F", str(text), "web"], check=True, capture_output=True, text=True).stdout
    assert {"user me", "port 2222", "hostname 10.0.0.5"} <= set(printed.splitlines())


def test_known_hosts_files(own_home):
    """Several of them, none, and the home folder's token."""
    found = settings_of(
        Address("web", ssh_options=(("UserKnownHostsFile", '/a %d/b "/c d"'), ("GlobalKnownHostsFile", "none")))
    )
    assert (Path("/a"), own_home / "b", Path("/c d")) == found.known_hosts
    quoted = (("UserKnownHostsFile", '"/c d/known"'), ("GlobalKnownHostsFile", "none"))
    assert (Path("/c d/known"),) == settings_of(Address("web", ssh_options=quoted)).known_hosts
    (own_home / ".ssh").mkdir(exist_ok=True)
    (own_home / ".ssh" / "config").write_text('Host web\n  UserKnownHostsFile "/e f"\n  GlobalKnownHostsFile none\n')
    assert (Path("/e f"),) == settings_of(Address("web")).known_hosts


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "/run/agent"),
        ((("IdentityAgent", "none"),), None),
        ((("IdentityAgent", "SSH_AUTH_SOCK"),), "/run/agent"),
        ((("IdentityAgent", "/other"),), "/other"),
    ],
)
def test_the_ssh_agent(monkeypatch, options, expected):
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")
    assert expected == settings_of(Address("web", ssh_options=options)).agent_socket
