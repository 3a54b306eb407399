"""Starts a program in a session of its own, as `subprocess` does, whose import takes longer than most programs."""

import errno
import io
import os

from cleanslate.remote.locks import Lock

_NOT_THERE = (errno.ENOENT, errno.ENOTDIR)


class Child:
    """A program under way: what `subprocess.Popen` offers of pid, returncode, poll, wait, stdin, stdout and stderr.

    Raises OSError for a program that cannot be started, ValueError for words with a NUL byte in them, and
    NotImplementedError where the C library cannot start sessions.
    """

    def __init__(self, argv, environment, has_input):
        self.returncode = None
        self._waiting = Lock()
        self.stdin = self.stdout = self.stderr = None
        theirs, ours = [], []
        try:
            if has_input:
                theirs[:], ours[:] = zip(os.pipe())
            for _ in range(2):
                mine, its = os.pipe()
                ours.append(mine)
                theirs.append(its)
            first = (os.POSIX_SPAWN_DUP2, theirs[0], 0) if has_input else (os.POSIX_SPAWN_OPEN, 0, os.devnull, 2, 0)
            actions = [first, (os.POSIX_SPAWN_DUP2, theirs[-2], 1), (os.POSIX_SPAWN_DUP2, theirs[-1], 2)]
            self.pid = _spawn(argv, environment, actions)
        except BaseException:
            for descriptor in ours:
                os.close(descriptor)
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        if has_input:
            self.stdin = io.FileIO(ours[0], "wb")
        self.stdout, self.stderr = io.FileIO(ours[-2], "rb"), io.FileIO(ours[-1], "rb")

    def poll(self):
        """How it ended (negative: by that signal), or None."""
        if self.returncode is None and self._waiting.acquire(False):
            try:
                self._look(os.WNOHANG)
            finally:
                self._waiting.release()
        return self.returncode

    def wait(self):
        """Wait until it has ended; gives how."""
        with self._waiting:
            while self.returncode is None:
                self._look(0)
        return self.returncode

    def _look(self, options):
        if self.returncode is not None:
            return
        pid, status = os.waitpid(self.pid, options)
        if pid == self.pid:
            self.returncode = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _spawn(argv, environment, actions):
    """Start the first program of that name that can be, with Python's ignored signals as they were; gives its pid."""
    import _signal

    ignored = [getattr(_signal, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(_signal, name)]
    refused = None
    for path in _places(argv[0], environment):
        try:
            return os.posix_spawn(path, argv, environment, file_actions=actions, setsid=True, setsigdef=ignored)
        except OSError as error:
            if refused is None or refused.errno in _NOT_THERE:
                refused = error
    raise refused


def _places(name, environment):
    """Where a program of that name may be."""
    if "/" in name:
        return [name]
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    return [os.path.join(folder, name) for folder in folders]
