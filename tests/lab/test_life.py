"""Up, down and what happens when somebody pulls the rug: nothing of a lab survives, and nothing else is touched."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from cleanslate.lab.alive import start_of
from tests.lab.practice import PYTHON, Practice, lab_command, processes_of, until


def test_up_does_nothing_when_it_is_up(lab):
    """Same processes, not a word, and nothing heavy is imported for it."""
    before = lab.facts()
    command = [PYTHON, "-X", "importtime", *lab_command("up", "--root", lab.root)[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "" == done.stdout
    assert set() == imported & {"asyncssh", "argparse", "json", "ctypes", "socket", "cleanslate.lab.life"}
    assert before == lab.facts()


def test_status_tells_people_how_to_get_in(lab):
    """With a command that works as it is printed."""
    told = lab.run("status").stdout
    line = next(line for line in told.splitlines() if line.startswith("eagle3-lab"))
    command = line.removeprefix("eagle3-lab").partition("(")[0].strip() + " hostname"
    assert b"eagle3-lab\n" == subprocess.run(command, shell=True, capture_output=True, check=True).stdout
    assert 8 == sum(line.startswith("GPU ") for line in told.splitlines())


def test_status_for_programs_has_the_same_facts(lab):
    """Ports, namespaces, faults, GPUs with their holders."""
    status = lab.status()
    assert (True, [], str(lab.root)) == (status["up"], status["faults"], status["root"])
    assert {name: host["ansible_port"] for name, host in lab.facts()["hosts"].items()} == {
        name: machine["port"] for name, machine in status["machines"].items()
    }
    assert [[f"sglang::scheduler_TP{gpu}"] for gpu in range(8)] == [
        [holder[1] for holder in gpu["holders"]] for gpu in status["gpus"]
    ]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["status", "--root", "{empty}"], 0, "down  {empty}"),
        (["down", "--root", "{empty}"], 0, ""),
        (["break", "ignores-term", "--root", "{empty}"], 1, "the lab is not up"),
        (["break", "everything", "--root", "{empty}"], 64, "invalid choice: 'everything'"),
        (["explode"], 64, "invalid choice: 'explode'"),
        (["up", "--root", "{used}"], 1, "is not empty and not a lab"),
        (["down", "--root", "{used}"], 1, "is not empty and not a lab"),
        (["up", "--root", "{empty}/a:b"], 1, "PATH and ssh cannot name a folder with : or quotes in it"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path, words, code, told):
    """In one sentence, and nobody's files are touched."""
    used = tmp_path / "used"
    used.mkdir()
    (used / "thesis.txt").write_text("years of work")
    places = {"empty": tmp_path / "empty", "used": used}
    done = subprocess.run(lab_command(*[word.format(**places) for word in words]), capture_output=True, text=True)
    assert (code, True) == (done.returncode, told.format(**places) in done.stdout + done.stderr)
    assert "years of work" == (used / "thesis.txt").read_text()


def test_this_computers_files_are_read_only_in_there(lab, tmp_path):
    """A playbook that was meant for a server cannot change the computer that the lab runs on."""
    for machine in ("eagle3-lab", "pve-lab"):
        refused = lab.ssh(machine, "touch /etc/cleanslate-was-here", check=False)
        assert (1, True) == (refused.returncode, b"Read-only file system" in refused.stderr)
        assert "0" == lab.says(machine, "ls -A /run/systemd 2> /dev/null | wc -l")
        lab.ssh(machine, 'touch ~/here "$TMPDIR/here" && rm ~/here "$TMPDIR/here"')


def test_nothing_outside_can_be_seen_or_reached(lab):
    """Neither this process nor this computer's network is there."""
    here = Path("/proc/self/cmdline").read_text().replace("\0", " ").strip()
    seen = lab.titles("pve-lab")
    assert (False, True) == (here in seen, "nvidia-persistenced" in seen)
    assert "lo" == lab.says("pve-lab", "sed -n 's/^ *\\(.*\\):.*/\\1/p' /proc/net/dev")


@pytest.mark.slow
def test_down_leaves_nothing(own_lab):
    """No process, not even one that detached itself on the hypervisor, no file, no socket."""
    own_lab.run("up")
    own_lab.ssh("pve-lab", "setsid sleep 600 > /dev/null 2>&1 < /dev/null &")
    assert processes_of(own_lab.root)
    own_lab.run("down")
    assert (False, []) == (own_lab.root.exists(), processes_of(own_lab.root))


@pytest.mark.slow
def test_down_can_keep_the_files(own_lab):
    """For a look at the logs; the next up starts afresh."""
    own_lab.run("up")
    own_lab.run("down", "--keep")
    assert "fired up" in (own_lab.root / "eagle3-lab" / "log" / "eagle3.log").read_text()
    assert [] == processes_of(own_lab.root)
    own_lab.run("up")
    assert own_lab.status()["up"]


@pytest.mark.slow
def test_two_labs_do_not_meet(own_lab, lab):
    """Same server port, other GPUs, and neither sees the other's processes."""
    own_lab.run("up")
    assert own_lab.host("eagle3-lab")["server_port"] == lab.host("eagle3-lab")["server_port"]
    own_lab.ssh("pve-lab", "kill -9 $(nvidia-smi --query-compute-apps=pid --format=csv,noheader)")
    assert [0] * 8 == own_lab.used()
    assert [76 * 1024] * 8 == lab.used()
    gone = lab.says("pve-lab", "pct exec 101 -- nvidia-smi -L")
    assert gone != own_lab.says("pve-lab", "pct exec 101 -- nvidia-smi -L")


@pytest.mark.slow
def test_a_lab_that_was_killed_is_built_anew(own_lab):
    """Its folder lies there, its pid is dead: up clears it away."""
    own_lab.run("up")
    first = own_lab.status()["pid"]
    os.kill(first, signal.SIGKILL)
    until(lambda: not own_lab.status()["up"])
    own_lab.run("up")
    assert [76 * 1024] * 8 == own_lab.used()
    assert first != own_lab.status()["pid"]


def test_a_pid_that_is_somebody_elses_by_now_is_not_believed(tmp_path):
    """Same number, another start time: that is not the lab, and it is not killed."""
    practice = Practice(tmp_path / "room")
    practice.root.mkdir()
    (practice.root / "lab.id").write_text("0123\n")
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    (practice.root / "lab.pid").write_text(f"{os.getpid()} 1 {boot}")
    assert not practice.status()["up"]
    practice.run("down")
    assert not practice.root.exists()


@pytest.mark.slow
def test_a_lab_ends_when_its_folder_is_removed(own_lab):
    """`git clean` takes the folder; the processes notice."""
    own_lab.run("up")
    first = own_lab.status()["pid"]
    shutil.rmtree(own_lab.root)
    assert until(lambda: start_of(first) is None)


@pytest.mark.slow
def test_two_who_start_it_at_once_get_one_lab(own_lab):
    """The second waits for the first."""
    both = [subprocess.Popen(lab_command("up", "--root", own_lab.root)) for _ in range(2)]
    assert [0, 0] == [one.wait() for one in both]
    assert [76 * 1024] * 8 == own_lab.used()


@pytest.mark.slow
def test_an_ordinary_user_gets_the_same_lab(tmp_path):
    """Without root: the kernel gives namespaces to everybody, and the machines' user is root in there."""
    ordinary = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
    practice = Practice(tmp_path / "room", wrapped=ordinary)
    try:
        practice.run("up")
        assert {"user": True, "pid": True, "network": True, "reason": ""} == practice.status()["isolation"]
        assert "eagle3-lab 0" == practice.says("eagle3-lab", 'echo "$(hostname) $(id -u)"')
        assert "eagle3-lab" == practice.says("pve-lab", "pct exec 101 -- hostname")
        assert [76 * 1024] * 8 == practice.used("eagle3-lab")
    finally:
        practice.close()
    assert [] == processes_of(practice.root)


@pytest.mark.slow
def test_a_kernel_without_namespaces_gets_a_lab_without(tmp_path):
    """Status says so and why; the rest works, and nothing survives there either."""
    forbidding = ["unshare", "--user", "--map-root-user", "sh", "-c"]
    forbidding += ['echo 0 > /proc/sys/user/max_pid_namespaces; exec "$@"', "-"]
    practice = Practice(tmp_path / "room", wrapped=forbidding)
    try:
        practice.run("up")
        isolation = practice.status()["isolation"]
        assert (False, "unshare: No space left on device") == (isolation["pid"], isolation["reason"])
        assert "none: the kernel refused" in practice.run("status").stdout
        assert [76 * 1024] * 8 == practice.used("eagle3-lab")
        assert "101" == practice.says("pve-lab", "pct exec 101 -- sh -c 'echo 101'")
        practice.ssh("eagle3-lab", "setsid sleep 600 > /dev/null 2>&1 < /dev/null &")
    finally:
        practice.close()
    assert [] == processes_of(practice.root)


def test_the_inventory_is_what_ssh_needs(lab):
    """Paths that exist, options that are quoted, and the words of DESIGN for a container."""
    facts = lab.facts()
    host = facts["hosts"]["eagle3-lab"]
    assert {"eagle3": ["eagle3-lab"], "hypervisors": ["pve-lab"]} == facts["groups"]
    assert ("pve-lab", 101, "127.0.0.1") == (host["hypervisor"], host["vmid"], host["ansible_host"])
    assert (
        f"""-o 'UserKnownHostsFile="{lab.root}/known_hosts"' -o IdentitiesOnly=yes""" == host["ansible_ssh_common_args"]
    )
    assert 0o600 == Path(host["ansible_ssh_private_key_file"]).stat().st_mode & 0o777
    config = Path(host["draft_model"], "config.json")
    assert 131072 == json.loads(config.read_text())["max_position_embeddings"]
    assert config.is_symlink()
