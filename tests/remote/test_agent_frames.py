"""The agent by itself, as a process that is spoken to in frames: what it does when its input ends or is strange."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cleanslate.connect import bundle
from cleanslate.remote.agent import pack

MARK = b"we are up\n"
STARTER = "import os,sys,zlib;i=os.fdopen(os.dup(0),chr(114)+chr(98));exec(zlib.decompress(i.read({size})))"


class Agent:
    """A started agent with pipes to it."""

    def __init__(self):
        text = bundle.start_text(bundle.closure("command"), forms="source")
        starter = STARTER.format(size=len(text.first))
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", starter, "we are"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.process.stdin.write(text.first + text.rest)

    def send(self, *frames):
        self.process.stdin.write(b"".join(frames))
        self.process.stdin.flush()

    def receive(self):
        """The next frame's header and bytes."""
        sizes = self.process.stdout.read(8)
        size, more = int.from_bytes(sizes[:4], "big"), int.from_bytes(sizes[4:], "big")
        return json.loads(self.process.stdout.read(size)), self.process.stdout.read(more)

    def hello(self):
        self.process.stdin.flush()
        assert MARK == self.process.stdout.read(len(MARK))
        return self.receive()[0]["hello"]


@pytest.fixture
def agent():
    agent = Agent()
    yield agent
    agent.process.stdin.close()
    agent.process.wait(10)
    agent.process.stdout.close()


def request(number=1, name="command.run", **arguments):
    header = {"id": number, "call": name, "arguments": arguments, "left": 60, "read_only": False, "blob": None}
    return pack(header)


def test_it_says_hello(agent):
    """Which Python it is, and whether that reads our code."""
    hello = agent.hello()
    assert (bundle.MAGIC, agent.process.pid) == (hello["magic"], hello["pid"])


def test_the_request_may_come_before_the_hello(agent):
    """In the same write as the agent itself."""
    agent.send(request(command="echo hi"))
    agent.hello()
    header, _ = agent.receive()
    assert (1, "hi\n") == (header["id"], header["answer"]["stdout"])


def test_answers_come_as_they_are_ready(agent):
    """The second call ends first."""
    agent.send(request(1, command="sleep 0.3"), request(2, command="true"))
    agent.hello()
    assert [2, 1] == [agent.receive()[0]["id"] for _ in range(2)]


def test_frames_for_calls_that_are_over_are_no_matter(agent):
    """Cancels, chunks and ends that come too late."""
    agent.send(pack({"id": 9, "cancel": True}), pack({"id": 9, "chunk": True}, b"x"), pack({"id": 9, "end": True}))
    agent.send(request(command="true"))
    agent.hello()
    assert 0 == agent.receive()[0]["answer"]["rc"]


def test_what_it_was_left_by_its_own_parent_does_not_reach_commands(tmp_path):
    """Neither descriptors, which a command that stays would hold open, nor an ignored end of children."""
    text = bundle.start_text(bundle.closure("command"), forms="source")
    starter = STARTER.format(size=len(text.first))
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with (tmp_path / "left open").open("w") as left, subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", starter, "we are"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            pass_fds=[left.fileno()],
        ) as process:  # fmt: skip
            process.stdin.write(text.first + text.rest + request(command="ls -l /proc/$$/fd; exit 3"))
            process.stdin.flush()
            assert MARK == process.stdout.read(len(MARK))
            for _ in range(2):
                size = int.from_bytes(process.stdout.read(8)[:4], "big")
                header = json.loads(process.stdout.read(size))
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert (3, False) == (header["answer"]["rc"], "left open" in header["answer"]["stdout"])


@pytest.mark.parametrize("rest", [b"", b"\0\0", b"\0\0\0\x10\0\0\0\0{"])
def test_it_ends_with_its_input(agent, rest):
    """Between frames and within one."""
    agent.hello()
    agent.send(rest)
    agent.process.stdin.close()
    assert 0 == agent.process.wait(10)


def test_its_children_end_with_its_input(agent, tmp_path):
    """The whole group of a command under way."""
    agent.hello()
    agent.send(request(command=f"sleep 63 & echo $! > {tmp_path}/pid; wait"))
    until = time.monotonic() + 10
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < until
        time.sleep(0.01)
    pid = (tmp_path / "pid").read_text().strip()
    agent.process.stdin.close()
    agent.process.wait(10)
    assert not Path("/proc", pid).exists() or "Z" in Path("/proc", pid, "stat").read_text()


def test_a_call_that_comes_with_the_end_of_the_input_is_not_made(tmp_path):
    """Whoever sent it has gone, and believes that it was not made."""
    text = bundle.start_text(bundle.closure("command"), forms="source")
    made = tmp_path / "made"
    subprocess.run(
        [sys.executable, "-I", "-S", "-c", STARTER.format(size=len(text.first)), "we are"],
        input=text.first + text.rest + request(command=f"touch {made}"), stdout=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    assert not made.exists()


def test_later_modules_may_come_as_code(agent):
    """Once the controller knows that the Python is of its own version."""
    agent.hello()
    names = [name for name in bundle.closure("paths") if name not in bundle.sent_at_start([])]
    sizes, data = bundle.parcel(names, as_code=True)
    agent.send(pack({"modules": sizes}, data), request(name="paths.nothing"))
    assert "there is no call paths.nothing" == agent.receive()[0]["failed"]["message"]


@pytest.mark.parametrize("forms", ["source", "code", "both"])
def test_an_agent_starts_from_every_form(forms):
    """Of two forms it takes the code, since this Python is the one that made it."""
    assert version() == started(forms)


def test_a_python_that_is_not_ours_takes_the_source(monkeypatch):
    """Code of another version would end it before its first word."""
    monkeypatch.setattr(bundle, "MAGIC", "00000000")
    monkeypatch.setattr(bundle, "_code", lambda name: b"of another version")
    assert version() == started("both")


def version():
    return "{}.{}.{}".format(*sys.version_info[:3])


def started(forms):
    """The Python that says hello, started with a text in these forms."""
    text = bundle.start_text(bundle.closure("command"), forms=forms)
    argv = [sys.executable, "-I", "-S", "-c", STARTER.format(size=len(text.first)), "we are"]
    said = subprocess.run(argv, input=text.first + text.rest, stdout=subprocess.PIPE, check=True).stdout
    assert said.startswith(MARK)
    size = int.from_bytes(said[len(MARK) :][:4], "big")
    return json.loads(said[len(MARK) + 8 :][:size])["hello"]["python"]
