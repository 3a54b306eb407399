"""Opening ssh connections: ways there, ways to log in, and everything that can be in the way of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import threading
import time

import asyncssh
import pytest

from cleanslate.connect.connections import RunConnections
from cleanslate.connect.target import Address
from cleanslate.errors import InputError, Interrupted, Unreachable
from tests.connect.conftest import NOTHING
from tests.sshd import Sshd, free_port, keys, make_key


def greet(connections, address, deadline=10.0):
    """A command's output from the address."""
    return connections.target(address).plain("echo hi", deadline=deadline)["stdout"]


@pytest.fixture
def server(tmp_path):
    with Sshd(tmp_path) as server:
        yield server


@pytest.fixture
def configure(own_home):
    """Writes ~/.ssh/config."""
    return (own_home / ".ssh" / "config").write_text


# ---------------------------------------------------------------------- ways there


def test_a_host_of_the_configuration(sshd, connections, configure):
    """HostName, Port, User, IdentityFile and UserKnownHostsFile come from ~/.ssh/config."""
    configure(sshd.config_entry("web"))
    assert "hi\n" == greet(connections, Address("web"))


def test_through_a_jump_host(sshd, server, connections, configure):
    """ProxyJump: calls reach the second server through a login on the first."""
    configure(server.config_entry("bastion") + sshd.config_entry("web", "ProxyJump bastion"))
    target = connections.target(Address("web"))
    assert {"a": 1} == target.call("trial_calls.echo", {"a": 1}, deadline=10).values
    assert 1 == len(re.findall("Accepted publickey", server.log.read_text()))


@pytest.mark.slow
def test_through_two_jump_hosts_that_are_shared(sshd, server, tmp_path, connections, configure):
    """Two hosts behind the same chain use one connection to each hop."""
    with Sshd(tmp_path / "second") as second:
        entries = [sshd.config_entry("a"), second.config_entry("b"), server.config_entry("web db", "ProxyJump a,b")]
        configure("".join(entries))
        assert ["hi\n", "hi\n"] == [greet(connections, Address(name)) for name in ("web", "db")]
        assert 1 == len(re.findall("Accepted publickey", second.log.read_text()))


def test_a_jump_host_that_is_away_is_named(server, connections, configure):
    """The message is about the jump host."""
    entry = server.config_entry("web", "ProxyJump bastion")
    configure(f"Host bastion\n  HostName 127.0.0.1\n  Port {free_port()}\n{entry}")
    with pytest.raises(Unreachable, match=r"bastion \(127\.0\.0\.1:\d+\) cannot be reached .*Connection refused"):
        greet(connections, Address("web"))


def test_a_jump_host_that_may_not_forward(tmp_path, server, connections, configure):
    """The message says through whom it was tried."""
    with Sshd(tmp_path / "bastion", extra=("AllowTcpForwarding no",)) as bastion:
        configure(bastion.config_entry("bastion") + server.config_entry("web", "ProxyJump bastion"))
        with pytest.raises(Unreachable, match=r"web .*\(connecting through bastion\)"):
            greet(connections, Address("web"))


def test_jumping_in_circles_is_refused(connections, configure):
    configure("Host a\n  ProxyJump b\nHost b\n  ProxyJump a\n")
    with pytest.raises(InputError, match="a: ProxyJump goes in a circle"):
        greet(connections, Address("a"))


@pytest.mark.slow
def test_through_a_proxy_command(sshd, connections, configure):
    """With its tokens replaced."""
    entry = (
        sshd.config_entry("hop").replace("\n  ", " -o ").partition(" -o ")[2].replace(" ", "=").replace("=-o=", " -o ")
    )
    command = f"ssh -F none -o {entry.strip()} -W %h:%p 127.0.0.1"
    configure(sshd.config_entry("web", f"ProxyCommand {command}"))
    assert "hi\n" == greet(connections, Address("web"))


def test_a_proxy_command_that_fails_is_quoted(connections, configure):
    """Its last words are the reason; the failure is noticed at once."""
    configure("Host web\n  ProxyCommand echo no way there >&2; exit 1\n")
    began = time.monotonic()
    with pytest.raises(Unreachable, match="ProxyCommand: no way there"):
        greet(connections, Address("web"))
    assert time.monotonic() - began < 8


# ---------------------------------------------------------------------- logging in


@pytest.mark.parametrize("kind", [pytest.param("rsa", marks=pytest.mark.slow), "ecdsa", "ed25519"])
def test_default_keys_are_tried(tmp_path, own_home, connections, kind):
    """~/.ssh/id_*, without naming them."""
    key = make_key(own_home / ".ssh" / f"id_{kind}", kind=kind)
    with Sshd(tmp_path) as server:
        (server.folder / "authorized_keys").write_text(key.with_name(f"{key.name}.pub").read_text())
        options = (("UserKnownHostsFile", str(server.known_hosts)),)
        assert "hi\n" == greet(connections, server.address(identity_files=(), ssh_options=options))


def test_a_key_that_is_not_accepted(sshd, tmp_path, connections):
    """The message says who tried to get in with what."""
    key = make_key(tmp_path / "stranger")
    with pytest.raises(Unreachable, match=rf"web|127\.0\.0\.1: the server does not let \S+ in; tried {key}") as caught:
        greet(connections, sshd.address(identity_files=(str(key),)))
    assert "ansible_ssh_private_key_file" in caught.value.fix


def test_keys_that_cannot_be_used_are_named(sshd, tmp_path, connections):
    """Missing, encrypted and broken ones, each with its reason."""
    broken = tmp_path / "broken"
    broken.write_text("no key")
    encrypted = make_key(tmp_path / "encrypted", passphrase="geheim")
    files = (str(tmp_path / "missing"), str(encrypted), str(broken))
    with pytest.raises(Unreachable) as caught:
        greet(connections, sshd.address(identity_files=files))
    message = str(caught.value)
    assert f"{tmp_path}/missing: there is no such file" in message
    assert f"{encrypted}: it is encrypted, so it must be in the ssh agent: ssh-add" in message
    assert f"{broken}: " in message


def test_an_unusable_key_does_not_stop_the_others(sshd, tmp_path, connections):
    """As OpenSSH goes on to the next."""
    files = (str(tmp_path / "missing"), str(sshd.key))
    assert "hi\n" == greet(connections, sshd.address(identity_files=files))


@pytest.fixture
def ssh_agent(tmp_path, monkeypatch):
    """A real ssh agent; gives a function that adds a key."""
    path = tmp_path / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL)
    while not path.exists():
        time.sleep(0.005)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
    yield lambda key: subprocess.run(["ssh-add", "-q", key], check=True, stdin=subprocess.DEVNULL)
    process.terminate()
    process.wait()


@pytest.mark.parametrize("only", ["yes", "no"])
def test_the_ssh_agents_keys(sshd, tmp_path, connections, ssh_agent, only):
    """A key that only the agent has; with IdentitiesOnly, its public half must be named."""
    ssh_agent(sshd.key)
    public = tmp_path / "mine"
    public.with_name("mine.pub").write_text(sshd.key.with_name("user.pub").read_text())
    options = (("UserKnownHostsFile", str(sshd.known_hosts)), ("IdentitiesOnly", only))
    files = (str(public),) if only == "yes" else ()
    assert "hi\n" == greet(connections, sshd.address(identity_files=files, ssh_options=options))


def test_identities_only_keeps_other_keys_back(sshd, tmp_path, connections, ssh_agent):
    """The agent's keys are not tried then."""
    ssh_agent(sshd.key)
    stranger = make_key(tmp_path / "stranger")
    with pytest.raises(Unreachable, match=rf"tried {stranger}$|tried {stranger};"):
        greet(connections, sshd.address(identity_files=(str(stranger),)))


class PasswordServer(asyncssh.SSHServer):
    """Takes the password `geheim`."""

    def begin_auth(self, username):
        return True

    def password_auth_supported(self):
        return True

    def validate_password(self, username, password):
        return password == "geheim"


@pytest.fixture
def password_server(tmp_path):
    """An ssh server that knows passwords only; gives its address for a password."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def execute(process):
        done = subprocess.run(["/bin/sh", "-c", process.command], capture_output=True, text=True)
        process.stdout.write(done.stdout)
        process.exit(done.returncode)

    async def listen():
        return await asyncssh.listen(
            "127.0.0.1", 0, server_factory=PasswordServer, server_host_keys=[str(keys() / "host")],
            process_factory=execute,
        )  # fmt: skip

    server = asyncio.run_coroutine_threadsafe(listen(), loop).result(10)
    known = tmp_path / "known"
    known.write_text("password-server " + " ".join((keys() / "host.pub").read_text().split()[:2]) + "\n")
    options = (("UserKnownHostsFile", str(known)), ("HostKeyAlias", "password-server"))

    def address(password, **changes):
        port = server.get_port()
        return Address("web", host="127.0.0.1", port=port, password=password, ssh_options=options, **changes)

    yield address

    async def stop():
        server.close()
        await server.wait_closed()

    asyncio.run_coroutine_threadsafe(stop(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_a_password(password_server, connections):
    """ansible_password logs in where keys do not."""
    assert "hi\n" == greet(connections, password_server("geheim", identity_files=(str(keys() / "user"),)))


def test_a_wrong_password_is_not_shown(password_server, connections):
    """The message says that it was tried, not what it was."""
    with pytest.raises(Unreachable, match="tried the password") as caught:
        greet(connections, password_server("falsch"))
    assert "falsch" not in str(caught.value)


# ---------------------------------------------------------------------- in the way


def test_nobody_listens(connections):
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:\d+\) cannot be reached \(connecting\): Connection refused"):
        greet(connections, Address("web", host="127.0.0.1", port=free_port()))


def test_a_name_that_is_no_host(connections):
    with pytest.raises(Unreachable, match=r"nowhere\.invalid:22\) (cannot be reached|did not answer)"):
        greet(connections, Address("web", host="nowhere.invalid"), deadline=5.0)


@pytest.mark.parametrize("says", [b"", b"SSH-2.0-OpenSSH_9.2\r\n"])
def test_a_server_that_says_nothing_more(connections, says):
    """The deadline holds in each phase: before and after the banner."""
    with answering(says, hold=True) as port:
        address = Address("web", host="127.0.0.1", port=port, connect_timeout=0.4)
        with pytest.raises(Unreachable, match=r"did not answer within 0\.4|cannot be reached"):
            greet(connections, address)


def test_something_that_is_no_ssh_server(connections):
    """Its answer is no ssh banner."""
    with (
        answering(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 200) as port,
        pytest.raises(Unreachable, match="cannot be reach"),
    ):
        greet(connections, Address("web", host="127.0.0.1", port=port))


def test_a_call_that_is_cancelled_while_connecting_is_not_made(connections, server, tmp_path):
    """The connection is opened after all, and then nothing is asked of it."""
    os.kill(server.pid, signal.SIGSTOP)
    target = connections.target(server.address())
    raised = []

    def call():
        with pytest.raises(Interrupted) as caught:
            target.call("trial_calls.change", {"path": str(tmp_path / "made")}, deadline=30)
        raised.append(caught.value)

    thread = threading.Thread(target=call)
    thread.start()
    while not target._lock.locked():
        time.sleep(0.005)
    target.cancel()
    os.kill(server.pid, signal.SIGCONT)
    thread.join()
    assert (1, False) == (len(raised), (tmp_path / "made").exists())


def test_a_run_that_ends_while_connecting_leaves_nothing(server, leftovers):
    """A connection that is opened too late is closed at once."""
    os.kill(server.pid, signal.SIGSTOP)
    connections = RunConnections()
    target = connections.target(server.address())
    raised = []

    def call():
        try:
            target.call("trial_calls.echo", {}, deadline=30)
        except (Interrupted, Unreachable) as error:
            raised.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    while not target._lock.locked():
        time.sleep(0.005)
    connections.close()
    os.kill(server.pid, signal.SIGCONT)
    thread.join()
    assert (1, NOTHING) == (len(raised), {**leftovers.found(), "processes": set()})


@contextlib.contextmanager
def answering(says, *, hold=False):
    """A port where one caller hears something and then, with `hold`, nothing more, not even the end."""
    done = threading.Event()

    def answer():
        stream, _ = listener.accept()
        with stream:
            stream.sendall(says)
            if hold:
                done.wait(20)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            done.set()
            thread.join()


def test_a_call_with_a_shorter_deadline_is_unreachable_by_then(connections, server):
    """The server's process is stopped before anybody connects."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        with pytest.raises(Unreachable):
            connections.target(server.address()).call("trial_calls.echo", {}, deadline=0.5)
        assert time.monotonic() - began < 5
    finally:
        os.kill(server.pid, signal.SIGCONT)


@pytest.mark.slow
def test_failures_leave_nothing(sshd, tmp_path, configure, leftovers):
    """Refused, unknown, silent and unauthorized servers leave no thread, descriptor or process."""
    configure("Host proxied\n  ProxyCommand sleep 60\n")
    stranger = make_key(tmp_path / "stranger")
    connections = RunConnections()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for address in (
            Address("refused", host="127.0.0.1", port=free_port()),
            Address("silent", host="127.0.0.1", port=silent.getsockname()[1], connect_timeout=0.2),
            Address("proxied", connect_timeout=0.2),
            sshd.address("stranger", identity_files=(str(stranger),)),
            sshd.address("unknown", ssh_options=(("UserKnownHostsFile", str(tmp_path / "none")),)),
        ):
            with pytest.raises(Unreachable):
                greet(connections, address)
    connections.close()
    assert NOTHING == leftovers.found()
