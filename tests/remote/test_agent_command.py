"""command.run: exact words, the shell, folders, input, output of any size, processes that do not end as they should."""

from __future__ import annotations

import io
import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest

from cleanslate.remote import command
from cleanslate.remote.registry import Call, Failed


def run(blob=None, **arguments):
    """The answer of a call made in this process."""
    return command.run(Call(blob=io.BytesIO(blob) if blob is not None else None), **arguments)


@pytest.mark.parametrize(
    ("arguments", "stdout"),
    [
        ({"argv": ["printf", "%s|", "a b", "$HOME", "*"]}, "a b|$HOME|*|"),
        ({"command": "printf '%s|' 'a b' $((1+1))"}, "a b|2|"),
        ({"command": "echo $0", "executable": "/bin/bash"}, "/bin/bash\n"),
        ({"argv": ["printf", "%s|", "$NAME", "${NAME}", "$NONE", "~root"], "expand": True,
          "environment": {"NAME": "x y"}}, f"x y|x y|$NONE|{Path('~root').expanduser()}|"),
        ({"command": "echo $NAME $NUMBER", "environment": {"NAME": "x", "NUMBER": 5}}, "x 5\n"),
        ({"argv": ["pwd"], "chdir": "$FOLDER/.", "environment": {"FOLDER": "/usr"}}, "/usr\n"),
        ({"command": "umask", "umask": 0o27}, "0027\n"),
        ({"argv": ["sh", "-c", "echo $0"], "executable": "/bin/sh"}, "sh\n"),
        ({"argv": ["cat"]}, ""),
    ],
)  # fmt: skip
def test_what_is_run(arguments, stdout):
    answer = run(**arguments)
    assert (0, None, stdout, "") == (answer["rc"], answer["signal"], answer["stdout"], answer["stderr"])


def test_the_environments_path_is_searched(tmp_path):
    """For the command itself, as in a shell with that PATH."""
    script = tmp_path / "hello"
    script.write_text("#!/bin/sh\necho from here\n")
    script.chmod(0o755)
    assert "from here\n" == run(argv=["hello"], environment={"PATH": f"{tmp_path}:/usr/bin:/bin"})["stdout"]


@pytest.mark.parametrize(
    ("blob", "newline", "received"),
    [
        (b"a", False, b"a"),
        (b"a", True, b"a\n"),
        (b"a\n", True, b"a\n\n"),
        (b"", True, b""),
        (b"x" * 300000, False, None),
    ],
)
def test_standard_input(tmp_path, blob, newline, received):
    """With a line end where it was asked for, as Ansible does it; longer than a pipe, too."""
    copy = tmp_path / "copy"
    run(blob, command=f"cat > {copy}", stdin_add_newline=newline)
    assert (blob if received is None else received) == copy.read_bytes()


def test_input_that_is_not_wanted():
    """A command that ends without reading it is judged by its exit code."""
    assert 0 == run(bytes(1_000_000), argv=["true"])["rc"]


def test_input_and_output_at_once():
    """Neither waits for the other."""
    data = b"0123456789" * 200_000
    assert len(data) == run(data, argv=["cat"])["stdout_bytes"]


def test_both_outputs_and_the_exit_code():
    answer = run(command="echo out; echo err >&2; exit 3")
    assert (3, "out\n", "err\n", 4, 4) == (
        answer["rc"], answer["stdout"], answer["stderr"], answer["stdout_bytes"], answer["stderr_bytes"],
    )  # fmt: skip


def test_a_signal_is_told():
    answer = run(command="kill -9 $$")
    assert (-9, 9) == (answer["rc"], answer["signal"])


def test_times_are_told_as_ansible_does():
    answer = run(argv=["true"])
    moment = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}"
    assert re.fullmatch(
        f"{moment} {moment} 0:00:0\\d\\.\\d{{6}}", f"{answer['start']} {answer['end']} {answer['delta']}"
    )


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0021, "0:00:00.002100"), (59.9999999, "0:00:59.999999"), (3725.5, "1:02:05.500000")]
)
def test_the_time_taken_is_readable(seconds, text):
    assert text == command._delta_text(seconds)


@pytest.mark.parametrize(("size", "cut"), [(0, False), (199, False), (200, False), (201, True), (100_000, True)])
def test_long_output_is_cut_in_the_middle(size, cut):
    """`keep` bytes of each end are kept; how many are missing is said."""
    answer = run(command=f"head -c {size} /dev/zero | tr '\\0' x", keep=100)
    expected = "x" * 100 + f"\n... {size - 200} bytes cut ...\n" + "x" * 100 if cut else "x" * size
    assert (expected, cut, size) == (answer["stdout"], answer["stdout_cut"], answer["stdout_bytes"])


def test_bytes_that_are_no_text_are_replaced():
    assert "a\ufffdb" == run(command="printf 'a\\377b'")["stdout"]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"argv": ["no-such-command"]}, "missing", "there is no command no-such-command"),
        ({"argv": ["/no/such/command"]}, "missing", "there is no command /no/such/command"),
        ({"command": "x", "executable": "/no/shell"}, "missing", "there is no command /no/shell"),
        ({"argv": ["true"], "chdir": "/no/folder"}, "missing", "cannot change to the folder /no/folder: No such file"),
        ({"argv": ["true"], "chdir": "/etc/passwd"}, "missing", "cannot change to the folder /etc/passwd: Not a dir"),
        ({"argv": ["/etc/passwd"]}, "denied", "/etc/passwd may not be run: Permission denied"),
        ({"argv": ["true", "a\0b"]}, "wrong", "'true' cannot be run: embedded null byte"),
        ({"argv": ["true", "x" * 5_000_000]}, "wrong", "true cannot be run: Argument list too long"),
    ],
)  # fmt: skip
def test_what_cannot_be_run(arguments, kind, message):
    with pytest.raises(Failed) as caught:
        run(**arguments)
    assert (kind, True) == (caught.value.kind, caught.value.message.startswith(message))


def test_a_script_without_an_interpreter_cannot_be_run(tmp_path):
    script = tmp_path / "script"
    script.write_text("echo hi\n")
    script.chmod(0o755)
    with pytest.raises(Failed, match="cannot be run: Exec format error"):
        run(argv=[str(script)])


@pytest.mark.parametrize(
    "left_running", ["sleep 61 & echo $!", "setsid sleep 61 & echo $!", "nohup sleep 61 2>/dev/null & echo $!"]
)
def test_what_is_left_running_holds_nothing_up(left_running):
    """Though it keeps the command's pipes open; it lives on."""
    began = time.monotonic()
    pid = int(run(command=left_running)["stdout"])
    try:
        os.kill(pid, 0)
        assert time.monotonic() - began < 5
    finally:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_something_left_running_that_never_stops_talking():
    """It is let go after a while."""
    answer = run(command="(while :; do echo x; sleep 0.02; done) & echo $! >&2")
    pid = int(answer["stderr"])
    try:
        os.kill(pid, 0)
    finally:
        os.kill(pid, signal.SIGKILL)


def test_a_command_that_closes_its_outputs_is_waited_for():
    """Closed pipes are not the end."""
    assert 7 == run(command="exec >&- 2>&-; sleep 0.2; exit 7")["rc"]


@pytest.mark.parametrize("without_pidfd", [False, True])
def test_the_end_is_noticed_with_and_without_the_kernels_help(monkeypatch, without_pidfd):
    """Python 3.8 and old kernels have no descriptor for it."""
    if without_pidfd:
        monkeypatch.delattr(os, "pidfd_open")
    assert (3, "a\n") == (lambda answer: (answer["rc"], answer["stdout"]))(run(command="echo a; sleep 0.1; exit 3"))
    assert 4 == run(command="exec >&- 2>&-; sleep 0.1; exit 4")["rc"]


def test_a_command_that_was_ended_tells_what_it_said_last():
    """What the agent does at a deadline, done here by hand."""

    class Owner(Call):
        def own(self, process):
            def end():
                self.cancelled.set()
                os.killpg(process.pid, signal.SIGTERM)

            threading.Timer(0.3, end).start()

    with pytest.raises(Failed, match=r"^echo loading; sleep 60 was ended; it last said: loading$"):
        command.run(Owner(), command="echo loading; sleep 60")


def test_query_is_for_reading():
    """The same call, allowed in check mode."""
    assert (True, False, 5) == (
        command.query.read_only, command.run.read_only, command.query(Call(), command="exit 5")["rc"],
    )  # fmt: skip


def test_a_command_does_not_ignore_the_signals_that_python_ignores():
    """A pipe that its reader closes ends a program, as everywhere."""
    ignored = run(argv=["grep", "SigIgn", "/proc/self/status"])["stdout"]
    pipe_and_size = 1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)
    assert 0 == int(ignored.split()[1], 16) & pipe_and_size


@pytest.mark.parametrize("folders", ["first:second", "second:first"])
def test_a_program_that_may_not_be_run_hides_none_behind_it_and_is_told_where_there_is_no_other(tmp_path, folders):
    for name, mode in (("first", 0o644), ("second", 0o755)):
        place = tmp_path / name
        place.mkdir()
        (place / "tool").write_text("#!/bin/sh\necho ran\n")
        (place / "tool").chmod(mode)
    path = ":".join(str(tmp_path / name) for name in folders.split(":"))
    assert "ran\n" == run(argv=["tool"], environment={"PATH": path})["stdout"]
    with pytest.raises(Failed, match="tool may not be run") as found:
        run(argv=["tool"], environment={"PATH": f"{tmp_path / 'first'}:{tmp_path / 'nowhere'}"})
    assert "denied" == found.value.kind
