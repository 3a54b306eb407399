"""Runs a module of Ansible's, packaged as Ansible packages it: its arguments in no process list, nothing left behind.

The packaged module is a part that the controller has sent before (see Call.part). It holds a placeholder where its
arguments belong; a copy with the real ones goes over standard input to a Python of its own, as Ansible's pipelining
does. What it needs on disk lies in one folder of ours (0700), which is removed however the module ends.
"""

import io
import json
import os
import shutil
import sys
import tempfile

from cleanslate.remote.command import Exchange, start
from cleanslate.remote.registry import Failed, changes, reads

MOST = 33554432  # bytes of a result that are kept at each end

# What the Python started for a module does first: TERM ends it as sys.exit would, so that it tidies up, and the first
# temporary folder, which is the package's own, lies in our folder (as a KILL would leave it).
_BEGIN = """\
import signal, sys, tempfile
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
def _first(*given, _make=tempfile.mkdtemp, **named):
    tempfile.mkdtemp = _make
    return _make(*given, **dict(named, dir={folder!r}))
tempfile.mkdtemp = _first
exec(compile(sys.stdin.buffer.read(), "<module>", "exec", dont_inherit=True))
"""


@changes
def run(call, part, style, place, arguments, environment=None):
    """Run the module in `part`. Gives rc (negative: ended by that signal), stdout and stderr as text, cut.

    style: `python` (the arguments, as JSON, stand as a Python text where `place` stands), `text` (as JSON where `place`
    stands in a program of any language), `json` or `words` (they are in a file that the program is given, as JSON or as
    `key=value`), `binary` (the same as JSON). environment is laid over the agent's own.
    Failed: wrong (it cannot be started), ended.
    """
    folder = tempfile.mkdtemp(prefix="cleanslate-module-")
    try:
        if "_ansible_tmpdir" in arguments:
            arguments = dict(arguments, _ansible_tmpdir=folder)
        argv, given = _command(call.part(part), style, place, arguments, folder)
        return _finish(call, argv, given, dict(os.environ, **(environment or {})))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@reads
def foretell(call, part, style, place, arguments, environment=None):
    """The same in the module's own check mode: it changes nothing, says Ansible, and tells what it would do."""
    return run(call, part, style, place, dict(arguments, _ansible_check_mode=True), environment)


def _command(package, style, place, arguments, folder):
    """The command to run, and what it gets on its standard input."""
    if style == "python":
        text = json.dumps({"ANSIBLE_MODULE_ARGS": arguments})
        script = package.replace(place.encode(), repr(text).encode())
        return [sys.executable, "-c", _BEGIN.format(folder=folder)], script
    program = os.path.join(folder, "module")
    if style == "text":
        package = package.replace(place.encode(), json.dumps(arguments).encode())
    _put(program, package, 0o700)
    command = [program]
    if package.startswith(b"#!") and b"python" in package.split(b"\n", 1)[0]:
        command = [sys.executable, program]
    if style == "text":
        return command, b""
    file = os.path.join(folder, "arguments")
    _put(file, (_words(arguments) if style == "words" else json.dumps(arguments)).encode(), 0o600)
    return [*command, file], b""


def _put(path, data, mode):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)


def _words(arguments):
    import shlex

    return " ".join("{}={}".format(name, shlex.quote(str(value))) for name, value in arguments.items())


def _finish(call, argv, given, environment):
    """Run it to its end; what it says is kept whole, as half a result is none."""
    call.blob = io.BytesIO(given)
    try:
        process = start(argv, None, None, environment, None, True)
    except OSError as error:
        raise Failed("wrong", "the module cannot be started: {}".format(error.strerror or error)) from None
    call.own(process)
    exchange = Exchange(call, process, MOST, False)
    exchange.run()
    if call.cancelled.is_set():
        raise Failed("ended", "the module was ended before it was done")
    cut = exchange.out.cut or exchange.err.cut
    return {"rc": process.returncode, "stdout": exchange.out.text(), "stderr": exchange.err.text(), "cut": cut}
