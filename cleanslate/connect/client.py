"""The controller's side of one agent: frames out and in, several calls at once, deadlines, lost connections.

Each agent has a thread that reads and one that writes, so that a caller never blocks for longer than its deadline,
whatever the connection underneath does. remote/agent.py describes the frames.
"""

from __future__ import annotations

import queue
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, BinaryIO

from cleanslate.connect.bundle import MAGIC, closure, parcel
from cleanslate.connect.frames import Source, frame, take_frame
from cleanslate.connect.pending import Pending
from cleanslate.connect.stream import Link, Stream
from cleanslate.dataclass import dataclass
from cleanslate.errors import CallFailed, DeadlinePassed, Interrupted, OutcomeUnknown, TargetError, Unreachable
from cleanslate.model import Answer

SLACK = 5.0  # seconds beyond its deadline in which a target may still answer that a call was ended
START = 30.0  # seconds in which a login shell must have started the agent
_LOOK = 1.0  # seconds between looks at the connection while waiting for the agent to come up
_LOOK_LATER = 5.0  # and for its answer: it is told at once when the connection ends, only silence has to be looked for
_LISTEN = 30.0  # seconds after which a reader that hears nothing looks whether it is still wanted; its end wakes it
_LEFT_ALONE = 4  # times a link's patience, after which an agent that hears nothing believes that we are gone
_BEATS = 3  # words in the time of a link's patience, so that the agent hears us
_NOISE = 16384  # bytes kept of what came before the agent was up


class NotSent(Exception):
    """The agent had gone before anything of the call was sent, so another one may be asked."""


@dataclass(frozen=True)
class Request:
    """One call as it was asked for; see Target.call."""

    name: str
    arguments: Mapping[str, Any]
    read_only: bool
    blob: bytes | Path | None
    sink: BinaryIO | None
    on_progress: Callable[[Mapping[str, Any]], None] | None
    lease: Mapping[str, Any] | None = None  # what the agent must hold before it makes the call
    parts: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def modules(self) -> tuple[str, ...]:
        """Every module of ours that the call needs on the target."""
        needed = closure(self.module)
        return needed if self.lease is None else (*needed, *closure("leases"))

    @property
    def module(self) -> str:
        """The module that the call is in."""
        return self.name.partition(".")[0]


class AgentClient:
    """One agent. `where` names the target in messages; `why_not` makes the error for an agent that did not come up."""

    def __init__(
        self,
        stream: Stream,
        link: Link,
        where: str,
        up: bytes,
        shipped: set[str],
        why_not: Callable[[bytes, str, int | None], Exception],
        *,
        early: bytes = b"",
    ) -> None:
        self.link = link
        self.where = where
        self.hello: Mapping[str, Any] | None = None
        self.failure: Exception | None = None  # why it is of no use any more
        self.leased: object = None  # what its agent holds, see Ticket.wanted
        self._stream = stream
        self._up = up
        self._shipped = shipped
        self._why_not = why_not
        self._early = early
        self._lock = threading.Lock()
        self._calls: dict[int, Pending] = {}
        self._last_id = 0
        self._outbox: queue.SimpleQueue[tuple[Pending | None, bytes] | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name=f"cleanslate reads {where}", daemon=True)
        self._writer = threading.Thread(target=self._write, name=f"cleanslate writes {where}", daemon=True)

    def begin(self, text: bytes) -> None:
        """Send the agent's text and start to listen."""
        self._outbox.put((None, text))
        self._start_until = time.monotonic() + START
        self._reader.start()
        self._writer.start()

    # ------------------------------------------------------------------ calls

    def call(self, request: Request, until: float) -> Answer:
        """Make a call and wait for its end. NotSent when it may be made with another agent instead."""
        with Source(request.blob) as source:
            pending = self._post(request, source, until - time.monotonic())
            try:
                self._wait(pending, source, until)
            except BaseException:
                self._give_up(pending)
                raise
            finally:
                with self._lock:
                    self._calls.pop(pending.id, None)
        return self._outcome(request, pending)

    def _post(self, request: Request, source: Source, left: float) -> Pending:
        with self._lock:
            if self.failure is not None:
                raise NotSent from self.failure
            self._last_id += 1
            pending = Pending(self._last_id, request.sink, request.on_progress)
            missing = [name for name in dict.fromkeys(request.modules) if name not in self._shipped]
            if missing:
                as_code = self.hello is not None and self.hello["magic"] == MAGIC
                sizes, data = parcel(missing, as_code=as_code)
                self._outbox.put((None, frame({"modules": sizes}, data)))
                self._shipped.update(missing)
            self._post_parts(request.parts)
            header = {
                "id": pending.id,
                "call": request.name,
                "arguments": request.arguments,
                "left": max(left, 0.1),
                "read_only": request.read_only,
                "blob": source.kind,
            }
            if request.lease is not None:
                header["lease"] = request.lease
            self._calls[pending.id] = pending
            self._outbox.put((pending, frame(header, source.whole)))
        return pending

    def _post_parts(self, parts: Mapping[str, bytes]) -> None:
        new = {name: data for name, data in parts.items() if name not in self._shipped}
        if new:
            sizes = {name: (len(data), True) for name, data in new.items()}
            self._outbox.put((None, frame({"modules": sizes}, zlib.compress(b"".join(new.values()), 1))))
            self._shipped.update(new)

    def _wait(self, pending: Pending, source: Source, until: float) -> None:
        """Send the rest of the blob as it is asked for, until there is an answer or none can be expected."""
        while True:
            now = time.monotonic()
            if now > until + SLACK:
                raise DeadlinePassed(f"{self.where} did not answer in time, nor that the call was ended")
            look = _LOOK if self.hello is None or source.unsent else _LOOK_LATER
            ready = pending.wait(min(until + SLACK - now, look), for_credit=source.unsent)
            if ready == "done":
                return
            if ready == "credit":
                self._send_more(pending, source)
            elif (reason := self.link.trouble()) is not None:
                self.lose(reason)
            elif self.hello is None and now > self._start_until:
                self._end_start()

    def _end_start(self) -> None:
        """The login shell does not get to the agent: give up. An agent that starts after all finds its input closed,
        and makes no call.
        """
        self._stream.end_input()
        self._stream.stop(kill=True)
        self._stream.exit_code(2.0)
        if self.hello is None:
            reason = f"the login shell did not start the agent within {START:g} s"
            self._fail(Unreachable(f"{self.where}: {reason}"), made=False)

    def _send_more(self, pending: Pending, source: Source) -> None:
        data = source.read(pending.take_credit())
        if data:
            self._outbox.put((None, frame({"id": pending.id, "chunk": True}, data)))
        if not source.unsent:
            self._outbox.put((None, frame({"id": pending.id, "end": True})))

    def _give_up(self, pending: Pending) -> None:
        if pending.abandon():
            self._outbox.put((None, frame({"id": pending.id, "cancel": True})))

    def _outcome(self, request: Request, pending: Pending) -> Answer:
        if pending.error is not None:  # our own side of it failed: the sink, or who listens to progress
            raise pending.error
        if pending.failed is None:
            return Answer(pending.answer, bytes(pending.received))
        kind, message = pending.failed["kind"], pending.failed["message"]
        if kind == "deadline":
            raise DeadlinePassed(f"{self.where}: {request.name} did not end in time: {message}")
        if kind == "cancelled":
            raise Interrupted(f"{self.where}: {request.name} was interrupted: {message}")
        if kind == "lost":
            raise OutcomeUnknown(f"{self.where}: {request.name} was under way when the connection was lost: {message}")
        raise CallFailed(kind, message, pending.failed["details"])

    def cancel(self, seconds: float) -> None:
        """End every call under way, and wait a little until the target says that they have ended."""
        with self._lock:
            calls = list(self._calls.values())
        for pending in calls:
            self._outbox.put((None, frame({"id": pending.id, "cancel": True})))
        until = time.monotonic() + seconds
        for pending in calls:
            pending.wait_done(until - time.monotonic())

    # ------------------------------------------------------------------ the two threads

    def _write(self) -> None:
        patience = self.link.patience
        alive = frame({"alive": _LEFT_ALONE * patience}) if patience else b""
        try:
            while True:
                try:
                    item = self._outbox.get(timeout=patience / _BEATS if patience else None)
                except queue.Empty:
                    item = (None, alive) if self.hello is not None else (None, b"")
                if item is None:
                    break
                pending, data = item
                if pending is None or pending.mark_sent():
                    self._stream.send(data)
        except (OSError, EOFError):
            pass  # the reader finds out as well, and knows better why
        self._stream.end_input()

    def _read(self) -> None:
        try:
            buffer = self._find_start()
            while buffer is not None:
                while (found := take_frame(buffer)) is not None:
                    self._handle(*found)
                data = self._stream.receive(_LISTEN)
                if data == b"" or self.failure is not None:
                    break
                buffer += data or b""
        except (OSError, EOFError, ValueError, KeyError) as error:
            self.lose(f"it does not speak our protocol ({error})" if isinstance(error, ValueError) else str(error))
        else:
            self._ended()
        self._outbox.put(None)

    def _find_start(self) -> bytearray | None:
        """What follows the agent's first word; None when the stream ends before it."""
        buffer = bytearray(self._early)
        while (at := buffer.find(self._up)) < 0:
            data = self._stream.receive(_LISTEN)
            if data == b"" or self.failure is not None:
                self._early = bytes(buffer)
                return None
            buffer += data or b""
            del buffer[: -_NOISE - len(self._up)]
        return buffer[at + len(self._up) :]

    def _handle(self, header: dict[str, Any], data: bytes) -> None:
        if "hello" in header:
            self.hello = header["hello"]
            return
        with self._lock:
            pending = self._calls.get(header["id"])
        if pending is None:
            return  # nobody waits for it any more
        if "progress" in header:
            pending.tell(header["progress"])
        elif "credit" in header:
            pending.add_credit(header["credit"])
        elif "chunk" in header:
            pending.take(data)
        else:
            pending.finish(header.get("answer"), header.get("failed"))
        if pending.error is not None and not pending.done:
            self._give_up(pending)
            pending.finish(None, None)

    def _ended(self) -> None:
        """The stream has ended: say why, as exactly as can be known, unless it was we who ended it."""
        if self.failure is not None:
            return
        code = self._stream.exit_code(1.0)
        if self.hello is None and (code is not None or self.link.trouble() is None):
            self._fail(self._why_not(self._early, self._stream.errors.text(), code), made=False)
            return
        said = self._stream.errors.text().strip()[-500:]
        self.lose((self.link.trouble() or "the agent ended") + (f": {said}" if said else ""))

    def lose(self, reason: str) -> None:
        """Give up the agent: calls that were sent may have happened, all others have not."""
        self._fail(OutcomeUnknown(f"{self.where}: {reason}"), made=True)

    def _fail(self, error: Exception, *, made: bool) -> None:
        with self._lock:
            if self.failure is not None:
                return
            self.failure = error
            calls, self._calls = list(self._calls.values()), {}
        unknown = OutcomeUnknown(f"{error}; the call was under way, so it may or may not have happened")
        for pending in calls:
            if made:
                pending.break_off(sent=unknown, unsent=NotSent())
            else:
                certain = error if isinstance(error, TargetError) else NotSent()
                pending.break_off(sent=certain, unsent=certain)
        self._outbox.put(None)

    def close(self, seconds: float = 6.0) -> None:
        """Close the agent's input, so that it ends with all it started, and wait for the threads."""
        self._fail(OutcomeUnknown(f"{self.where}: the connection was closed"), made=True)
        self._writer.join(seconds)
        self._reader.join(seconds)
        self._stream.close()
