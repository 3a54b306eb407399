"""The one narrow interface through which everything reaches a target, and the address of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from cleanslate.dataclass import dataclass
from cleanslate.model import Answer

if TYPE_CHECKING:
    from cleanslate.connect.lease import Ticket


@dataclass(frozen=True)
class Address:
    """Where and how to reach a host; made from its `ansible_*` variables by `address_of` (connect/address.py).

    kind: `ssh`, `local` or `pct`. name: the inventory name. None means "as OpenSSH's configuration says".
    For `pct`, `vmid` is the container and `via` its hypervisor's address.
    """

    name: str
    kind: str = "ssh"
    host: str | None = None
    port: int | None = None
    user: str | None = None
    identity_files: tuple[str, ...] = ()
    password: str | None = None
    ssh_options: tuple[tuple[str, str], ...] = ()  # from ansible_ssh_common_args and _extra_args: `-o Key=value`
    python: str | None = None
    connect_timeout: float = 15.0
    vmid: int | None = None
    via: Address | None = None

    def __repr__(self) -> str:
        """Show where, never the password."""
        return f"Address({self.kind}:{self.user or ''}@{self.host or self.name}:{self.port or ''})"


@dataclass(frozen=True)
class Become:
    """Become another user on the target. Only sudo is known; `flags` are given to it as they are."""

    user: str = "root"
    method: str = "sudo"
    flags: str = ""
    password: str | None = None

    def __repr__(self) -> str:
        """Show whom, never the password."""
        return f"Become({self.method}:{self.user})"


class Target(Protocol):
    """One user on one machine. Thread-safe: several calls may be under way at once."""

    address: Address

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        deadline: float,
        read_only: bool = False,
        blob: bytes | Path | None = None,
        sink: BinaryIO | None = None,
        on_progress: Callable[[Mapping[str, Any]], None] | None = None,
        parts: Mapping[str, bytes] | None = None,
    ) -> Answer:
        """Make one call of the agent (`files.stat`), in one round trip.

        deadline: seconds after which the call is ended on the target and DeadlinePassed raised.
        read_only: the agent refuses a call that is not marked as read-only.
        blob: bytes, or a local file that is streamed. sink: where a large answer's bytes go instead of `Answer.blob`.
        on_progress: called with each progress report, in the connection's own thread.
        parts: digest -> bytes that the call asks for; each is sent once for as long as the agent lives.
        Raises Unreachable, OutcomeUnknown, DeadlinePassed, NoPython, CallFailed.
        """

    def plain(self, command: str, *, deadline: float, stdin: bytes | Path = b"") -> Answer:
        """Run a command line in the login shell over a plain channel, no Python needed.

        Gives {rc, stdout, stderr, stdout_cut, stderr_cut}, text decoded as UTF-8 with `surrogateescape` replaced.
        """

    def cancel(self) -> None:
        """End every call under way on the target (its process groups get TERM, then KILL), and wait briefly for it."""


class Connections(Protocol):
    """All connections of a run. Opened on first use, shared by every step, closed with the run."""

    def target(self, address: Address, become: Become | None = None) -> Target:
        """The target at an address; no network traffic happens before its first call."""

    def hold(self, address: Address, ticket: Ticket) -> Ticket:
        """Hold a lease there before the next call; gives the ticket that counts for the machine."""

    def let_go(self, outcome: str, seconds: float = 3.0) -> None:
        """Give every lease back, and tell the machines how the run ended."""

    def reset(self, address: Address) -> None:
        """Close the connection to an address, so that the next call opens a new one."""

    def cancel(self) -> None:
        """End every call under way on every target (Ctrl-C)."""

    def close(self) -> None:
        """Close everything; the agents end with their input, and whatever they still ran ends with them."""
