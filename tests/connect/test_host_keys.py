"""Whose key is accepted: against a real server, with the very commands that our messages name."""

from __future__ import annotations

import subprocess

import pytest

from cleanslate.errors import Unreachable
from tests.sshd import Sshd, keys


@pytest.fixture
def server(tmp_path):
    with Sshd(tmp_path) as server:
        yield server


def greet(connections, address):
    """A command's output from the address."""
    return connections.target(address).plain("echo hi", deadline=10)["stdout"]


def with_options(server, **options):
    """The server's address with further ssh options, those first."""
    return server.address(ssh_options=(*options.items(), *server.address().ssh_options))


def advised(error):
    """The command that the message advises."""
    return error.fix.partition("accept the key with: ")[2] or error.fix.partition("accept it with: ")[2]


def test_an_unknown_key_is_refused_until_the_advice_is_followed(server, connections):
    """The message has the fingerprint and a command; after the command, the connection opens."""
    server.known_hosts.unlink()
    with pytest.raises(Unreachable, match="the server's host key is not known") as caught:
        greet(connections, server.address())
    listed = subprocess.run(["ssh-keygen", "-l", "-f", keys() / "host.pub"], capture_output=True, text=True).stdout
    assert listed.split()[1] in str(caught.value)
    subprocess.run(advised(caught.value), shell=True, check=True, capture_output=True)
    assert "hi\n" == greet(connections, server.address())


def test_a_changed_key_is_refused_until_the_advice_is_followed(server, connections):
    """The message says where the old key is on file."""
    server.remember("other_host")
    with pytest.raises(Unreachable, match="THE HOST KEY HAS CHANGED") as caught:
        greet(connections, server.address())
    assert f"{server.known_hosts}:1 has SHA256:" in str(caught.value)
    subprocess.run(advised(caught.value), shell=True, check=True, capture_output=True)
    assert "hi\n" == greet(connections, server.address())


@pytest.mark.parametrize("asked", ["option", "run"])
def test_an_unknown_key_is_accepted_and_remembered_when_asked(server, open_connections, asked):
    """By StrictHostKeyChecking=accept-new, or for the whole run; a second connection needs neither."""
    server.known_hosts.unlink()
    options = {"StrictHostKeyChecking": "accept-new"} if asked == "option" else {}
    first = open_connections(accept_new_host_keys=asked == "run")
    assert "hi\n" == greet(first, with_options(server, **options))
    assert "hi\n" == greet(open_connections(), server.address())


def test_a_changed_key_is_refused_even_then(server, open_connections):
    """accept-new is for new keys only."""
    server.remember("other_host")
    with pytest.raises(Unreachable, match="THE HOST KEY HAS CHANGED"):
        greet(open_connections(accept_new_host_keys=True), with_options(server, StrictHostKeyChecking="accept-new"))


@pytest.mark.parametrize("known", ["host", "other_host", None])
def test_without_checking_every_key_is_accepted(server, connections, known):
    """As ssh -o StrictHostKeyChecking=no does; what is on file stays."""
    if known is None:
        server.known_hosts.unlink()
    else:
        server.remember(known)
    before = server.known_hosts.read_text() if known else None
    assert "hi\n" == greet(connections, with_options(server, StrictHostKeyChecking="no"))
    assert before is None or before == server.known_hosts.read_text()


def test_a_revoked_key_is_never_accepted(server, connections):
    """Whatever else is said."""
    server.known_hosts.write_text("@revoked " + server.known_hosts.read_text())
    with pytest.raises(Unreachable, match="marked as revoked"):
        greet(connections, with_options(server, StrictHostKeyChecking="no"))


def test_a_key_filed_without_port_counts(server, connections):
    """OpenSSH looks there too when none is filed with the port."""
    server.known_hosts.write_text(server.known_hosts.read_text().replace(f"[127.0.0.1]:{server.port}", "127.0.0.1"))
    assert "hi\n" == greet(connections, server.address())


def test_a_key_filed_under_an_alias_counts(server, connections):
    """HostKeyAlias; refused and then accepted by the advice as well."""
    address = with_options(server, HostKeyAlias="lab")
    with pytest.raises(Unreachable, match="is not known") as caught:
        greet(connections, address)
    subprocess.run(advised(caught.value), shell=True, check=True, capture_output=True)
    assert "hi\n" == greet(connections, address)


@pytest.mark.slow
def test_the_known_kind_of_key_is_asked_for(tmp_path, connections):
    """A server with several keys, of which the less usual one is on file."""
    key = tmp_path / "rsa"
    subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", key], check=True)
    with Sshd(tmp_path, extra=(f"HostKey {key}",)) as server:
        kind, blob, *_ = key.with_name("rsa.pub").read_text().split()
        server.known_hosts.write_text(f"[127.0.0.1]:{server.port} {kind} {blob}\n")
        assert "hi\n" == greet(connections, server.address())
