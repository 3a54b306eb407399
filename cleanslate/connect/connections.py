"""All connections of a run: opened on first use, shared by every step, reopened when lost, closed with the run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from cleanslate.connect.passwords import Passwords
from cleanslate.connect.target import Address, Become, Connections
from cleanslate.errors import DeadlinePassed, InputError, Interrupted, Unreachable

if TYPE_CHECKING:
    from cleanslate.connect.agent_target import AgentTarget
    from cleanslate.connect.lease import Ticket
    from cleanslate.connect.ssh import SshLink
    from cleanslate.connect.ssh_settings import SshSettings
    from cleanslate.connect.stream import Link

_HOPS = 8  # more machines to jump through than this is a circle


class LinkSlot:
    """The one link to an address: opened by whoever needs it first, replaced when it is lost."""

    def __init__(self, address: Address, open_link: Callable[[Address, float], Link]) -> None:
        self.address = address
        self._open_link = open_link
        self._lock = threading.Lock()
        self._link: Link | None = None
        self._over = False

    def get(self, seconds: float) -> Link:
        """The open link. Unreachable when it cannot be opened in time."""
        until = time.monotonic() + seconds
        if not self._lock.acquire(timeout=max(seconds, 0.0)):
            raise Unreachable(f"{self.address.name} did not answer within {seconds:.0f} s")
        try:
            if self._link is not None and self._link.trouble() is not None:
                self._link.close()
                self._link = None
            if self._link is None:
                self._link = self._open_link(self.address, until - time.monotonic())
            if self._over:
                self.close()
            if self._link is None:
                raise Interrupted(f"{self.address.name}: the run has ended")
            return self._link
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close the link; the next `get` opens a new one."""
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def end(self) -> None:
        """Close the link for good, also one that is just being opened."""
        self._over = True
        self.close()


class RunConnections(Connections):
    """See connect/target.py. `become_password` is asked once, when the first sudo wants one."""

    def __init__(
        self,
        *,
        accept_new_host_keys: bool = False,
        become_password: Callable[[], str] | None = None,
        log: Any = None,
    ) -> None:
        self._accept_new = accept_new_host_keys
        self._passwords = Passwords(become_password)
        self._log = log or _Quiet()
        self._lock = threading.Lock()
        self._slots: dict[Address, LinkSlot] = {}
        self._targets: dict[tuple[Address, Become | None], AgentTarget] = {}
        self._tickets: dict[Address, Ticket] = {}

    def target(self, address: Address, become: Become | None = None) -> AgentTarget:
        """The target at an address; nothing is opened before its first call. One local agent serves all local hosts."""
        from cleanslate.connect.agent_target import AgentTarget

        key = (_identity(address), become)
        with self._lock:
            if key not in self._targets:
                made = AgentTarget(address, become, self._slot(key[0]), self._passwords, self._log)
                made.ticket = self._tickets.get(key[0])
                self._targets[key] = made
            return self._targets[key]

    def hold(self, address: Address, ticket: Ticket) -> Ticket:
        """From now on every agent there holds a lease before its first call; gives the ticket that counts.

        Several inventory hosts on one machine share one: the resources of a later one are added to the first.
        """
        identity = _identity(address)
        with self._lock:
            known = self._tickets.setdefault(identity, ticket)
            known.resources |= ticket.resources
            for (where, _), target in self._targets.items():
                if where == identity:
                    target.ticket = known
        return known

    def let_go(self, outcome: str, seconds: float = 3.0) -> None:
        """Give every lease back, all at once, and tell the machines how the run ended."""
        held = [target for target in self._all_targets() if target.ticket is not None]
        _together([partial(target.let_go, outcome, seconds) for target in held])

    def _slot(self, address: Address) -> LinkSlot:
        """You hold the lock."""
        if address not in self._slots:
            self._slots[address] = LinkSlot(address, self._open)
        return self._slots[address]

    def _shared(self, address: Address) -> LinkSlot:
        with self._lock:
            return self._slot(_identity(address))

    # ------------------------------------------------------------------ opening

    def _open(self, address: Address, seconds: float) -> Link:
        from cleanslate.connect.stream import LocalLink

        if address.kind == "local":
            return LocalLink()
        if address.kind == "pct":
            from cleanslate.connect.pct import PctLink

            assert address.via is not None and address.vmid is not None
            return PctLink(self._shared(address.via).get(seconds), address.vmid)
        return self._open_ssh(address, seconds)

    def _open_ssh(self, address: Address, seconds: float) -> SshLink:
        from cleanslate.connect.importing import import_paramiko

        import_paramiko()
        from cleanslate.connect.ssh import SshLink
        from cleanslate.connect.ssh_settings import settings_of
        from cleanslate.connect.stream import within

        until = time.monotonic() + seconds
        try:
            settings = within(seconds, "reading the ssh configuration", lambda: settings_of(address))
        except DeadlinePassed as error:
            raise Unreachable(f"{address.name}: {error}") from None
        _check_hops(address, settings)
        until = min(until, time.monotonic() + settings.connect_timeout)
        hop = None
        if settings.jump is not None:
            found = self._shared(settings.jump).get(until - time.monotonic())
            assert isinstance(found, SshLink)
            hop = found
        link = SshLink(settings, hop=hop, accept_new=self._accept_new, log=self._log)
        began = time.monotonic()
        link.open(until - began)
        self._log.debug("host.connected", host=address.name, seconds=round(time.monotonic() - began, 3))
        return link

    # ------------------------------------------------------------------ ending

    def reset(self, address: Address) -> None:
        """Close the connection to an address and every agent on it; what was learnt about it is forgotten."""
        key = _identity(address)
        with self._lock:
            targets = [target for (known, _), target in self._targets.items() if known == key]
            slot = self._slots.get(key)
        for target in targets:
            target.close()
        if slot is not None:
            slot.close()

    def cancel(self) -> None:
        """End every call under way on every target."""
        _together([target.cancel for target in self._all_targets()])

    def close(self) -> None:
        """Close everything: local agents first (they are waited for), then connections, those jumped through last."""
        targets = self._all_targets()
        local = [target for target in targets if target.address.kind == "local"]
        _together([target.close for target in local])
        with self._lock:
            slots = sorted(self._slots.values(), key=lambda slot: -_length(slot.address))
            self._targets, self._slots = {}, {}
        for slot in slots:
            slot.end()
        for target in targets:  # over connections that are closed by now: nothing is waited for
            if target not in local:
                target.close()

    def _all_targets(self) -> list[AgentTarget]:
        with self._lock:
            return list(self._targets.values())


def _check_hops(address: Address, settings: SshSettings) -> None:
    """Refuse jumps that lead back to where they began; opening them would wait for itself."""
    from cleanslate.connect.ssh_settings import settings_of

    for _ in range(_HOPS):
        if settings.jump is None:
            return
        settings = settings_of(settings.jump)
    raise InputError(f"{address.name}: ProxyJump goes in a circle, or through more than {_HOPS} machines")


def _identity(address: Address) -> Address:
    """What makes a connection one and the same: for this machine, the host's name is not part of it."""
    return replace(address, name="localhost") if address.kind == "local" else address


def _length(address: Address | None) -> int:
    """How many machines an address leads through, itself included."""
    length = 0
    while address is not None:
        length, address = length + 1, address.via
    return length


def _together(actions: list[Callable[[], None]]) -> None:
    """Do all at once, since each may wait for its target; one alone needs no thread."""
    if len(actions) == 1:
        actions[0]()
        return
    threads = [threading.Thread(target=action, name="cleanslate ends", daemon=True) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class _Quiet:
    """A log that nobody reads."""

    def debug(self, event: str, **facts: Any) -> None:
        """Forget it."""

    warning = debug
