"""One user on one machine: starts the agent when it is first needed, and another one when that was lost."""

from __future__ import annotations

import contextlib
import io
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from cleanslate.connect import bundle, sudo
from cleanslate.connect.bootstrap import (
    PasswordWanted,
    Words,
    agent_script,
    as_user,
    plain_script,
    shell,
    why_not_started,
)
from cleanslate.connect.client import AgentClient, NotSent, Request
from cleanslate.connect.lease import LEASE_KINDS, Ticket, refused
from cleanslate.connect.passwords import Passwords
from cleanslate.connect.plain import PlainRun
from cleanslate.connect.stream import Link, Stream
from cleanslate.connect.target import Address, Become
from cleanslate.errors import CallFailed, Interrupted, NoPython, OutcomeUnknown, TargetError, Unreachable
from cleanslate.model import Answer

_MOST_LOST = 3  # connections that are lost during one call that only looks
_AGAIN = 0.5  # seconds between attempts to open a connection that was lost
_BESIDE = frozenset({"presence", "sampling"})  # they look beside a run's work, and are no step of it
_END = 5.0  # seconds for signalling a process group, and for waiting until it has ended
_CANCEL = 4.0  # seconds to wait for targets to confirm that calls were ended


class Slot(Protocol):
    """Where the link to the machine comes from."""

    def get(self, seconds: float) -> Link:
        """The open link, opening it when needed. Unreachable."""


class _Again(Exception):
    """The start failed in a way that was learnt from: the next attempt does it differently."""


class AgentTarget:
    """See Target in connect/target.py."""

    def __init__(self, address: Address, become: Become | None, slot: Slot, passwords: Passwords, log: Any) -> None:
        self.address = address
        self._become = become
        self._slot = slot
        self._passwords = passwords
        self._log = log
        self._password = become.password if become else None
        self._lock = threading.Lock()  # around starting the agent
        self._client: AgentClient | None = None
        self._no_python: NoPython | None = None
        self._plain: set[PlainRun] = set()
        self._cancels = 0
        self._closes = 0
        self._lost: Mapping[str, Any] | None = None  # the agent that was lost, until it is known to have ended
        self._back_until = 0.0  # until when a lost connection may come back
        self.ticket: Ticket | None = None  # what must be held there before anything is called

    # ------------------------------------------------------------------ calls

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
        """Make one call of the agent."""
        request = Request(name, arguments, read_only, blob, sink, on_progress, parts=parts or {})
        if not bundle.has(request.module):
            raise CallFailed("bug", f"there is no call {name}")
        until, cancels, closes = time.monotonic() + deadline, self._cancels, self._closes
        lost = 0
        while True:
            client = self._patient_agent(request, until, cancels)
            self._stop_if_cancelled(cancels)
            try:
                return self._leased_call(client, request, until)
            except NotSent:
                lost += self._drop(client)
                if lost > 1:
                    raise Unreachable(f"{self.address.name}: the connection was lost again at once") from None
            except OutcomeUnknown as error:
                if self._closes != closes:
                    raise  # it was us who closed it
                lost += self._drop(client)
                if not read_only:
                    raise  # for the step to decide
                if sink is not None or lost > _MOST_LOST:
                    raise Unreachable(error.what) from None  # nothing was changed by it

    def _patient_agent(self, request: Request, until: float, cancels: int) -> AgentClient:
        """An agent; where the connection was lost a moment ago, it may take a while until another can be opened."""
        while True:
            try:
                return self._agent(request, until)
            except Unreachable:
                if time.monotonic() + _AGAIN > min(self._back_until, until):
                    raise
            self._stop_if_cancelled(cancels)
            time.sleep(_AGAIN)

    def _leased_call(self, client: AgentClient, request: Request, until: float) -> Answer:
        """Make a call once the machine's lease is held; LeaseHeld when it is somebody else's, or was taken away."""
        if self.ticket is None or request.module in _BESIDE:
            return client.call(request, until)
        lease, known = self.ticket.wanted(client.leased)
        try:
            answer = client.call(replace(request, lease=lease), until)
        except CallFailed as failure:
            if failure.kind in LEASE_KINDS:
                raise refused(self.address.name, failure) from None
            client.leased = known  # whatever else went wrong, went wrong after that
            raise
        client.leased = known
        return answer

    def let_go(self, outcome: str, seconds: float) -> None:
        """Give the lease back, and tell the machine how the run ended; it finds out by itself if it cannot be told."""
        client = self._client
        if client is None or client.leased is None or client.failure is not None:
            return
        request = Request("leases.end", {"outcome": outcome}, False, None, None, None)
        client.leased = None
        with contextlib.suppress(TargetError, Interrupted, NotSent):
            client.call(request, time.monotonic() + seconds)

    def _stop_if_cancelled(self, cancels: int) -> None:
        """Not to begin what was cancelled while the connection was being opened."""
        if self._cancels != cancels:
            raise Interrupted(f"{self.address.name}: interrupted before anything was done")

    def _drop(self, client: AgentClient) -> bool:
        """Forget an agent that is of no use; whether it was lost (and not merely started the wrong way)."""
        with self._lock:
            if self._client is client:
                self._client = None
            self._mind_loss(client)
        self._discard(client)
        if isinstance(client.failure, PasswordWanted):
            self._ask_password()
            return False
        return not isinstance(client.failure, _Again)

    def _mind_loss(self, client: AgentClient) -> None:
        """Remember an agent that was lost, and give the connection time to come back. You hold the lock."""
        if client.hello is not None:
            self._lost = client.hello
            self._back_until = max(self._back_until, time.monotonic() + client.link.patience)

    @staticmethod
    def _discard(client: AgentClient) -> None:
        """Close an agent; first the connection under it if that is dead, or closing would have to wait for it."""
        if client.link.trouble() is not None:
            client.link.close()
        client.close()

    def _ask_password(self) -> None:
        with self._lock:
            if self._password is None:
                self._password = self._passwords.get()
            if self._password is None:
                assert self._become is not None
                raise Unreachable(
                    f"{self.address.name}: sudo wants a password for becoming {self._become.user}",
                    fix="set ansible_become_password, or ask for it with --ask-become-pass",
                )

    # ------------------------------------------------------------------ starting the agent

    def _agent(self, request: Request, until: float) -> AgentClient:
        if not self._lock.acquire(timeout=max(until - time.monotonic(), 0.0)):
            raise Unreachable(f"{self.address.name}: the connection was not opened in time")
        try:
            if self._no_python is not None:
                raise self._no_python
            if self._client is None or self._client.failure is not None:
                if self._client is not None:
                    self._mind_loss(self._client)
                    self._discard(self._client)
                self._client = None
                client = self._start_agent(request, until)
                try:
                    self._end_lost(client, until)
                except BaseException:
                    self._discard(client)
                    raise
                self._client = client
            return self._client
        finally:
            self._lock.release()

    def _end_lost(self, client: AgentClient, until: float) -> None:
        """See that the agent of a lost connection has ended, so that nothing it was about goes on beside us.

        It may know nothing of the loss yet, and be in the middle of a change. You hold the lock.
        """
        if self._lost is None:
            return
        arguments = {name: self._lost[name] for name in ("pid", "start", "boot_id")}
        try:
            client.call(Request("agents.end", arguments, False, None, None, None), until)
        except (NotSent, OutcomeUnknown, CallFailed) as error:
            why = error.what if isinstance(error, CallFailed) else "so was the next one"
            raise Unreachable(f"{self.address.name}: the connection was lost, and {why}") from None
        self._lost = None

    def _start_agent(self, request: Request, until: float) -> AgentClient:
        began = time.monotonic()
        words = Words.new()
        modules = request.modules if self.ticket is None else (*request.modules, *bundle.closure("leases"))
        link = self._slot.get(until - began)
        python, forms = self._python(link)
        text = bundle.start_text(modules, forms=forms)
        stream, early = self._run_as_user(link, agent_script(python, len(text.first), words), words, until)

        def why_not(printed: bytes, errors: str, code: int | None) -> Exception:
            return self._why_not(link, words, printed, errors, code)

        shipped = bundle.sent_at_start(modules)
        client = AgentClient(stream, link, self.address.name, words.up, shipped, why_not, early=early)
        client.begin(text.first + text.rest)
        self._log.debug("agent.started", host=self.address.name, seconds=round(time.monotonic() - began, 3))
        return client

    def _python(self, link: Link) -> tuple[str | None, str]:
        """The Python to start with, and in which form it gets what it runs."""
        if self.address.python is None and self.address.kind == "local" and self._become is None:
            import shlex
            import sys

            return shlex.quote(sys.executable), "code"
        return self.address.python, "both" if link.near else "source"

    def _run_as_user(self, link: Link, script: str, words: Words, until: float) -> tuple[Stream, bytes]:
        """Start a script as the user wanted; gives what came already after sudo was satisfied."""
        seconds = until - time.monotonic()
        if self._become is None:
            return link.start(shell(script), seconds), b""
        password = self._password
        stream = link.start(shell(as_user(script, self._become, words, ask=password is not None)), seconds)
        if password is None:
            return stream, b""
        try:
            left = until - time.monotonic()
            return stream, sudo.satisfy(stream, words, password, self._become.user, self.address.name, left)
        except BaseException:
            stream.stop(kill=True)
            stream.close()
            raise

    def _why_not(self, link: Link, words: Words, printed: bytes, errors: str, code: int | None) -> Exception:
        if link.learn(errors):
            return _Again()
        error = why_not_started(self.address, self._become, words, printed, errors, code)
        if isinstance(error, NoPython):
            self._no_python = error
        return error

    # ------------------------------------------------------------------ plain commands

    def plain(self, command: str, *, deadline: float, stdin: bytes | Path = b"") -> Answer:
        """Run a command line in the login shell over a plain channel."""
        until, cancels = time.monotonic() + deadline, self._cancels
        while True:
            link = self._slot.get(until - time.monotonic())
            self._stop_if_cancelled(cancels)
            words = Words.new()
            with stdin.open("rb") if isinstance(stdin, Path) else io.BytesIO(stdin) as source:
                run, answer = self._run_plain(link, command, words, source, until)
            if run.group is not None:
                return answer
            if link.learn(answer["stderr"]):
                continue
            error = why_not_started(self.address, self._become, words, run.before, answer["stderr"], answer["rc"])
            if not isinstance(error, PasswordWanted):
                raise Unreachable(error.what) if isinstance(error, NoPython) else error
            self._ask_password()

    def _run_plain(
        self, link: Link, command: str, words: Words, stdin: BinaryIO, until: float
    ) -> tuple[PlainRun, Answer]:
        def end(script: str) -> None:
            self._end_group(link, script)

        stream, early = self._run_as_user(link, plain_script(command, words), words, until)
        run = PlainRun(stream, self.address.name, words.group, end)
        run.take(early)
        self._plain.add(run)
        try:
            return run, run.run(stdin, until, link.trouble)
        finally:
            self._plain.discard(run)

    def _end_group(self, link: Link, script: str) -> None:
        """Signal a process group from another session, since not every server passes signals on."""
        with contextlib.suppress(TargetError, OSError):
            until = time.monotonic() + _END
            stream, _ = self._run_as_user(link, script, Words.new(), until)
            stream.exit_code(_END)
            stream.close()

    # ------------------------------------------------------------------ ending

    def cancel(self) -> None:
        """End every call under way here, and wait briefly for it."""
        self._cancels += 1
        for run in list(self._plain):
            run.cancelled = True
        client = self._client
        if client is not None:
            client.cancel(_CANCEL)

    def close(self) -> None:
        """End the agent and forget what was learnt."""
        self._closes += 1
        client, self._client = self._client, None
        self._no_python = None
        if client is not None:
            self._discard(client)
