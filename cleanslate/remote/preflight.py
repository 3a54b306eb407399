"""What would make a launch fail minutes from now, looked at before anything is started.

Each finding is {code, what, fix, severity}: `error` refuses the launch, `warning` is told.
"""

import glob
import json
import os
import subprocess

from cleanslate.remote import commandline, gpu_reading, gpu_sources, hub, listeners, processes
from cleanslate.remote.profiles import PROFILES

_ROOMY = 1024  # MiB of /dev/shm below which several ranks are warned
_LEFTOVERS = ("psm_*", "sgl_shm_*", "nccl-*", "sem.*")


def findings(call, spec, need):
    """Everything that stands in the way of a launch, or will.

    need: {shm_mib, disk_mib, gpus_used_mib (None: not looked at), context (whether to check lengths)}.
    """
    found = []
    found += _program(spec)
    found += _port(spec)
    found += _log(spec, need)
    found += _shared_memory(spec, need)
    found += _context(spec) if need["context"] else []
    found += _gpus(call, need["gpus_used_mib"]) if need["gpus_used_mib"] is not None else []
    return found


def _finding(code, what, fix=None, severity="error"):
    return {"code": code, "what": what, "fix": fix, "severity": severity}


# --------------------------------------------------------------------------- program and user


def _program(spec):
    if spec.ids and os.geteuid() != 0:
        return [_finding("user", "only root can launch as %s" % spec.ids["user"], "add become: true")]
    if not os.path.isdir(spec.chdir):
        return [_finding("chdir", "there is no folder %s to start in" % spec.chdir, "make it, or correct chdir")]
    found = []
    for word in [spec.whole_argv[0]] + ([spec.argv[0]] if spec.numa is not None else []):
        place = spec.find(word)
        if place is None:
            found.append(_finding("program", _not_found(spec, word), "give the absolute path, or set PATH in env"))
        else:
            found += _interpreter(place)
    return found


def _not_found(spec, word):
    if "/" not in word:
        return "there is no command %s in %s" % (word, spec.env.get("PATH", os.defpath))
    place = os.path.join(spec.chdir, os.path.expanduser(word))
    return "%s %s" % (place, "may not be executed" if os.path.exists(place) else "does not exist")


def _interpreter(place):
    """A script whose first line names an interpreter that is gone: `exec` then says that the script is missing."""
    first = shebang(place)
    if first and not os.path.exists(first[0]):
        what = "%s begins with #!%s, which does not exist" % (place, first[0])
        return [_finding("program", what, "the environment was moved or its Python removed: install it again")]
    return []


def shebang(place):
    """The words of a script's first line, or None where it is no script."""
    try:
        with open(place, "rb") as file:
            line = file.readline(256)
    except OSError:
        return None
    return line[2:].decode("utf-8", "replace").split() or None if line.startswith(b"#!") else None


def interpreter_of(spec):
    """The Python that the server runs in, as far as its command tells, or None."""
    program = spec.find(spec.argv[0])
    if program is None:
        return None
    words = shebang(program)
    if words:
        program = words[0] if not words[0].endswith("/env") else spec.find(words[-1])
    return program if program and os.path.basename(program).startswith(("python", "pypy")) else None


def python_facts(call, spec):
    """{python, version, sitecustomize, usercustomize} of the server's Python, or None where it is no Python server.

    One sitecustomize wins, the first on sys.path: a distribution's can shadow the one that was edited.
    """
    program = interpreter_of(spec)
    if program is None:
        return None
    code = (
        "import sys, json; print(json.dumps([sys.version.split()[0]] + "
        "[getattr(sys.modules.get(n), '__file__', None) for n in ('sitecustomize', 'usercustomize')]))"
    )
    try:
        process = subprocess.Popen(
            [program, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=spec.env,
            cwd=spec.chdir,
            start_new_session=True,
        )
    except OSError:
        return None
    call.own(process)
    try:
        out, _ = process.communicate(timeout=min(20.0, max(0.1, call.left())))
        version, site, user = json.loads(out.decode().strip().splitlines()[-1])
    except (subprocess.TimeoutExpired, ValueError, IndexError):
        process.kill()
        process.communicate()
        return {"python": program, "version": None, "sitecustomize": None, "usercustomize": None}
    return {"python": program, "version": version, "sitecustomize": site, "usercustomize": user}


# --------------------------------------------------------------------------- port, log, memory


def _port(spec):
    """Looks for listeners, never binds: sockets in TIME_WAIT do not hinder a server (vllm#7514)."""
    said = commandline.number(spec.said.get("port"))
    if said and spec.port != said:
        what = "port is %d, and the command says %d" % (spec.port, said)
        return [_finding("port", what, "leave out port: the command's counts")]
    if not spec.port or not listeners.sockets(spec.port):
        return []
    table = processes.table()
    holders = [table[pid] for pid in listeners.listening_on(spec.port, table)]
    whom = ", ".join("pid %d (%s)" % (each.pid, each.title[:80]) for each in holders)
    whom = whom or "a process that this user cannot see (another container's, or another user's)"
    return [
        _finding("port", "port %d is taken by %s" % (spec.port, whom), "stop it first: stop_server finds it by port")
    ]


def _log(spec, need):
    if spec.log is None:
        return []
    folder = os.path.dirname(os.path.abspath(spec.log))
    there = folder
    while not os.path.isdir(there) and there != os.path.dirname(there):
        if os.path.lexists(there):
            return [_finding("log", "%s is no folder, so no log can be written in %s" % (there, folder))]
        there = os.path.dirname(there)
    if not os.access(there, os.W_OK | os.X_OK):
        return [
            _finding("log", "the log's folder %s cannot be written" % there, "choose another one, or add become: true")
        ]
    if os.path.isdir(spec.log) and not os.path.islink(spec.log):
        return [_finding("log", "the log %s is a folder" % spec.log, "name a file in it")]
    free = _free_mib(there)
    if free is not None and free < need["disk_mib"]:
        what = "only %d MiB are free for the log in %s, %d are wanted" % (free, there, need["disk_mib"])
        return [_finding("disk", what, "remove old logs, or ask for less with preflight: {disk_mib: ...}")]
    return []


def _shared_memory(spec, need):
    free = _free_mib("/dev/shm")
    if free is None:
        return [_finding("shm", "there is no /dev/shm", None, "warning")]
    if free < need["shm_mib"]:
        return [
            _finding("shm", "/dev/shm has only %d MiB free, %d are wanted%s" % (free, need["shm_mib"], _litter()), _SHM)
        ]
    if (commandline.ranks(spec.said) or 1) > 1 and free < _ROOMY:
        return [
            _finding("shm", "/dev/shm has only %d MiB free for several ranks%s" % (free, _litter()), _SHM, "warning")
        ]
    return []


_SHM = "a full /dev/shm ends ranks with a bus error (signal 7): remove what dead servers left there, or give it more"


def _litter():
    """What looks like dead servers' segments in /dev/shm, as the end of a sentence."""
    names = [name for pattern in _LEFTOVERS for name in glob.glob("/dev/shm/" + pattern)]
    size = sum(os.path.getsize(name) for name in names if os.path.exists(name)) >> 20
    return "; %d files there look like servers' segments, %d MiB" % (len(names), size) if names else ""


def _free_mib(folder):
    try:
        info = os.statvfs(folder)
    except OSError:
        return None
    return info.f_bavail * info.f_frsize >> 20


def _gpus(call, used_mib):
    """The same question that assert_gpus asks, again: another job may have come in between (nixl PR#1913)."""
    with gpu_sources.Source(call, once=True) as source:
        reading = source.read()
    wrong = gpu_reading.judge(reading, gpu_reading.Wanted(used_mib=used_mib))
    full = [each["gpu"] for each in wrong if each["kind"] == "memory"]
    said = [each["text"] for each in wrong if each["kind"] != "memory"]
    if full:
        most = max(gpu["used_mib"] or 0 for gpu in reading["gpus"])
        named = ", ".join(str(index) for index in full)
        said.insert(0, "GPU %s uses more than %g MiB (up to %d)" % (named, used_mib, most))
    return [_finding("gpus", text, "assert_gpus names the holder; release_gpus frees it") for text in said]


# --------------------------------------------------------------------------- context length and draft


def _context(spec):
    """Whether the draft model's positions reach as far as the server will serve (vllm#48894, sglang PR#9388)."""
    draft = spec.said.get("draft")
    folder = hub.folder_of(os.path.join(spec.chdir, os.path.expanduser(draft)), spec.env) if draft else None
    folder = folder or (hub.folder_of(draft, spec.env) if draft else None)
    config = _config(folder)
    if config is None:
        return _unreadable(draft, folder)
    found = _algorithm(spec, config, folder)
    reaches, wanted = positions(config), _wanted_length(spec)
    if reaches is None or wanted is None or reaches >= wanted:
        return found
    allowing = [name for name in PROFILES[spec.engine].get("allows", ()) if spec.env.get(name, "0") not in ("0", "")]
    what = "the draft model reaches %d positions (%s/config.json), the server is to serve %d" % (
        reaches,
        folder,
        wanted,
    )
    if allowing:
        what += "; %s only skips the check: it will start, and crash at the first long request" % allowing[0]
        return [*found, _finding("context", what, "patch_config max_position_embeddings", "warning")]
    return [*found, _finding("context", what, "patch_config sets max_position_embeddings of the draft")]


def _unreadable(draft, folder):
    if draft is None or (folder is None and not draft.startswith(("/", "~", "."))):
        return []  # a repository that is not in the cache yet: the server will load it
    what = "no readable config.json of the draft model in %s" % (folder or draft)
    return [_finding("draft", what, "is the link dangling, the path wrong?")]


def _algorithm(spec, config, folder):
    """EAGLE with an EAGLE-3 draft accepts nothing (length 1.0) and says nothing (sglang PR#21272)."""
    algorithm = (spec.said.get("algorithm") or "").upper()
    third = any("eagle3" in str(name).lower() for name in config.get("architectures") or ())
    if algorithm == "EAGLE" and third:
        what = "%s is an EAGLE-3 draft, and the algorithm is EAGLE: it would accept nothing, without an error" % folder
        return [_finding("algorithm", what, "use --speculative-algorithm EAGLE3", "warning")]
    return []


def _wanted_length(spec):
    """The context length of the launch: its option, else what the target model's config.json says."""
    said = commandline.number(spec.said.get("context"))
    if said:
        return said
    model = spec.said.get("model")
    config = _config(hub.folder_of(model, spec.env)) if model else None
    return positions(config) if config else None


def positions(config):
    """max_position_embeddings of a model's configuration, also where it lies in text_config."""
    inner = config.get("text_config")
    for place in (config, inner if isinstance(inner, dict) else {}):
        if isinstance(place.get("max_position_embeddings"), int):
            return place["max_position_embeddings"]
    return None


def _config(folder):
    if not folder:
        return None
    try:
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
