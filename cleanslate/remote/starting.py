"""Starts a server through its keeper: a new log, the keeper's program by pipe or transient service, its report."""

import contextlib
import json
import marshal
import os
import re
import shutil
import subprocess
import sys
import time

from cleanslate.remote import keeper, launch_spec, server_state
from cleanslate.remote.registry import Failed

_BOOT = "import sys, marshal; exec(marshal.loads(sys.stdin.buffer.read(int(sys.argv[1]))))"
_TICK = 0.02
_START_SECONDS = 20.0
_HISTORY = 20


def start(wanted, via, keep_logs):
    """Have the keeper start it; gives the state that the keeper wrote."""
    launch_id = _new_id()
    log, link = _prepare_log(wanted, launch_id, keep_logs)
    how = _via(via)
    place = server_state.path(wanted.name)
    end = place.with_suffix(".end")
    with contextlib.suppress(FileNotFoundError):
        end.unlink()
    what = {
        "detach": how == "setsid",
        "argv": wanted.whole_argv,
        "program": wanted.program,
        "env": wanted.env,
        "chdir": wanted.chdir,
        "ids": wanted.ids,
        "limits": wanted.limits,
        "nice": wanted.nice,
        "umask": wanted.umask,
        "log": log,
        "state": dict(_state(wanted, launch_id), log=log, log_link=link, via=how),
        "state_file": str(place),
        "end": str(end),
    }
    _run_keeper(what, how)
    return _await(wanted, place, end, launch_id)


def _new_id():
    """Time and four letters; ids in order of their text are in order of their time."""
    now = time.time()
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
    return "%s.%03d-%s" % (stamp, now * 1000 % 1000, os.urandom(2).hex())


def _state(wanted, launch_id):
    """What is known of a launch before it happens; the keeper adds pid, start, group, session and itself."""
    return {
        "name": wanted.name,
        "launch_id": launch_id,
        "argv": wanted.argv,
        "env_digest": launch_spec.digest(wanted.identity()["env"]),
        "chdir": wanted.chdir,
        "port": wanted.port,
        "engine": wanted.engine,
        "user": wanted.user,
        "identity": wanted.identity(),
        "boot_id": server_state.boot_id(),
        "pid_namespace": server_state.pid_namespace(),
        "history": _history(server_state.read(wanted.name)),
    }


def _history(before):
    """The launches before this one, the last of them last, without what only the present one needs."""
    if before is None:
        return []
    kept = ("launch_id", "launched_at", "healthy_after", "stopped_at")
    last = {key: before[key] for key in kept if before.get(key) is not None}
    last["identity"] = launch_spec.digest(before.get("identity"))
    return [*(before.get("history") or []), last][-_HISTORY:]


def _prepare_log(wanted, launch_id, keep_logs):
    """A new log for this launch, and the given path as a link to it; a file that stood there is moved aside."""
    link = wanted.log or str(server_state.folder().parent / "logs" / (wanted.name + ".log"))
    link = os.path.abspath(link)
    folder = os.path.dirname(link)
    os.makedirs(folder, exist_ok=True)
    log = os.path.join(folder, "%s-%s.log" % (wanted.name, launch_id))
    if os.path.lexists(link) and not os.path.islink(link):
        os.rename(link, os.path.join(folder, "%s-before-%s.log" % (wanted.name, launch_id)))
    part = "%s.%s.part" % (link, launch_id)
    os.symlink(os.path.basename(log), part)
    os.rename(part, link)
    _prune_logs(folder, wanted.name, keep_logs - 1)
    return log, link


def _prune_logs(folder, name, most):
    pattern = re.compile(re.escape(name) + r"-(?:before-)?\d{8}T\d{6}\.\d{3}-[0-9a-f]{4}\.log")
    kept = [entry for entry in os.listdir(folder) if pattern.fullmatch(entry)]
    kept.sort(key=lambda entry: entry.replace("-before", ""))
    for entry in kept[: max(0, len(kept) - most)]:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(folder, entry))


def _via(via):
    """How the keeper is started: by systemd where it runs and we may ask it, else in a session of its own."""
    booted = os.path.isdir("/run/systemd/system") and shutil.which("systemd-run") is not None
    if via == "systemd" and not booted:
        raise Failed("unsupported", "systemd does not run on this machine; leave out via, or set via: setsid")
    if via == "auto":
        return "systemd" if booted and os.geteuid() == 0 else "setsid"
    return via


def _program():
    """The keeper's code, whether it was sent as source, as code, or is a file here."""
    loader = keeper.__spec__.loader
    source = loader.get_source(keeper.__name__)
    if source is None:
        return loader.sources[keeper.__name__]
    return marshal.dumps(compile(source, "keeper.py", "exec", dont_inherit=True))


def _run_keeper(what, how):
    program, text = _program(), json.dumps(what).encode()
    name, launch_id = what["state"]["name"], what["state"]["launch_id"]
    argv = [sys.executable, "-I", "-S", "-c", _BOOT, str(len(program)), "cleanslate-keeper", name, launch_id]
    if how == "systemd":
        _run_unit(argv, program + text, name, launch_id)
        return
    null = subprocess.DEVNULL
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=null, stderr=null, cwd="/", start_new_session=True)
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(program + text)
        process.stdin.close()
    process.wait(_START_SECONDS)


def _run_unit(argv, data, name, launch_id):
    """A transient service: it is no part of any login session, so that no logout ends it."""
    place = str(server_state.path(name).with_suffix(".spec"))
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)
    unit = "cleanslate-%s-%s" % (re.sub(r"[^A-Za-z0-9_.-]", "-", name), launch_id)
    wanted = ("StandardInput=file:" + place, "Restart=no", "TasksMax=infinity", "OOMPolicy=continue")
    command = ["systemd-run", "--quiet", "--collect", "--unit=" + unit, "--description=cleanslate: " + name]
    command += ["--property=" + each for each in wanted]
    null = subprocess.DEVNULL
    done = subprocess.run([*command, "--", *argv], stdin=null, capture_output=True, timeout=_START_SECONDS)
    if done.returncode:
        os.unlink(place)
        said = done.stderr.decode("utf-8", "replace").strip()
        raise Failed("started", "systemd-run refused: %s" % (said or "exit %d" % done.returncode))


def _await(wanted, place, end, launch_id):
    """The state that the keeper writes when the server runs; Failed("started") when it cannot be executed."""
    until = time.monotonic() + _START_SECONDS
    try:
        while time.monotonic() < until:
            state = server_state.load(place)
            if state and state.get("launch_id") == launch_id:
                return state
            ended = server_state.load(end)
            if ended and ended.get("launch_id") == launch_id:
                what = "%s cannot be launched: %s: %s" % (wanted.name, ended["doing"], ended["error"])
                raise Failed("started", what, errno=ended.get("errno"))
            time.sleep(_TICK)
    finally:
        with contextlib.suppress(FileNotFoundError):
            place.with_suffix(".spec").unlink()
    raise Failed("started", "the keeper of %s did not report within %d s" % (wanted.name, _START_SECONDS))
