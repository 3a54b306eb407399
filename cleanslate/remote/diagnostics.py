"""Saves what is known about a server that does not come up, on the target: stacks, states, the end of its log."""

import json
import os
import shutil
import time

from cleanslate.remote import diagnosis, server_state
from cleanslate.remote.oserrors import told
from cleanslate.remote.registry import Failed, changes, reads

_KEPT = 10
_LINES = 400


@changes
@told("save diagnostics")
def save(call, name, report):
    """Look at the server's processes twice and save everything in a folder of its own; gives {folder, verdicts}.

    report: what the wait saw, with its `processes`. The newest ten folders are kept.
    """
    top = server_state.folder().parent / "diagnostics"
    folder = top / ("%s-%s" % (name or "server", time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    targets = _with_starts(report.get("processes") or [])
    taken = diagnosis.take(call, targets, log=report.get("log"), apart=1.0 if targets else 0.0, lines=_LINES)
    (folder / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    (folder / "processes.json").write_text(json.dumps(taken["processes"], indent=1) + "\n", encoding="utf-8")
    if taken["log"]:
        (folder / "log-tail.txt").write_text("\n".join(taken["log"]) + "\n", encoding="utf-8")
    for old in sorted(top.iterdir(), key=os.path.getmtime)[:-_KEPT]:
        shutil.rmtree(str(old), ignore_errors=True)
    return {"folder": str(folder), "verdicts": [_short(each) for each in taken["processes"]]}


@reads
def read(call, folder, most=131072):
    """The files of such a folder, each at most so many bytes of its end: {"files": {name: text}}."""
    top = str(server_state.folder().parent / "diagnostics")
    if os.path.dirname(os.path.abspath(folder)) != os.path.abspath(top):
        raise Failed("refused", "%s is no folder of diagnostics" % folder)
    found = {}
    for name in sorted(os.listdir(folder)):
        found[name] = _end_of(os.path.join(folder, name), most)
    return {"files": found}


@reads
def log_end(call, path, most=131072):
    """The end of a log: {"text"}, None where it cannot be read."""
    try:
        return {"text": _end_of(path, most)}
    except OSError:
        return {"text": None}


def _end_of(path, most):
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - most))
        return file.read(most).decode("utf-8", "replace")


def _with_starts(found):
    return [{"pid": each["pid"], "start": each["start"]} for each in found]


def _short(each):
    return {name: each.get(name) for name in ("pid", "title", "state_words", "wchan", "cpu_share", "verdict")}
