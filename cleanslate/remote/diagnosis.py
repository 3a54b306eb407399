"""What a stuck server is doing, looked at before it is ended: stacks, where threads wait, CPU used, its log's end.

Two looks some seconds apart tell a hang from slow work: the same stacks and no CPU time used is a hang, the same
stacks at full speed a spin. py-spy is used where the machine has it; the kernel's own view needs no tool.
"""

import os
import shutil
import signal
import subprocess
import time

from cleanslate.remote import processes
from cleanslate.remote.registry import changes

_STACK_SECONDS = 5.0
_MOST_TEXT = 16384
_MOST_PROCESSES = 16
_BUSY = 0.05  # a thread that only looks at its queue now and then uses less


@changes  # py-spy stops the process for an instant
def take(call, targets, log=None, apart=1.0, lines=40):
    """Look twice at each target {pid, start}, `apart` seconds apart, and at the last lines of its log.

    Gives {processes: [{pid, title, state, wchan, threads, cpu, same, verdict, stack}], log, py_spy}.
    """
    keys = [(each["pid"], each["start"]) for each in targets][:_MOST_PROCESSES]
    first = {key: _glance(key) for key in keys}
    call.cancelled.wait(apart)
    spy = shutil.which("py-spy")
    told = []
    for key in keys:
        if call.cancelled.is_set() or call.left() < _STACK_SECONDS:
            break
        told.append(_tell(key, first[key], _glance(key), spy, call))
    return {
        "processes": told,
        "left_out": len(targets) - len(told),
        "log": tail(log, lines) if log else None,
        "py_spy": bool(spy),
        "at": time.time(),
    }


def _glance(key):
    """State, CPU ticks, and where each thread waits in the kernel."""
    now = processes.look_again(key)
    if now is None:
        return None
    waits = {}
    for thread in _threads(key[0]):
        waits[thread] = (processes.read_text("/proc/%d/task/%s/wchan" % (key[0], thread)) or "").strip()
    return {"process": now, "waits": waits, "at": time.monotonic()}


def _tell(key, before, after, spy, call):
    if before is None or after is None:
        return {"pid": key[0], "verdict": "has ended"}
    now = after["process"]
    used = (now.ticks - before["process"].ticks) / os.sysconf("SC_CLK_TCK")
    share = used / max(0.01, after["at"] - before["at"])
    same = before["waits"] == after["waits"]
    counted = {}
    for place in after["waits"].values():
        counted[place or "running"] = counted.get(place or "running", 0) + 1
    return {
        "pid": now.pid,
        "title": now.title,
        "state": now.state,
        "state_words": processes.state_words(now.state),
        "wchan": after["waits"].get(str(now.pid)) or None,
        "threads": counted,
        "cpu_share": round(share, 2),
        "verdict": _verdict(now, share, same),
        "stack": _python_stack(spy, now.pid, call) or _kernel_stack(now.pid),
    }


def _verdict(process, share, same):
    if process.state == "D":
        return "hangs in the kernel"
    if share > _BUSY:
        return "uses CPU"
    return "waits, in the same places twice" if same else "waits"


def _threads(pid):
    try:
        return sorted(os.listdir("/proc/%d/task" % pid), key=int)
    except OSError:
        return []


def _python_stack(spy, pid, call):
    """py-spy's dump, or None where there is no py-spy, no permission, no Python, or no answer in time."""
    if not spy:
        return None
    command = [spy, "dump", "--nonblocking", "--pid", str(pid)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    call.own(process)
    try:
        out, _ = process.communicate(timeout=_STACK_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    return out.decode("utf-8", "replace")[:_MOST_TEXT] if process.returncode == 0 else None


def _kernel_stack(pid):
    """The kernel stack of each thread, equal ones told once; None for a user who may not read them."""
    stacks = {}
    for thread in _threads(pid):
        text = processes.read_text("/proc/%d/task/%s/stack" % (pid, thread))
        if text:
            stacks.setdefault(text.strip(), []).append(thread)
    told = ["%d thread(s):\n%s" % (len(threads), text) for text, threads in stacks.items()]
    return "\n\n".join(told)[:_MOST_TEXT] or None


def tail(path, lines):
    """The last lines of a log, carriage returns read as line ends; None where it cannot be read."""
    try:
        with open(os.path.expanduser(path), "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 256 * lines - _MOST_TEXT))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return None
    kept = [line for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n") if line.strip()]
    return [line[:500] for line in kept[-lines:]]
