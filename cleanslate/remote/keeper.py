"""The small process that starts a server and stays its parent: it alone can learn how the server ends.

It runs as a program of its own, in an interpreter of its own, in a session of its own, and outlives the agent, the
connection and the login. It is the subreaper of everything below the server: a worker whose parents have died stays
findable as its child, and becomes no zombie in a container whose first process does not reap. It writes the
server's state file when the server runs, NAME.end when it has ended, and ends with the last of them.

Imports nothing of ours: what runs is this one file, sent over standard input, followed by what to start as JSON.
"""

import json
import os
import signal
import sys
import time

_SUBREAPER, _SET_NAME = 36, 15
TITLE = "cleanslate-keep"


def main(text):
    """Start the server that `text` (JSON) describes, and stay until it and all it left behind have ended."""
    what = json.loads(text)
    if what["detach"]:
        if os.fork():
            os._exit(0)
        os.setsid()
    _settle()
    before = _oom_kills()
    log = os.open(what["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    if what["ids"]:
        os.fchown(log, what["ids"]["uid"], what["ids"]["gid"])
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _become_server(what, log, writing)
    os.close(writing)
    os.close(log)
    trouble = _read_all(reading)
    if trouble:
        os.waitpid(child, 0)
        _put(what["end"], dict(json.loads(trouble), launch_id=what["state"]["launch_id"], at=time.time()))
        return
    own = {"pid": os.getpid(), "start": _start(os.getpid())}
    born = {"pid": child, "start": _start(child), "pgid": child, "sid": child}
    _put(what["state_file"], dict(what["state"], keeper=own, launched_at=time.time(), **born))
    _stay(what, child, before)


def _settle():
    """Let go of the agent's streams, take in orphans, be deaf to what ends sessions."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.chdir("/")
    try:
        import ctypes

        library = ctypes.CDLL(None)
        library.prctl(_SUBREAPER, 1, 0, 0, 0)
        library.prctl(_SET_NAME, TITLE.encode(), 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass  # orphans then go to init, as they would without us


def _become_server(what, log, writing):
    """In the child: take on everything that was asked for, then be the server. Never returns."""
    doing = "start a session"
    try:
        os.setsid()
        os.dup2(log, 1)
        os.dup2(log, 2)
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.umask(what["umask"])
        doing = "set limits"
        _limit(what["limits"], what["nice"])
        doing = "become " + str(what["ids"] and what["ids"]["user"])
        if what["ids"]:
            os.initgroups(what["ids"]["user"], what["ids"]["gid"])
            os.setgid(what["ids"]["gid"])
            os.setuid(what["ids"]["uid"])
        doing = "enter " + str(what["chdir"])
        os.chdir(what["chdir"])
        doing = "run " + what["program"]
        os.execve(what["program"], what["argv"], what["env"])
    except BaseException as error:  # noqa: BLE001 - whatever it is, the parent must hear of it
        said = getattr(error, "strerror", None) or str(error)
        os.write(writing, json.dumps({"doing": doing, "error": said, "errno": getattr(error, "errno", None)}).encode())
    finally:
        os._exit(127)


def _limit(limits, nice):
    import resource

    for name, wanted in limits.items():
        number = getattr(resource, "RLIMIT_" + name.upper())
        value = resource.RLIM_INFINITY if wanted == "unlimited" else int(wanted)
        hard = resource.getrlimit(number)[1]
        most = max(value, hard) if hard != resource.RLIM_INFINITY and value != resource.RLIM_INFINITY else value
        resource.setrlimit(number, (value, most if os.geteuid() == 0 else hard))
    if nice:
        os.nice(nice)


def _stay(what, child, before):
    """Reap until nobody is left below us; write down how the server itself ended."""
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            return
        if pid == child:
            _put(
                what["end"],
                dict(_ending(child, status), launch_id=what["state"]["launch_id"], oom=_oom_kills() - before),
            )


def _ending(pid, status):
    killed = os.WIFSIGNALED(status)
    return {
        "pid": pid,
        "code": None if killed else os.WEXITSTATUS(status),
        "signal": os.WTERMSIG(status) if killed else None,
        "core": killed and os.WCOREDUMP(status),
        "at": time.time(),
    }


def _oom_kills():
    """How many processes the kernel has killed in our memory cgroup for want of memory; 0 where it does not tell."""
    try:
        with open("/proc/self/cgroup", encoding="ascii", errors="replace") as file:
            parts = [line.strip().split(":", 2) for line in file]
        for _, controllers, path in parts:
            if controllers == "":
                place = "/sys/fs/cgroup" + path + "/memory.events"
            elif "memory" in controllers.split(","):
                place = "/sys/fs/cgroup/memory" + path + "/memory.oom_control"
            else:
                continue
            with open(place, encoding="ascii") as file:
                found = dict(line.split() for line in file)
            return int(found.get("oom_kill", 0))
    except (OSError, ValueError):
        pass
    return 0


def _start(pid):
    with open("/proc/%d/stat" % pid, "rb") as file:
        text = file.read()
    return int(text[text.rindex(b")") + 2 :].split()[19])


def _read_all(descriptor):
    with open(descriptor, "rb") as file:
        return file.read()


def _put(path, values):
    part = "%s.%d.part" % (path, os.getpid())
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        json.dump(values, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.rename(part, path)


if __name__ == "__main__":
    main(sys.stdin.buffer.read())
