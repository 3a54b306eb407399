"""Calls over a real ssh connection, and on this machine: the same behaviour, whatever carries them."""

from __future__ import annotations

import hashlib
import io
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from cleanslate.connect.connections import RunConnections
from cleanslate.connect.target import Address
from cleanslate.errors import CallFailed, DeadlinePassed, Interrupted
from tests.connect.conftest import NOTHING, alive, read_pid


@pytest.fixture(params=["ssh", "local"])
def target(request):
    return request.getfixturevalue({"ssh": "web", "local": "local"}[request.param])


@pytest.mark.slow
def test_a_call_gives_its_values(target):
    """JSON types travel both ways unchanged."""
    values = {"text": "ä\n'\"$x", "number": 1.5, "nothing": None, "list": [1, {"a": True}]}
    assert values == target.call("trial_calls.echo", values, deadline=10).values


def test_a_call_gives_bytes_beside_its_values(target):
    """What a call returns as bytes is in the answer's blob."""
    assert b"some bytes" == target.call("trial_calls.give", {"text": "some bytes"}, deadline=10).blob


def test_a_call_gives_bytes_into_a_sink(target):
    """With a sink, the answer itself holds no bytes."""
    sink = io.BytesIO()
    answer = target.call("trial_calls.pour", {"size": 3_000_000}, deadline=20, sink=sink)
    assert (3_000_000, b"") == (len(sink.getvalue()), answer.blob)


def test_modules_are_sent_when_a_later_call_needs_them(target):
    """The first call brings its own module only."""
    target.call("trial_calls.echo", {}, deadline=10)
    assert "hi\n" == target.call("command.run", {"argv": ["echo", "hi"]}, deadline=10)["stdout"]


def test_a_failed_call_tells_kind_message_and_details(target):
    """Failed on the target is CallFailed here."""
    arguments = {"kind": "missing", "message": "no such thing", "path": "/x"}
    with pytest.raises(CallFailed) as caught:
        target.call("trial_calls.refuse", arguments, deadline=10)
    error = caught.value
    assert ("missing", "no such thing", {"path": "/x"}) == (error.kind, error.what, error.details)


def test_a_bug_in_a_call_comes_with_its_traceback(target):
    """The traceback names the line of the source, though no file is on the target."""
    with pytest.raises(CallFailed) as caught:
        target.call("trial_calls.stumble", {}, deadline=10)
    error = caught.value
    assert ("bug", "ZeroDivisionError: division by zero") == (error.kind, error.what)
    assert "cleanslate/remote/trial_calls.py" in error.details["traceback"]


@pytest.mark.parametrize("name", ["trial_calls.nothing", "nothing.stat", "trial_calls.os"])
def test_an_unknown_call_is_a_bug(target, name):
    """Only functions marked as calls can be called."""
    with pytest.raises(CallFailed) as caught:
        target.call(name, {}, deadline=10)
    assert "bug" == caught.value.kind


def test_a_change_is_refused_when_only_reading_is_allowed(target, tmp_path):
    """The agent itself refuses it, before it does anything."""
    path = tmp_path / "file"
    with pytest.raises(CallFailed) as caught:
        target.call("trial_calls.change", {"path": str(path)}, deadline=10, read_only=True)
    assert ("refused", False) == (caught.value.kind, path.exists())


def test_progress_arrives_while_the_call_runs(target):
    """Each report is passed on, in order."""
    seen = []
    answer = target.call("trial_calls.wait", {"seconds": 0.2}, deadline=10, on_progress=seen.append)
    assert [{"count": number + 1} for number in range(answer["count"])] == seen


def test_what_goes_wrong_in_a_progress_listener_ends_the_call(target):
    """It is raised to the caller, and the agent goes on serving."""
    with pytest.raises(ZeroDivisionError):
        target.call("trial_calls.wait", {"seconds": 30}, deadline=60, on_progress=lambda _: 1 / 0)
    assert {"a": 1} == target.call("trial_calls.echo", {"a": 1}, deadline=10).values


def test_a_sink_that_fails_ends_the_call(target):
    """A full disk here is no reason to hang."""

    class Full(io.RawIOBase):
        def write(self, data):
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        target.call("trial_calls.pour", {"size": 50_000_000}, deadline=20, sink=Full())
    assert {"a": 1} == target.call("trial_calls.echo", {"a": 1}, deadline=10).values


@pytest.mark.parametrize("size", [0, 1, 131072, 131073, 2_097_152, 5_000_001])
def test_a_blob_arrives_whole(target, tmp_path, size):
    """Short ones go along with the call, long ones follow; bytes and files alike."""
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    file = tmp_path / "blob"
    file.write_bytes(data)
    expected = (size, hashlib.sha256(data).hexdigest())
    for blob in (data, file):
        answer = target.call("trial_calls.swallow", {}, deadline=20, blob=blob)
        assert expected == (answer["size"], answer["sha256"])


def test_a_blob_that_is_not_read_does_not_block(target):
    """A call may answer early; later calls work."""
    assert {"ignored": True} == target.call("trial_calls.ignore", {}, deadline=10, blob=bytes(9_000_000)).values
    assert {"a": 1} == target.call("trial_calls.echo", {"a": 1}, deadline=10).values


def test_calls_run_at_the_same_time(target):
    """One that waits does not hold up another."""
    waiting = threading.Thread(target=target.call, args=("trial_calls.wait", {"seconds": 30}), kwargs={"deadline": 60})
    target.call("trial_calls.echo", {}, deadline=10)

    def interrupted():
        with pytest.raises(Interrupted):
            target.call("trial_calls.wait", {"seconds": 30}, deadline=60)

    waiting = threading.Thread(target=interrupted)
    waiting.start()
    assert {"a": 1} == target.call("trial_calls.echo", {"a": 1}, deadline=5).values
    while not target._client._calls:
        time.sleep(0.005)
    target.cancel()
    waiting.join()


def test_many_callers_share_one_agent(target):
    """Ten threads that start at once get their own answers, from one process."""
    answers = {}

    def ask(number):
        pid = target.call("trial_calls.where", {}, deadline=20)["pid"]
        answers[number] = (target.call("trial_calls.echo", {"number": number}, deadline=20)["number"], pid)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {number: number for number in range(10)} == {number: answer[0] for number, answer in answers.items()}
    assert 1 == len({pid for _, pid in answers.values()})


@pytest.mark.slow
def test_many_hosts_connect_at_the_same_time(sshd, open_connections):
    """Each by a connection of its own."""
    connections = open_connections()
    pids = {}

    def ask(number):
        target = connections.target(sshd.address(f"web{number}"))
        pids[number] = target.call("trial_calls.where", {}, deadline=60)["pid"]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 30 == len(set(pids.values()))


def test_a_call_that_looks_ends_at_its_deadline(target):
    """DeadlinePassed says what the call noticed."""
    with pytest.raises(DeadlinePassed, match=r"trial_calls\.wait did not end in time: noticed after"):
        target.call("trial_calls.wait", {"seconds": 60}, deadline=0.3)


def test_a_call_that_ends_after_its_deadline_is_answered(target):
    """An answer that is there is not thrown away; the deadline has slack on this side."""
    assert {} == target.call("trial_calls.doze", {"seconds": 0.6}, deadline=0.3).values


@pytest.mark.slow
def test_a_call_that_never_looks_is_given_up(target):
    """The target answers in its place, some seconds after the deadline."""
    with pytest.raises(DeadlinePassed, match="does not end, even after KILL"):
        target.call("trial_calls.doze", {"seconds": 60}, deadline=0.2)


def test_cancel_ends_calls_on_the_target(target, tmp_path):
    """The process group that a call owns is gone when cancel comes back."""
    pid_file = tmp_path / "pid"
    raised = []

    def call():
        try:
            target.call("trial_calls.own", {"argv": ["sleep", "60"], "pid_file": str(pid_file)}, deadline=60)
        except Interrupted as error:
            raised.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    pid = read_pid(pid_file)
    target.cancel()
    thread.join()
    assert (1, False) == (len(raised), alive(pid))


def test_the_agent_is_started_isolated(target):
    """Neither the user's packages nor the environment reach the agent's own Python."""
    argv = target.call("trial_calls.where", {}, deadline=10)["argv"]
    assert re.fullmatch("-c cleanslate-[0-9a-f]{16}", argv)


@pytest.mark.slow
def test_new_keys_in_the_middle_of_traffic(sshd, open_connections, monkeypatch):
    """The connection changes its keys after some hundred megabytes; here after each one."""
    from paramiko.packet import Packetizer

    monkeypatch.setattr(Packetizer, "REKEY_BYTES", 1_000_000)
    target = open_connections().target(sshd.address("often"))
    sink = io.BytesIO()
    assert 5_000_000 == target.call("trial_calls.swallow", {}, deadline=30, blob=bytes(5_000_000))["size"]
    target.call("trial_calls.pour", {"size": 5_000_000}, deadline=30, sink=sink)
    assert bytes(5_000_000) == sink.getvalue()


MEASURE = """
import io
from pathlib import Path
from cleanslate.connect import bundle
from cleanslate.connect.connections import RunConnections
from cleanslate.connect.target import Address
bundle._FOLDERS.append(Path({trial_calls!r}))
class Nowhere(io.RawIOBase):
    def write(self, data):
        return len(data)
target = RunConnections().target(Address("here", kind="local"))
{statements}
lines = Path("/proc/self/status").read_text().splitlines()
ours = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
print(max(ours, target.call("trial_calls.peak", {{}}, deadline=10)["peak"]) // 1_000_000)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statements", "megabytes"),
    [
        ("target.call('command.run', {'command': 'head -c 1000000000 /dev/zero'}, deadline=100)", 100),
        ("target.plain('head -c 300000000 /dev/zero', deadline=100)", 100),
        ("target.call('trial_calls.pour', {'size': 1 << 28}, deadline=100, sink=Nowhere())", 100),
        ("target.call('trial_calls.swallow', {}, deadline=100, blob=Path('FILE'))", 100),
    ],
)
def test_memory_stays_flat(tmp_path, statements, megabytes):
    """A gigabyte of output, and files sent or fetched, take a bounded amount of memory on both sides."""
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(1 << 28)
    statements = statements.replace("FILE", str(large))
    program = MEASURE.format(trial_calls=str(Path(__file__).parent), statements=statements)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < megabytes


@pytest.mark.slow
def test_closing_leaves_nothing(sshd, leftovers):
    """No thread, descriptor or process is left after calls, failures and a deadline."""
    connections = RunConnections()
    for address in (sshd.address(), Address("here", kind="local")):
        target = connections.target(address)
        target.call("trial_calls.echo", {}, deadline=10)
        with pytest.raises(CallFailed):
            target.call("trial_calls.stumble", {}, deadline=10)
        with pytest.raises(DeadlinePassed):
            target.call("trial_calls.wait", {"seconds": 60}, deadline=0.1)
        target.plain("echo hi", deadline=10)
        target.call("trial_calls.swallow", {}, deadline=10, blob=bytes(3_000_000))
    connections.close()
    assert NOTHING == leftovers.found()
