"""Launches a server that outlives us: looks first, starts it apart from the channel, and sees that it lives.

A keeper (see keeper.py) starts it and stays its parent. Only one launch of a name is under way at a time. The log is a
new file for each launch, so that no line of an earlier run is taken for one of this.
"""

import contextlib
import fcntl
import os
import time

from cleanslate.remote import diagnosis, exits, launch_spec, preflight, processes, server_state, specs, starting
from cleanslate.remote.ladder import Ladder
from cleanslate.remote.launch_spec import Spec
from cleanslate.remote.oserrors import told
from cleanslate.remote.profiles import PROFILES
from cleanslate.remote.registry import Failed, changes, reads
from cleanslate.remote.selection import Selection
from cleanslate.remote.startup import Startup

_TICK = 0.02
_REPORT_SECONDS = 5.0
_SEARCHED = 400  # lines of a log, for the reason of a death


@reads
def plan(call, spec, need):
    """What a launch would meet now; starts nothing.

    Gives {running: none|same|different, differences, state, findings, program, engine, port, log, chdir, via, python,
    recent, good}. `recent`: launches of this name in the last 24 hours. good: {launch_id, at, argv, env (names), user}
    where spec asks for the `last-good` specification, else None. Failed("unknown") where there is none.
    """
    wanted = Spec(**specs.resolved(spec))
    state, differing = _running(wanted)
    told_now = {
        "running": "none" if state is None else "different" if differing else "same",
        "differences": differing,
        "state": state,
        "program": wanted.program,
        "engine": wanted.engine,
        "port": wanted.port,
        "chdir": wanted.chdir,
        "recent": len(_recent(server_state.read(wanted.name))),
        "good": _good(wanted) if spec.get("specification") else None,
    }
    if state is not None and not differing:
        return dict(told_now, findings=[], python=None)
    found = preflight.findings(call, wanted, need)
    return dict(told_now, findings=found, python=preflight.python_facts(call, wanted))


def _good(wanted):
    launch = specs.last_good(wanted.name)
    about = {"argv": wanted.argv, "env": sorted(wanted.given), "user": wanted.user}
    return dict(about, launch_id=launch["launch_id"], at=launch["at"])


def _running(wanted):
    """(the state of the server that runs under this name, how it differs from what is wanted)."""
    state = server_state.read(wanted.name)
    if state is None or not server_state.alive(state):
        return None, []
    return state, launch_spec.differences(state, wanted.identity())


def _recent(state):
    since = time.time() - 86400
    history = (state or {}).get("history") or []
    launched = [each.get("launched_at") for each in history] + [(state or {}).get("launched_at")]
    return [at for at in launched if at and at >= since]


@changes
@told("launch")
def launch(call, spec, need, replace=False, grace=30.0, kill_within=120.0, settle=1.0, via="auto", keep_logs=10):
    """Launch a server, unless it runs already; gives {already, state, replaced, log, findings, seconds}.

    settle: seconds for which it is watched; dying within them is a failure with exit code and log. Failed kinds:
    running (another specification, without replace), preflight, started (cannot be executed), died, busy.
    """
    began = time.monotonic()
    spec = specs.resolved(spec)
    wanted = Spec(**spec)
    with _alone(wanted.name):
        state, differing = _running(wanted)
        if state is not None and not differing:
            return {"already": True, "state": state, "replaced": [], "log": state.get("log"), "findings": []}
        replaced = []
        if state is not None:
            if not replace:
                raise Failed("running", _runs_already(state, differing), differences=differing, pid=state["pid"])
            replaced = _take_down(call, wanted.name, grace, kill_within)
        found = _leftovers(wanted.name) + preflight.findings(call, wanted, need)
        wrong = [each for each in found if each["severity"] == "error"]
        if wrong:
            said = "; ".join(each["what"] for each in wrong)
            raise Failed("preflight", said + "; nothing was started", findings=found, fix=wrong[0]["fix"])
        state = starting.start(wanted, via, keep_logs)
        specs.keep(wanted.name, state["launch_id"], state["launched_at"], spec)
        _watch(call, state, settle)
    return {
        "already": False,
        "state": state,
        "replaced": replaced,
        "log": state["log"],
        "findings": found,
        "seconds": round(time.monotonic() - began, 3),
    }


@contextlib.contextmanager
def _alone(name):
    """Hold the lock of this name; Failed("busy") when another launch has it."""
    place = server_state.path(name).with_suffix(".lock")
    place.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(str(place), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failed("busy", "another launch of %s is under way on this machine" % name) from None
        yield
    finally:
        os.close(handle)


def _runs_already(state, differing):
    return "%s runs already (pid %d, since %s) and differs: %s" % (
        state["name"],
        state["pid"],
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(state.get("launched_at", 0))),
        "; ".join(differing),
    )


def _take_down(call, name, grace, kill_within):
    """End the server of this name, by what its launch wrote down; Failed("stuck") when it cannot be ended."""
    chosen = Selection(name=name, engines=[], holders=False)
    found = chosen.find()
    ladder = Ladder(call, found, chosen.mains(found), chosen.find)
    ladder.run(True, grace, kill_within)
    report = ladder.report()
    if report["remaining"]:
        left = ", ".join("%d %s" % (each["pid"], each["title"][:60]) for each in report["remaining"])
        raise Failed("stuck", "the server that runs as %s cannot be ended: %s" % (name, left), **report)
    return report["stopped"] + report["ended"]


def _leftovers(name):
    """Members of the former launch's group that live on without it (vllm#55510): they keep GPUs and ports."""
    state = server_state.read(name)
    if state is None or processes.look(state["pid"]) is not None:
        return []
    if state.get("boot_id") != server_state.boot_id() or state.get("pid_namespace") != server_state.pid_namespace():
        return []
    group = [each for each in processes.table().values() if state["pid"] in (each.pgid, each.sid) and not each.gone]
    if not group:
        return []
    said = ", ".join("%d (%s)" % (each.pid, each.title[:60]) for each in group[:4])
    what = "%d processes of the last launch of %s live on without it: %s" % (len(group), name, said)
    return [{"code": "leftovers", "what": what, "fix": "stop_server first", "severity": "error"}]


def _watch(call, state, settle):
    """See that it lives for a moment; Failed("died") with exit code, hint and log when it does not."""
    until = time.monotonic() + settle
    while time.monotonic() < until and not call.cancelled.is_set():
        if not server_state.alive(state):
            raise died(state)
        call.cancelled.wait(_TICK)


def wait_for_end(state):
    """Give the keeper the moment that it needs to write down how it ended; none where it is gone itself."""
    keeper = state.get("keeper") or {}
    until = time.monotonic() + _REPORT_SECONDS
    while exits.ending(state) is None and time.monotonic() < until:
        if processes.look_again((keeper.get("pid", 0), keeper.get("start"))) is None:
            return
        time.sleep(_TICK)


def died(state):
    """The Failed for a server that is not there any more: how it ended, what that usually means, its last lines."""
    wait_for_end(state)
    told_now = exits.explain(state)
    lived = (told_now["at"] or time.time()) - state.get("launched_at", time.time())
    lines = diagnosis.tail(state["log"], _SEARCHED) or []
    what = "%s %s, %.1f s after its launch" % (state["name"], told_now["text"], lived)
    hint, verdict = told_now["hint"], _verdict(state, lines)
    if verdict and not told_now["asked"]:
        what += ": " + verdict["line"]
        hint = verdict["hint"] + (" (%s)" % hint if hint else "")
    elif lines:
        what += "; its last line: " + lines[-1][:200]
    return Failed("died", what, exit=told_now, fix=hint, log=state["log"], log_tail=lines[-40:], lived=round(lived, 2))


def _verdict(state, lines):
    """The first line of the log after which its engine never comes up, with what it means, or None."""
    startup = Startup(PROFILES.get(state.get("engine")) or PROFILES["http"])
    startup.take(lines, 0.0)
    return startup.verdict
