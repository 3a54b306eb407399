"""A probe's child can be given up, keeps nothing of its parent's open, and is the only one that hangs."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cleanslate.remote import gpu_reset, probe, processes
from cleanslate.remote.registry import Call, Failed


def test_the_child_keeps_no_descriptor_of_its_parents():
    """One that hangs for ever must not hold a connection, a log or a lock of ours open."""
    reading, writing = os.pipe()

    def tell(say):
        say(sorted(int(each.name) for each in Path("/proc/self/fd").iterdir())[:-1])  # the last one reads this folder

    with probe.Probe(Call(), tell) as child:
        assert [0, 1, 2] == child.next(10)
    os.close(reading)
    os.close(writing)


def test_a_silent_child_is_given_up_and_gone():
    child = probe.Probe(Call(), lambda say: time.sleep(600))
    pid = child.pid
    with pytest.raises(probe.Hung):
        child.next(0.05)
    assert (True, None) == (child.end(), processes.look(pid))


def test_a_child_that_dies_is_no_answer():
    with probe.Probe(Call(), lambda say: os.abort()) as child, pytest.raises(probe.Ended):
        child.next(10)


def test_a_cancelled_call_stops_waiting():
    call = Call()
    call.cancelled.set()
    with probe.Probe(call, lambda say: time.sleep(600)) as child, pytest.raises(Failed):
        child.next(10)


def test_the_latest_words_win_and_none_is_waited_for_twice():
    def count(say):
        for number in range(3):
            say(number)
        time.sleep(600)

    with probe.Probe(Call(), count) as child:
        seen = [child.latest(10)]
        while seen[-1] != 2:
            seen.append(child.latest(10))
    assert sorted(seen) == seen


def test_the_child_bears_its_name_for_others_to_know_it():
    with probe.Probe(Call(), lambda say: (say("up"), time.sleep(600))) as child:
        child.next(10)
        assert probe.PROBE == processes.look(child.pid).comm


def test_before_a_reset_probes_end_and_a_stranger_of_their_name_stays():
    """A probe that reads samples is the fork of an agent; a program that merely has the name is somebody's own."""
    code = f"import ctypes, time\nctypes.CDLL(None).prctl(15, b'{probe.PROBE}')\nprint(flush=True)\ntime.sleep(600)"
    with (
        probe.Probe(Call(), lambda say: (say("up"), time.sleep(600))) as child,
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as stranger,
    ):
        child.next(10)
        stranger.stdout.readline()
        key = processes.look(child.pid).key
        gpu_reset.end_probes()
        assert (True, None) == (processes.ended(key) is not None, stranger.poll())
        stranger.kill()


@pytest.mark.parametrize("name", ["cs-gpu-probe", "nvidia-smi"])
def test_while_one_hangs_in_the_kernel_no_other_is_started(room, freezer, name):
    """Whoever started it: it was killed, cannot die, and whoever asks next would hang beside it."""
    room.smi(count=1)
    before = room.call("gpus.read", {}, deadline=20, read_only=True)
    pid = room.act("--comm", name)[0]
    freezer.freeze(room, pid)
    room.kill(pid)
    asked = len(room.smi_asked())
    after = room.call("gpus.read", {}, deadline=20, read_only=True)
    assert (None, "hung", asked) == (before["failed"], after["failed"]["kind"], len(room.smi_asked()))
    assert f"pid {pid} ({name}) was killed and cannot die" in after["failed"]["text"]


def test_one_that_nobody_killed_hinders_nobody(room, freezer):
    """It may answer yet: asleep, or in the kernel for the moment."""
    room.smi(count=1)
    room.act("--comm", "nvidia-smi")
    freezer.freeze(room, room.act("--comm", "nvidia-smi")[0])
    assert None is room.call("gpus.read", {}, deadline=20, read_only=True)["failed"]
