"""The pretended driver: memory is what living processes have mapped, and who asks decides what is named."""

import subprocess

import pytest

from tests.lab.practice import until

FULL = 76 * 1024

HOLD = """
import ctypes, mmap, os, sys, time
handle = os.open(sys.argv[1], os.O_RDWR)
if sys.argv[2:]:
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    assert libc.mmap(None, int(sys.argv[2]) << 20, 3, 1 | 0x4000, handle, 0) != ctypes.c_void_p(-1).value
print("holding", flush=True)
sys.stdin.read()
"""


def holding(lab, machine, gpu, mib=""):
    """A process on a machine that has a GPU open, or `mib` of it mapped, until its input ends."""
    (lab.root / "eagle3-lab" / "tmp" / "hold.py").write_text(HOLD)
    command = f"python3 '{lab.root}/eagle3-lab/tmp/hold.py' '{lab.root}/dev/nvidia{gpu}' {mib}"
    started = subprocess.Popen(lab.ssh_command(machine, command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert b"holding\n" == started.stdout.readline()
    return started


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["eagle3-lab", "pve-lab"])
def test_a_fresh_lab_has_every_gpu_held(lab, machine):
    """Seen from both machines: memory is no secret in a container."""
    assert [FULL] * 8 == lab.used(machine)


def test_holders_are_named_outside_and_not_inside_the_container(lab):
    """As measured on real hardware: from another PID namespace the list is empty."""
    query = "nvidia-smi --query-compute-apps=process_name --format=csv,noheader"
    assert [f"sglang::scheduler_TP{gpu}" for gpu in range(8)] == sorted(lab.says("pve-lab", query).split("\n"))
    assert "" == lab.says("eagle3-lab", query)
    assert "" == lab.says("pve-lab", f"pct exec 101 -- {query}")


@pytest.mark.slow
def test_memory_comes_and_goes_with_the_process_that_maps_it(lab):
    """On one GPU, by what it mapped, on either machine."""
    with holding(lab, "eagle3-lab", 3, 2048) as one, holding(lab, "pve-lab", 3, 1024) as other:
        assert FULL + 3072 == lab.used()[3]
        one.communicate()
        assert until(lambda: lab.used()[3] == FULL + 1024)
        other.communicate()
    assert until(lambda: lab.used()[3] == FULL)


@pytest.mark.slow
def test_a_watcher_uses_no_memory(lab):
    """It has the device open, as a monitor or nvidia-persistenced has."""
    with holding(lab, "pve-lab", 2) as watcher:
        assert FULL == lab.used()[2]
        watcher.communicate()


@pytest.mark.slow
def test_one_gpu_is_held_where_the_container_cannot_see(lab):
    """The orphan has the container's mounts and name, and is in the hypervisor's PID namespace."""
    query = "nvidia-smi -i 7 --query-compute-apps=pid --format=csv,noheader"
    orphan = int(lab.says("pve-lab", query))
    init = int(lab.says("pve-lab", "lxc-info -n 101 -p -H"))

    def namespace(kind, pid):
        return lab.says("pve-lab", f"readlink /proc/{pid}/ns/{kind}")

    assert [namespace(kind, init) for kind in ("mnt", "uts", "user")] == [
        namespace(kind, orphan) for kind in ("mnt", "uts", "user")
    ]
    assert namespace("pid", orphan) == namespace("pid", "self") != namespace("pid", init)
    assert "sglang::scheduler_TP7" not in lab.titles("eagle3-lab")
    assert [1] == [parent for pid, parent, *_ in lab.processes("pve-lab") if pid == orphan]


def test_a_worker_has_open_what_a_cuda_process_has(lab):
    """Its GPU, nvidiactl and nvidia-uvm (measured); and it has its GPU mapped, which a watcher has not."""
    pid = lab.says("pve-lab", "nvidia-smi -i 0 --query-compute-apps=pid --format=csv,noheader")
    opened = lab.says("pve-lab", f"readlink /proc/{pid}/fd/* | grep /dev/nvidia | sort -u")
    assert [f"{lab.root}/dev/{name}" for name in ("nvidia-uvm", "nvidia0", "nvidiactl")] == opened.split("\n")
    watcher = lab.says("pve-lab", "grep -l '^nvidia-persiste' /proc/[0-9]*/comm | cut -d/ -f3")
    assert "10" == lab.says("pve-lab", f"readlink /proc/{watcher}/fd/* | grep /dev/nvidia | sort -u | wc -l")
    assert "0" == lab.says("pve-lab", f"grep -c /dev/nvidia /proc/{watcher}/maps; true")


def test_without_a_driver_nvidia_smi_fails_as_the_real_one(lab, tmp_path):
    """Code 9, and never an empty answer."""
    program = (lab.root / "pve-lab" / "bin" / "nvidia-smi").read_text().replace(f"{lab.root}/run", str(tmp_path))
    (tmp_path / "nvidia-smi").write_text(program)
    done = subprocess.run(["sh", str(tmp_path / "nvidia-smi")], capture_output=True, text=True)
    assert (9, True) == (done.returncode, done.stdout.startswith("NVIDIA-SMI has failed because it couldn't"))
