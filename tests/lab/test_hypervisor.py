"""`pct` and `lxc-info` on the lab's hypervisor."""

import pytest


def test_lxc_info_gives_the_containers_first_process(lab):
    """Its pid as the hypervisor sees it, bare with -H."""
    pid = lab.says("pve-lab", "lxc-info -n 101 -p -H")
    assert "cleanslate lab:" == lab.says("pve-lab", f"cat /proc/{pid}/comm")
    assert f"State:          RUNNING\nPID:            {pid}" == lab.says("pve-lab", "lxc-info -n 101 -s -p")


def test_pct_list_and_status_name_the_container(lab):
    """In Proxmox's columns."""
    table = "VMID       Status     Lock         Name                \n101        running                 eagle3-lab"
    assert table == lab.says("pve-lab", "pct list").rstrip(" ")
    assert "status: running" == lab.says("pve-lab", "pct status 101")


@pytest.mark.parametrize(
    ("command", "code", "out"),
    [
        ("pct exec 101 -- sh -c 'hostname; exit 7'", 7, "eagle3-lab\n"),
        ("pct exec 101 -- printf '%s|' 'a b' '$HOME' \"it's\"", 0, "a b|$HOME|it's|"),
        ("echo through | pct exec 101 -- cat", 0, "through\n"),
        ("A=b pct exec 101 -- sh -c 'echo $A'", 0, "b\n"),
        ("A=b pct exec 101 --keep-env 0 -- sh -c 'echo ${A:-gone}'", 0, "gone\n"),
        ("pct exec 101 -- sh -c 'kill -9 $$'", 247, ""),
        ("pct exec 101 -- no-such-program", 127, ""),
        ("pct exec 102 -- true", 2, ""),
        ("pct status 102", 2, ""),
        ("lxc-info -n 102 -p -H", 1, ""),
    ],
)
def test_a_command_runs_in_the_container(lab, command, code, out):
    """Without a shell of its own, with its exit code, its input and the caller's environment."""
    done = lab.ssh("pve-lab", command, check=False)
    assert (code, out) == (done.returncode, done.stdout.decode())


def test_a_command_in_the_container_sees_only_the_container(lab):
    """Its own PID namespace, and its own home for state files."""
    assert f"{lab.root}/eagle3-lab/home" == lab.says("pve-lab", "pct exec 101 -- printenv HOME")
    inside = lab.says("pve-lab", "pct exec 101 -- readlink /proc/self/ns/pid")
    assert inside == lab.says("eagle3-lab", "readlink /proc/self/ns/pid")
