"""Runs commands for steps: exact argv or a shell's command line, output kept at both ends, nothing left behind."""

import os
import select
import sys
import time

from cleanslate.remote.child import Child
from cleanslate.remote.locks import Lock
from cleanslate.remote.registry import Failed, changes, reads

_READ = 65536
_TICK = 0.05  # seconds between looks at a process where the kernel cannot tell of its end
_SILENCE = 0.2  # seconds without output after the main process has ended, then its pipes are let go
_PATIENCE = 2.0  # seconds after which they are let go even though something still writes
_UMASK = Lock()


class Kept:
    """The first and the last `keep` bytes of a stream of any length."""

    def __init__(self, keep):
        self.keep = keep
        self.total = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, data):
        """Take the next bytes."""
        self.total += len(data)
        room = self.keep - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * self.keep:
            del self._tail[: -self.keep]

    @property
    def cut(self):
        """Whether something in the middle is missing."""
        return self.total > 2 * self.keep

    def text(self):
        """What was kept, as text; a line in the middle says how much is missing."""
        if not self.cut:
            return (self._head + self._tail).decode("utf-8", "replace")
        tail = self._tail[-self.keep :]
        head = self._head.decode("utf-8", "replace")
        missing = self.total - 2 * self.keep
        return "{}\n... {} bytes cut ...\n{}".format(head, missing, tail.decode("utf-8", "replace"))

    def last_line(self):
        """The last line that is not empty, for messages; at most 300 characters."""
        lines = (self._tail or self._head)[-2000:].decode("utf-8", "replace").strip().splitlines()
        return lines[-1][-300:] if lines else ""


class Exchange:
    """Feeds a process its input and takes its output until it has ended and its pipes are closed or silent."""

    def __init__(self, call, process, keep, add_newline):
        self.call = call
        self.process = process
        self.add_newline = add_newline
        self.out, self.err = Kept(keep), Kept(keep)
        self.kept = {process.stdout.fileno(): self.out, process.stderr.fileno(): self.err}
        self.poll = select.poll()
        for descriptor in self.kept:
            self.poll.register(descriptor, select.POLLIN)
        self.waiting = b""  # input that did not fit into the pipe
        self.fed = False
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            self.poll.register(process.stdin.fileno(), select.POLLOUT)
        self.end = self._watch_end()

    def _watch_end(self):
        """A descriptor that becomes readable when the process ends; None where the kernel has none."""
        try:
            descriptor = os.pidfd_open(self.process.pid)
        except (AttributeError, OSError):
            return None
        self.poll.register(descriptor, select.POLLIN)
        return descriptor

    def run(self):
        """Exchange until the end; the process has been waited for then, unless it cannot be ended."""
        try:
            while self.process.poll() is None:
                if not self._step(_TICK if self.end is None else 1.0) and not self.kept and self.end is None:
                    time.sleep(_TICK)
            ended = heard = time.monotonic()
            while self.kept and time.monotonic() < min(heard + _SILENCE, ended + _PATIENCE):
                if self._step(_TICK):
                    heard = time.monotonic()
        finally:
            self._close()

    def _step(self, seconds):
        """Wait for something and do it; whether there was output (or its end)."""
        said = False
        for descriptor, _ in self.poll.poll(seconds * 1000):
            if descriptor in self.kept:
                said = True
                data = os.read(descriptor, _READ)
                if data:
                    self.kept[descriptor].add(data)
                else:
                    self.poll.unregister(descriptor)
                    del self.kept[descriptor]
            elif descriptor == self.end:
                self.process.wait()
                self.poll.unregister(descriptor)
            else:
                self._feed(descriptor)
        return said

    def _feed(self, descriptor):
        if not self.waiting:
            self.waiting = self.call.blob.read(_READ)
            if not self.waiting and self.fed and self.add_newline:
                self.waiting, self.add_newline = b"\n", False
            self.fed = True
        try:
            self.waiting = self.waiting[os.write(descriptor, self.waiting) :] if self.waiting else None
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.waiting = None  # it does not want its input; its exit code tells whether that matters
        if self.waiting is None:
            self.poll.unregister(descriptor)
            self.process.stdin.close()

    def _close(self):
        if self.end is not None:
            os.close(self.end)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


def start(argv, executable, folder, environment, umask, has_input):
    """Start a program in a session of its own, with pipes for its outputs, and for its input where it has some."""
    if executable is None and folder is None and umask is None:
        try:
            return Child(argv, environment, has_input)
        except NotImplementedError:
            pass  # an old C library
    import subprocess  # whose import takes longer than most commands

    options = {
        "executable": executable,
        "cwd": folder,
        "env": environment,
        "stdin": subprocess.PIPE if has_input else subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "bufsize": 0,
        "start_new_session": True,
    }
    if umask is None or sys.version_info >= (3, 9):
        if umask is not None:
            options["umask"] = umask
        return subprocess.Popen(argv, **options)
    with _UMASK:
        before = os.umask(umask)
        try:
            return subprocess.Popen(argv, **options)
        finally:
            os.umask(before)


def _refusal(error, argv, folder):
    """The Failed for an OSError of starting a process."""
    reason = error.strerror or str(error)
    if folder is not None and error.filename == folder:
        kind = "missing" if isinstance(error, (FileNotFoundError, NotADirectoryError)) else "denied"
        return Failed(kind, "cannot change to the folder {}: {}".format(folder, reason), folder=folder)
    name = argv[0] if argv else ""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return Failed("missing", "there is no command {}".format(name), command=name)
    if isinstance(error, PermissionError):
        return Failed("denied", "{} may not be run: {}".format(name, reason), command=name)
    return Failed("wrong", "{} cannot be run: {}".format(name, reason), command=name)


def _time_text(seconds):
    text = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    return "{}.{:06d}".format(text, int(seconds % 1 * 1000000))


def _delta_text(seconds):
    whole, micro = divmod(int(seconds * 1000000), 1000000)
    return "{:d}:{:02d}:{:02d}.{:06d}".format(whole // 3600, whole // 60 % 60, whole % 60, micro)


def _expand(text, environment):
    """Expand `~`, $NAME and ${NAME}; a name that is not set stays as it is written."""
    if "$" in text:
        import re  # only here, since its import takes longer than most commands

        text = re.sub(r"\$(?:(\w+)|\{(\w+)\})", lambda at: environment.get(at[1] or at[2], at[0]), text)
    return os.path.expanduser(text)


@changes
def run(
    call,
    argv=None,
    command=None,
    executable=None,
    chdir=None,
    environment=None,
    stdin_add_newline=False,
    expand=False,
    keep=262144,
    umask=None,
):
    """Run `argv` as it is, or `command` by the shell `executable` (/bin/sh), with the blob as its standard input.

    environment is laid over the agent's own. expand: `~` and $VARIABLES in argv are expanded first (in chdir always).
    stdin_add_newline: a line end follows the blob, unless that is empty.
    keep: bytes of each end of both outputs. umask: a number. Gives rc (negative: minus the signal), signal, stdout,
    stderr, stdout_bytes, stderr_bytes, stdout_cut, stderr_cut, start, end, delta (text), seconds. When the main process
    has ended, pipes that something detached still holds open are let go after a moment's silence.
    Failed: missing, denied (the command, or the folder `chdir`), wrong (not executable code, too long).
    """
    whole = dict(os.environ, **{name: str(value) for name, value in (environment or {}).items()})
    if argv is None:
        argv = [executable or "/bin/sh", "-c", command]
        executable = None
    elif expand:
        argv = [_expand(word, whole) for word in argv]
    folder = _expand(chdir, whole) if chdir is not None else None
    began = time.time()
    try:
        process = start(argv, executable, folder, whole, umask, call.blob is not None)
    except (OSError, ValueError) as error:
        if isinstance(error, ValueError):  # a NUL byte
            raise Failed("wrong", "{!r} cannot be run: {}".format(argv[0], error)) from None
        raise _refusal(error, argv, folder) from None
    call.own(process)
    exchange = Exchange(call, process, keep, stdin_add_newline)
    exchange.run()
    if call.cancelled.is_set():
        said = exchange.err.last_line() or exchange.out.last_line()
        shown = command if command is not None else " ".join(argv)
        shown = shown if len(shown) <= 200 else shown[:197] + "..."
        raise Failed("ended", "{} was ended".format(shown) + ("; it last said: " + said if said else ""))
    return _result(process, exchange, began)


def _result(process, exchange, began):
    ended = time.time()
    return {
        "rc": process.returncode,
        "signal": -process.returncode if process.returncode < 0 else None,
        "stdout": exchange.out.text(),
        "stderr": exchange.err.text(),
        "stdout_bytes": exchange.out.total,
        "stderr_bytes": exchange.err.total,
        "stdout_cut": exchange.out.cut,
        "stderr_cut": exchange.err.cut,
        "start": _time_text(began),
        "end": _time_text(ended),
        "delta": _delta_text(ended - began),
        "seconds": ended - began,
    }


@reads
def query(call, **arguments):
    """The same as run, for commands of our own that only read (never for a user's command)."""
    return run(call, **arguments)
