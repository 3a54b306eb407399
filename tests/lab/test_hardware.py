"""The lab on real GPUs refuses where there are none or somebody works, and takes shares of what is there."""

import os
import signal

import pytest

from cleanslate.lab import namespaces
from cleanslate.lab.hardware import Hardware, NoHardware, find_real, load
from tests.lab.practice import Practice


def pretend_smi(folder, monkeypatch, text, code=0):
    """An nvidia-smi that says this, and the only one."""
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{text}'\nexit {code}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_sizes_are_shares_of_the_smallest_gpu_and_the_idle_use_is_kept(tmp_path, monkeypatch):
    pretend_smi(tmp_path, monkeypatch, "143771, 0\n81920, 3\n")
    found = find_real()
    assert (True, 2, 2, 56.0, 8.0, 3) == (
        found.real,
        found.gpus,
        found.stuck,
        found.held,
        found.orphan,
        found.idle_mib,
    )
    found.save(tmp_path / "hardware.json")
    assert found == load(tmp_path / "hardware.json")
    assert Hardware() == load(tmp_path / "nothing.json")


@pytest.mark.parametrize(
    ("text", "code", "held", "said"),
    [
        ("143771, 5000\n", 0, None, "somebody works here"),
        ("143771, [N/A]\n", 0, None, "does not tell"),
        ("No devices were found\n", 6, None, "does not tell"),
        ("", 0, None, "does not tell"),
        ("143771, 0\n", 0, 139.0, "do not fit"),
    ],
)
def test_gpus_that_are_in_use_or_do_not_tell_are_not_taken(tmp_path, monkeypatch, text, code, held, said):
    pretend_smi(tmp_path, monkeypatch, text, code)
    with pytest.raises(NoHardware, match=said):
        find_real(held)


def test_pytorch_is_taken_from_where_this_python_has_it_or_said_to_be_missing(tmp_path, monkeypatch):
    pretend_smi(tmp_path, monkeypatch, "143771, 0\n")
    with pytest.raises(NoHardware, match="has no PyTorch; leave out --torch"):
        find_real(with_torch=True)
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [str(tmp_path), ""] == [find_real(with_torch=True).torch, find_real().torch]


def test_up_says_why_there_are_no_real_gpus(tmp_path, monkeypatch):
    """And leaves nothing behind that would be taken for a lab."""
    monkeypatch.setenv("PATH", str(tmp_path))
    practice = Practice(tmp_path / "room")
    done = practice.run("up", "--gpu", "real", check=False)
    assert (1, True) == (done.returncode, "no nvidia-smi here" in done.stderr)
    assert "down" == practice.run("status").stdout.split()[0]


def test_an_orphan_finds_itself_in_proc_for_a_while_and_shares_the_containers_mounts_again(tmp_path):
    """CUDA writes to /proc/self, which is not there for a process outside the container's PID namespace."""
    isolation = namespaces.find_isolation()
    kept, told = tmp_path / "proc", tmp_path / "told"
    kept.mkdir()
    say = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def container(ready):
        namespaces.unshare(namespaces.CLONE_NEWPID)

        def first():
            namespaces.settle_machine("inside")
            os.write(ready, b".")  # now /proc is the container's
            signal.pause()

        namespaces.fork(first)

    def orphan(outside):
        before = os.path.exists("/proc/self")  # noqa: PTH110 - whether the kernel knows us here
        outside.enter()
        me = os.readlink("/proc/self")  # noqa: PTH115 - as above
        outside.leave()
        mounts = [os.readlink(f"{kept}/{pid}/ns/mnt") for pid in (me, os.getppid())]  # noqa: PTH115 - as above
        os.write(say, f"{before} {me.isdigit()} {mounts[0] == mounts[1]}".encode())

    def hypervisor():
        namespaces.settle_machine("outside")
        namespaces.unshare_machine(isolation, network=False)
        outside = namespaces.Outside(kept)
        reading, writing = os.pipe()
        namespaces.fork(lambda: container(writing))
        os.read(reading, 1)
        os.waitpid(namespaces.fork(lambda: orphan(outside)), 0)

    def computer():
        namespaces.unshare_machine(isolation, network=isolation.network)
        namespaces.unshare(namespaces.CLONE_NEWPID)
        os.waitpid(namespaces.fork(hypervisor), 0)  # its end is the end of all in its namespace

    os.waitpid(namespaces.fork(computer), 0)
    os.close(say)
    assert "False True True" == told.read_text()
