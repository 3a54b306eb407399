"""Calls that go on by themselves: each in a process of its own that outlives the agent, its end in a file.

The folder is Ansible's (~/.ansible_async, or what ANSIBLE_ASYNC_DIR says), and so are the file's names for what
everybody asks for: started, finished, failed, msg. `answer` (or `failure`) is the call's own, for whoever waits.
"""

import io
import json
import os
import signal
import threading
import time
import warnings

from cleanslate.remote.registry import Call, Failed, changes, reads

_TICK = 0.1
_GRACE = 2.0  # seconds from TERM to KILL when the time limit has passed


def folder(environment=None):
    """Where jobs are written down."""
    said = (environment or {}).get("ANSIBLE_ASYNC_DIR") or os.environ.get("ANSIBLE_ASYNC_DIR")
    return os.path.expanduser(said or "~/.ansible_async")


def _find(name):
    """The function of a call that may go on by itself."""
    if name == "command.run":
        from cleanslate.remote import command

        return command.run
    if name == "downloads.fetch":
        from cleanslate.remote import downloads

        return downloads.fetch
    if name == "modules.run":
        from cleanslate.remote import modules

        return modules.run
    raise Failed("unsupported", name + " cannot go on by itself")


@changes
def start(call, jid, name, arguments, seconds, environment=None):
    """Make the call `name` in a process of its own, for at most so many seconds. Gives the path of its file."""
    function = _find(name)
    data = call.blob.read() if call.blob is not None else None
    place = os.path.join(folder(environment), jid)
    os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
    _write(place, {"started": True, "finished": False, "ansible_job_id": jid, "at": time.time()})
    warnings.simplefilter(
        "ignore", DeprecationWarning
    )  # of forking beside threads: the child touches nothing of theirs
    child = os.fork()
    if child == 0:
        try:
            _detach()
            _Job(place, jid, seconds, data, call.part).run(function, arguments)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    return {"results_file": place}


def _detach():
    """Leave the agent: a session of our own, none of its descriptors, nobody to wait for us."""
    os.setsid()
    if os.fork():
        os._exit(0)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.closerange(3, 4096)


class _Job(Call):
    """The call in its own process; at its time limit everything that it has started is ended."""

    def __init__(self, place, jid, seconds, data, part):
        super().__init__(left=seconds, blob=None if data is None else io.BytesIO(data))
        self.part = part  # of the agent that was: all that it had been sent is here too
        self.place = place
        self.jid = jid
        self.seconds = seconds
        self.until = time.monotonic() + seconds
        self.owned = []
        self._ending = threading.Lock()

    def left(self):
        """Seconds until the limit."""
        return self.until - time.monotonic()

    def own(self, process):
        """Remember a process that the time limit ends."""
        self.owned.append(process)

    def run(self, function, arguments):
        """Make the call and write down what became of it."""
        watcher = threading.Thread(target=self._watch, daemon=True)
        watcher.start()
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)  # children take it over
        try:
            answer = function(self, **arguments)
            self._end({"answer": answer[0] if isinstance(answer, tuple) else answer})
        except Failed as error:
            self._fail(error.kind, error.message, error.details)
        except BaseException as error:  # noqa: BLE001 - whatever happens is written down
            self._fail("bug", "{}: {}".format(type(error).__name__, error), {})

    def _watch(self):
        time.sleep(max(0, self.seconds))
        said = "Job reached maximum time limit of {:g} seconds.".format(self.seconds)
        self._fail("deadline", said, {}, hold=True)
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in self.owned:
                try:
                    os.killpg(process.pid, number)
                except OSError:
                    continue
            time.sleep(_GRACE if number == signal.SIGTERM and self.owned else 0)
        os._exit(0)

    def _fail(self, kind, message, details, hold=False):
        failure = {"kind": kind, "message": message, "details": details}
        self._end({"failure": failure, "failed": True, "msg": message}, hold)

    def _end(self, values, hold=False):
        self._ending.acquire()  # whoever is second never gets it: the job has one end
        _write(self.place, dict(values, started=True, finished=True, ansible_job_id=self.jid, at=time.time()))
        if not hold:
            os._exit(0)


@changes
def announce(call, jid, environment=None):
    """Make the file of a job that nothing is done for by itself. Gives its path."""
    place = os.path.join(folder(environment), jid)
    os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
    _write(place, {"started": True, "finished": False, "ansible_job_id": jid, "at": time.time()})
    return {"results_file": place}


@changes
def settle(call, jid, values, environment=None):
    """Write down a job's result as its step gives it."""
    place = os.path.join(folder(environment), jid)
    if os.path.exists(place):
        _write(place, dict(values, started=True, finished=True, ansible_job_id=jid, settled=True, at=time.time()))
    return {}


@reads
def status(call, jid, wait=0.0, environment=None):
    """What is known of a job now, or when it has ended, waiting so many seconds at most. Failed: missing."""
    place = os.path.join(folder(environment), os.path.basename(jid))
    until = time.monotonic() + min(wait, max(0.0, call.left() - 1))
    while True:
        try:
            with open(place, encoding="utf-8") as file:
                found = json.load(file)
        except FileNotFoundError:
            raise Failed("missing", "there is no job " + jid, results_file=place) from None
        if found.get("finished") or time.monotonic() >= until or call.cancelled.wait(_TICK):
            return dict(found, results_file=place, age=time.time() - found.get("at", 0))


@changes
def forget(call, jid, environment=None):
    """Remove a job's file; gives its path, and whether it was there."""
    place = os.path.join(folder(environment), os.path.basename(jid))
    try:
        os.unlink(place)
    except FileNotFoundError:
        return {"erased": place, "was": False}
    return {"erased": place, "was": True}


def _write(place, values):
    part = "{}.{}.part".format(place, os.getpid())
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        json.dump(values, file)
    os.rename(part, place)
