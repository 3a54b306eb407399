"""The agent: answers framed requests from its standard input until it closes, then ends what they started.

A frame is two big-endian 32-bit lengths, that many bytes of JSON, that many bytes of data. The controller sends
{"modules": {name: [size, is_code]}} with the modules' bytes, compressed; {id, call, arguments, left, read_only, blob}
where blob is null, "whole" (the data is all of it) or its size (chunks follow), and with `lease` what must be held
before the call is made (leases.py); {id, chunk}, {id, end}; {id, cancel}; {alive: seconds}: after so many without
another word nobody is there any more.
The agent sends {hello}; {id, progress}; {id, credit} (bytes that may follow); {id, chunk} with bulk data; and at last
{id, answer} or {id, failed: {kind, message, details}}.
"""

import _signal
import io
import os
import select
import sys
import time
import zlib

from cleanslate.remote.locks import Condition, Lock, start
from cleanslate.remote.quick_json import dumps, loads
from cleanslate.remote.registry import Failed
from cleanslate.remote.underway import CHUNK, GRACE, CallUnderWay, signal_group

_QUICK = ("agents", "command", "leases", "presence")  # modules whose calls do without `threading`
SLACK = 1.0  # seconds after KILL until a call that does not return is given up


def pack(header, data=b""):
    """Make a frame of a dict and bytes."""
    text = dumps(header).encode()
    return len(text).to_bytes(4, "big") + len(data).to_bytes(4, "big") + text + data


class Agent:
    """Reads requests from `source`, runs each in a thread, writes frames to the descriptor `sink`."""

    def __init__(self, source, sink, sources):
        self.source = source
        self.sink = sink
        self.sources = sources
        self.calls = {}
        self.alone_at = float("inf")  # when nobody was heard for so long that nobody is there any more
        self._patience = float("inf")
        self._ending = False
        self._writing = Lock()
        self._changed = Condition()

    def send(self, header, data=b""):
        """Send one frame."""
        self._write(pack(header, data))

    def _write(self, frame):
        with self._writing:
            try:
                while frame:
                    frame = frame[os.write(self.sink, frame) :]
            except OSError:
                pass  # the reader sees the end of its input too, and ends everything

    def serve(self):
        """Answer until the input closes, then end every call under way."""
        start(self._watch)
        read = self.source.read
        while True:
            sizes = read(8)
            if len(sizes) < 8:
                break
            size = int.from_bytes(sizes[:4], "big")
            header, data = read(size), read(int.from_bytes(sizes[4:], "big"))
            if len(header) < size:
                break
            self.alone_at = time.monotonic() + self._patience
            self._take(loads(header), data)
        self.end()

    def _take(self, header, data):
        if "alive" in header:
            self._patience = header["alive"]
            self.alone_at = time.monotonic() + self._patience
            with self._changed:
                self._changed.notify_all()
        elif "modules" in header:
            self._learn(header["modules"], zlib.decompress(data))
        elif "call" in header:
            if self._ending or self._deserted():
                return
            if header["call"].partition(".")[0] not in _QUICK and "threading" not in sys.modules:
                import threading  # noqa: F401 - it takes the thread that imports it first for the main one
            call = CallUnderWay(self, header, data)
            with self._changed:
                self.calls[call.id] = call
                self._changed.notify_all()
            start(self._run, call, header)
        else:
            call = self.calls.get(header["id"])
            if call is None:
                return  # it has answered already
            if "chunk" in header:
                call.blob.feed(data)
            elif "end" in header:
                call.blob.finish()
            elif "cancel" in header:
                self._stop(call, "cancelled")

    def _deserted(self):
        """Whether the controller has closed our input meanwhile: then it believes that this call was not made."""
        watch = select.poll()
        watch.register(self.source.fileno(), select.POLLHUP | select.POLLRDHUP)
        return bool(watch.poll(0))

    def _learn(self, modules, data):
        at = 0
        for name, (size, is_code) in modules.items():
            part = data[at : at + size]
            self.sources[name] = part if is_code else part.decode()
            at += size

    # ------------------------------------------------------------------ one call

    def _run(self, call, header):
        try:
            answer, bulk = self._answer(call, header), b""
            if call.signalled:
                raise Failed(call.reason, "the process that it had started was ended")
            if isinstance(answer, tuple):
                answer, bulk = answer
            self._send_bulk(call, bulk)
            last = pack({"id": call.id, "answer": answer})
        except Failed as error:
            last = self._failure(call, call.reason or error.kind, error.message, error.details)
        except BaseException as error:  # noqa: BLE001 - whatever a call does, it is answered
            last = self._failure(call, call.reason or "bug", *self._tell(error))
        if call.reason:
            call.end_groups()
        with self._changed:
            known = self.calls.pop(call.id, None)
            self._changed.notify_all()
        if known is not None:
            self._write(last)

    def _answer(self, call, header):
        module, _, function = header["call"].partition(".")
        found = getattr(__import__("cleanslate.remote." + module, fromlist=[function]), function, None)
        if not getattr(found, "is_call", False):
            raise Failed("bug", "there is no call " + header["call"])
        if header["read_only"] and not found.read_only:
            raise Failed("refused", header["call"] + " changes something on the target, and only reading was allowed")
        if header.get("lease") is not None:
            __import__("cleanslate.remote.leases", fromlist=["hold"]).hold(call, header["lease"])
        return found(call, **header["arguments"])

    def _send_bulk(self, call, bulk):
        if isinstance(bulk, (bytes, bytearray)):
            bulk = io.BytesIO(bulk)
        with bulk:
            for chunk in iter(lambda: bulk.read(CHUNK), b""):
                if call.reason:
                    raise Failed(call.reason, "the call was ended while it was sending its answer")
                self.send({"id": call.id, "chunk": True}, chunk)

    @staticmethod
    def _failure(call, kind, message, details):
        return pack({"id": call.id, "failed": {"kind": kind, "message": message, "details": details}})

    @staticmethod
    def _tell(error):
        import traceback

        lines = traceback.format_exception(type(error), error, error.__traceback__)
        return "{}: {}".format(type(error).__name__, error), {"traceback": "".join(lines)}

    # ------------------------------------------------------------------ ending calls

    def _stop(self, call, reason):
        with self._changed:
            if call.reason is None:
                call.stop(reason)
                call.looks, call.next_look = 1, time.monotonic() + GRACE
                self._changed.notify_all()

    def _watch(self):
        """End calls at their deadline, KILL what TERM did not end, give up on calls that never return."""
        while True:
            with self._changed:
                now = time.monotonic()
                due = [call for call in self.calls.values() if call.next_look <= now]
                if not due and now < self.alone_at:
                    first = min((call.next_look for call in self.calls.values()), default=now + 3600)
                    self._changed.wait(min(first, self.alone_at) - now)
                    continue
            if now >= self.alone_at:
                self.alone_at = float("inf")
                self.end_soon()
            for call in due:
                self._look(call)

    def _look(self, call):
        if call.looks == 0:
            self._stop(call, "deadline")
        elif call.looks == 1:
            for process in call.owned:
                signal_group(process, 9)
            call.looks, call.next_look = 2, time.monotonic() + SLACK
        else:
            with self._changed:
                known = self.calls.pop(call.id, None)
                self._changed.notify_all()
            if known is not None:
                self._write(self._failure(call, call.reason, "it does not end, even after KILL", {"stuck": True}))

    def end_soon(self, *_):
        """End every call under way, then this process; from a signal or from the watcher, who is needed for it."""
        self._ending = True
        start(self.end)

    def end(self):
        """End every call under way, then this process."""
        for call in list(self.calls.values()):
            self._stop(call, "lost")
        with self._changed:
            self._changed.wait_for(lambda: not self.calls, GRACE + 2 * SLACK)
        if "cleanslate.remote.leases" in sys.modules:
            sys.modules["cleanslate.remote.leases"].let_go("lost")
        os._exit(0)


def settle():
    """Give this process what a login would have, and take the protocol's descriptors out of children's reach."""
    sink = os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    _keep_to_ourselves()
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)  # ignored, as a parent may have it, children's ends are lost
    os.environ.setdefault("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    if not {"HOME", "USER", "LOGNAME", "SHELL"} <= os.environ.keys():
        _fill_from_passwd()
    try:
        os.getcwd()
        usable = os.access(".", os.X_OK)
    except OSError:
        usable = False
    if not usable:  # the folder of the user who became another one
        os.chdir(next(folder for folder in (os.environ.get("HOME", ""), "/") if os.access(folder, os.X_OK)))
    return sink


def _keep_to_ourselves():
    """Whatever descriptors a server, sudo or pct left open to us are no business of what we start."""
    try:
        names = os.listdir("/proc/self/fd")
    except OSError:
        names = ()
    for number in map(int, names):
        if number > 2:
            try:
                os.set_inheritable(number, False)
            except OSError:
                pass  # the one that the folder was read with


def _fill_from_passwd():
    import pwd

    try:
        user = pwd.getpwuid(os.getuid())
    except KeyError:
        return
    for name, value in (("HOME", user.pw_dir), ("USER", user.pw_name), ("LOGNAME", user.pw_name)):
        os.environ.setdefault(name, value)
    os.environ.setdefault("SHELL", user.pw_shell or "/bin/sh")


def _identity():
    """What tells this process from every other, for a later agent that has to end it (agents.py)."""
    with open("/proc/self/stat") as stat, open("/proc/sys/kernel/random/boot_id") as boot:
        return {
            "pid": os.getpid(),
            "start": int(stat.read().rpartition(")")[2].split()[19]),
            "boot_id": boot.read().strip(),
        }


def main(source, sources, marker):
    """Say hello behind `marker` (whatever a login shell printed before it is noise), then serve."""
    sink = settle()
    os.write(sink, marker)
    agent = Agent(source, sink, sources)
    for number in (_signal.SIGTERM, _signal.SIGHUP):
        _signal.signal(number, agent.end_soon)
    magic = sys.modules["_frozen_importlib_external"].MAGIC_NUMBER.hex()
    version = "{}.{}.{}".format(*sys.version_info[:3])
    agent.send({"hello": dict(_identity(), python=version, magic=magic, uid=os.getuid())})
    agent.serve()
