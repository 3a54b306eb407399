"""The SSH side of a machine: public keys only, each request a `sh -c` with its own pipes, as OpenSSH does it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import struct
import subprocess
import termios
from pathlib import Path
from signal import Signals
from typing import Any

import asyncssh

from cleanslate.lab.pipes import Children, Input, Output

_PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = 1031
_ACCEPTED_ENVIRONMENT = ("LANG", "LC_", "TERM")
_HUP_GRACE = 0.5
# The quick ones only: with what clients prefer by themselves, a megabyte takes twice as long.
_CIPHERS = ("aes128-gcm@openssh.com", "aes128-ctr", "aes256-gcm@openssh.com", "aes256-ctr")
_KEY_EXCHANGES = ("curve25519-sha256", "curve25519-sha256@libssh.org", "ecdh-sha2-nistp256")


class Session(asyncssh.SSHServerSession):  # type: ignore[misc] # asyncssh is not followed by mypy here
    """One exec or shell request: a child in its own session, its pipes, and how it ended."""

    def __init__(self, machine: SshMachine, client: str) -> None:
        self._machine = machine
        self._client = client
        self._command: str | None = None
        self._terminal = False
        self._process: subprocess.Popen[bytes] | None = None
        self._status: int | None = None
        self._input: Input | None = None
        self._outputs: list[Output] = []
        self._flowing = 0
        self._channel: Any = None

    def connection_made(self, chan: Any) -> None:
        """Keep the channel."""
        self._channel = chan

    def pty_requested(self, term_type: str, term_size: Any, term_modes: Any) -> bool:
        """Give people who log in a terminal; programs do not ask for one."""
        self._terminal = True
        return True

    def shell_requested(self) -> bool:
        """Run a shell."""
        return True

    def exec_requested(self, command: str) -> bool:
        """Run a command line in a shell."""
        self._command = command
        return True

    def session_started(self) -> None:
        """Start the child."""
        environment = {**self._machine.environment, "SSH_CONNECTION": self._client}
        given = dict(self._channel.get_environment())
        environment.update({key: value for key, value in given.items() if key.startswith(_ACCEPTED_ENVIRONMENT)})
        if self._terminal:
            environment["TERM"] = self._channel.get_terminal_type() or "dumb"
        argv = ["/bin/sh", "-c", self._command] if self._command is not None else ["/bin/sh", "-l"]
        (self._start_with_terminal if self._terminal else self._start_with_pipes)(argv, environment)

    def _start_with_pipes(self, argv: list[str], environment: dict[str, str]) -> None:
        pipes = [os.pipe() for _ in range(3)]
        (child_in, our_in), (our_out, child_out), (our_err, child_err) = pipes
        for ours in (our_in, our_out, our_err):
            os.set_blocking(ours, False)
            with contextlib.suppress(OSError):  # a user's pipes may be used up; then they are smaller
                fcntl.fcntl(ours, _F_SETPIPE_SZ, _PIPE_BYTES)
        self._spawn(argv, environment, child_in, child_out, child_err)
        for theirs in (child_in, child_out, child_err):
            os.close(theirs)
        self._input = Input(our_in, self._channel)
        self._outputs = [
            Output(our_out, self._channel.write, self._output_ended),
            Output(our_err, self._channel.write_stderr, self._output_ended),
        ]
        self._flowing = 2

    def _start_with_terminal(self, argv: list[str], environment: dict[str, str]) -> None:
        ours, theirs = os.openpty()
        name = os.ttyname(theirs)
        self._set_size(ours, *self._channel.get_terminal_size())
        # The first terminal that a session's leader opens becomes the session's own.
        self._spawn(["/bin/sh", "-c", 'exec <"$0" >"$0" 2>&1; exec "$@"', name, *argv], environment, *[theirs] * 3)
        os.close(theirs)
        os.set_blocking(ours, False)
        self._input = Input(os.dup(ours), self._channel)
        self._outputs = [Output(ours, self._channel.write, self._output_ended)]
        self._flowing = 1

    def _spawn(self, argv: list[str], environment: dict[str, str], stdin: int, stdout: int, stderr: int) -> None:
        home = environment["HOME"]
        self._process = subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=environment,
            cwd=home if Path(home).is_dir() else "/",
            start_new_session=True,
        )
        self._machine.children.watch(self._process.pid, self._exited)

    def _set_size(self, descriptor: int, width: int, height: int, wide: int = 0, high: int = 0) -> None:
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, wide, high))

    def terminal_size_changed(self, width: int, height: int, pixwidth: int, pixheight: int) -> None:
        """Tell the terminal how large the client's window is now."""
        for output in self._outputs[:1]:
            self._set_size(output.descriptor, width, height, pixwidth, pixheight)

    def data_received(self, data: bytes, datatype: Any) -> None:
        """Pass the client's bytes on."""
        if self._input:
            self._input.feed(data)

    def eof_received(self) -> bool:
        """Close the child's input, and keep the channel for its output."""
        if self._input and not self._terminal:
            self._input.end()
        return True

    def pause_writing(self) -> None:
        """Stop reading from the child: the client is slow."""
        for output in self._outputs:
            output.pause()

    def resume_writing(self) -> None:
        """Go on reading from the child."""
        for output in self._outputs:
            output.resume()

    def signal_received(self, signal: str) -> None:
        """Signal the child's process group, as the client asked."""
        self._signal(getattr(Signals, f"SIG{signal}", 0))

    def _signal(self, number: int) -> None:
        if self._process and self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def _exited(self, status: int) -> None:
        assert self._process is not None
        self._status = status
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._finish()

    def _output_ended(self) -> None:
        self._flowing -= 1
        self._finish()

    def _finish(self) -> None:
        """Close the channel when the child has ended *and* nobody holds its output any more, as OpenSSH does."""
        if self._status is None or self._flowing:
            return
        if os.WIFSIGNALED(self._status):
            name = Signals(os.WTERMSIG(self._status)).name.removeprefix("SIG")
            self._channel.exit_with_signal(name, os.WCOREDUMP(self._status))
        else:
            self._channel.exit(os.WEXITSTATUS(self._status))

    def connection_lost(self, exc: Exception | None) -> None:
        """End the child, should it still run: HUP to its process group, then TERM. Who left the group stays."""
        if self._input:
            self._input.close()
        for output in self._outputs:
            output.close()
        self._signal(signal.SIGHUP)
        asyncio.get_running_loop().call_later(_HUP_GRACE, self._signal, signal.SIGTERM)


class _Server(asyncssh.SSHServer):  # type: ignore[misc] # asyncssh is not followed by mypy here
    """One client's connection."""

    def __init__(self, machine: SshMachine) -> None:
        self._machine = machine
        self._client = "UNKNOWN 0 UNKNOWN 0"

    def connection_made(self, conn: Any) -> None:
        """Note the addresses for SSH_CONNECTION."""
        ends = [*conn.get_extra_info("peername")[:2], *conn.get_extra_info("sockname")[:2]]
        self._client = " ".join(map(str, ends))

    def session_requested(self) -> Session:
        """Accept a session."""
        return Session(self._machine, self._client)

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        """Let clients forward ports (`ssh -L`, ProxyJump) into the machine."""
        return True


class SshMachine:
    """What all sessions of a machine share: their environment, and who reaps the children."""

    def __init__(self, environment: dict[str, str], children: Children) -> None:
        self.environment = environment
        self.children = children

    async def listen(self, where: dict[str, Any], host_key: Path, authorized: Path) -> None:
        """Serve SSH on a socket (`{"sock": ...}`) or an address (`{"host": ..., "port": ...}`)."""
        await asyncssh.listen(
            **where,
            server_factory=lambda: _Server(self),
            server_host_keys=[str(host_key)],
            authorized_client_keys=str(authorized),
            encoding=None,
            line_editor=False,
            keepalive_interval=30,
            password_auth=False,
            kbdint_auth=False,
            agent_forwarding=False,
            compression_algs=None,
            encryption_algs=_CIPHERS,
            kex_algs=_KEY_EXCHANGES,
            reuse_address=True if "host" in where else None,
        )
