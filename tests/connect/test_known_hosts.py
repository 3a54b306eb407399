"""known_hosts as OpenSSH writes and reads it: plain, with ports, patterns, negations, hashes and markers."""

from __future__ import annotations

import subprocess

import pytest

from cleanslate.connect.known_hosts import fingerprint, known_keys, marked, remember
from tests.sshd import keys


def public(name="host"):
    """The type and base64 text of one of the test keys."""
    return (keys() / f"{name}.pub").read_text().split()[:2]


@pytest.mark.parametrize(
    ("hosts", "name", "found"),
    [
        ("web", "web", True),
        ("web", "WEB", True),
        ("web", "webs", False),
        ("db,web", "web", True),
        ("[web]:2222", "[web]:2222", True),
        ("[web]:2222", "[web]:2223", False),
        ("web", "[web]:2222", False),
        ("*.example.org", "a.example.org", True),
        ("*.example.org,!b.example.org", "b.example.org", False),
        ("10.0.0.?", "10.0.0.7", True),
        ("[10.0.0.*]:22*", "[10.0.0.7]:2222", True),
        ("#web", "web", False),
    ],
)
def test_a_line_names_a_host(tmp_path, hosts, name, found):
    """Names, ports, wildcards and negations."""
    file = tmp_path / "known_hosts"
    file.write_text(f"{hosts} {' '.join(public())} a comment\n")
    assert found == bool(known_keys([file], [name]))


@pytest.mark.parametrize("name", ["web", "[127.0.0.1]:2222"])
def test_hashed_names_are_found(tmp_path, name):
    """As ssh-keygen -H hashes them."""
    file = tmp_path / "known_hosts"
    file.write_text(f"{name} {' '.join(public())}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(file)], check=True, capture_output=True)
    assert "|1|" in file.read_text()
    assert (1, 0) == (len(known_keys([file], [name])), len(known_keys([file], ["other"])))


def test_markers(tmp_path):
    """A revoked key is known as such; certificate authorities are not keys of the host."""
    file = tmp_path / "known_hosts"
    key = " ".join(public())
    file.write_text(f"@revoked web {key}\n@cert-authority web {key}\nweb broken\nweb ssh-ed25519 !!!\n")
    assert [(True, 1)] == [(found.revoked, found.line) for found in known_keys([file], ["web"])]


def test_missing_files_are_empty(tmp_path):
    """So is a folder."""
    assert [] == known_keys([tmp_path / "none", tmp_path], ["web"])


def test_fingerprints_are_openssh_ones():
    """The same text as ssh-keygen -l prints."""
    import base64

    printed = subprocess.run(
        ["ssh-keygen", "-l", "-f", str(keys() / "host.pub")], check=True, capture_output=True, text=True
    ).stdout
    assert fingerprint(base64.b64decode(public()[1])) == printed.split()[1]


def test_remembering_makes_the_file_and_ends_lines(tmp_path):
    """A file whose last line has no end keeps it."""
    file = tmp_path / "ssh" / "known_hosts"
    remember(file, "one", "ssh-ed25519", b"1")
    file.write_bytes(file.read_bytes().rstrip(b"\n"))
    remember(file, "two", "ssh-ed25519", b"2")
    assert "one ssh-ed25519 MQ==\ntwo ssh-ed25519 Mg==\n" == file.read_text()
    assert 0o700 == file.parent.stat().st_mode & 0o777


@pytest.mark.parametrize(("port", "expected"), [(22, "web"), (2222, "[web]:2222")])
def test_the_usual_port_is_not_written(port, expected):
    assert expected == marked("web", port)


def test_a_file_that_has_changed_is_read_again(tmp_path):
    """It is kept for the many hosts of one run; a key that somebody adds meanwhile counts."""
    file = tmp_path / "known_hosts"
    found = [len(known_keys([file], ["web"]))]
    for name in ("web", "web"):
        remember(file, name, "ssh-ed25519", name.encode() * (1 + len(found)))
        found.append(len(known_keys([file], ["web"])))
    file.unlink()
    assert [0, 1, 2, 0] == [*found, len(known_keys([file], ["web"]))]
