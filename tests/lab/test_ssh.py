"""The machines' SSH servers: what a client relies on, asked with OpenSSH's client."""

import os
import subprocess

import pytest

from tests.lab.practice import until

EVERY_BYTE = bytes(range(256)) * 4096


@pytest.mark.parametrize(("machine", "name"), [("eagle3-lab", "eagle3-lab"), ("pve-lab", "pve-lab")])
def test_each_machine_has_a_name_and_a_root_of_its_own(lab, machine, name):
    """As a container and its hypervisor have, whoever runs the lab."""
    assert f"{name} root {lab.root}/{machine}/home" == lab.says(machine, 'echo "$(hostname) $(id -un) $HOME"')


@pytest.mark.parametrize("code", [0, 1, 9, 255])
def test_the_exit_status_comes_back(lab, code):
    """Whatever it is."""
    assert code == lab.ssh("eagle3-lab", f"exit {code}", check=False).returncode


def test_bytes_pass_unchanged_both_ways_up_to_the_end_of_input(lab):
    """All 256 of them, more than any buffer holds, and the end of input reaches the command."""
    assert EVERY_BYTE == lab.ssh("eagle3-lab", "cat", given=EVERY_BYTE).stdout


def test_standard_error_is_a_stream_of_its_own(lab):
    """And not mixed into the output."""
    done = lab.ssh("eagle3-lab", "echo out; echo err >&2")
    assert (b"out\n", b"err\n") == (done.stdout, done.stderr)


def test_a_dialogue_needs_no_end_of_input(lab):
    """A framed protocol: each request is answered while both directions stay open."""
    line = lab.ssh_command("eagle3-lab", 'while read -r word; do echo "<$word>"; done')
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        answers = []
        for word in (b"one\n", b"two\n", b"three\n"):
            client.stdin.write(word)
            client.stdin.flush()
            answers.append(client.stdout.readline())
        client.stdin.close()
        assert [b"<one>\n", b"<two>\n", b"<three>\n"] == answers


@pytest.mark.slow
def test_a_command_waits_for_a_client_that_does_not_read(lab):
    """128 MB do not pile up in the server: the command has not ended before the client takes them."""
    size, done = 128 << 20, lab.root / "eagle3-lab" / "tmp" / "written"
    line = lab.ssh_command("eagle3-lab", f"rm -f '{done}'; head -c {size} /dev/zero; touch '{done}'; sleep 0.2")
    with subprocess.Popen(line, stdout=subprocess.PIPE) as client:
        first = client.stdout.read(1)
        memory = until(lambda: lab.says("eagle3-lab", "grep VmRSS /proc/1/status").split()[1])
        assert not done.exists()
        assert int(memory) < 120_000
        rest = 0
        while data := client.stdout.read(1 << 20):
            rest += len(data)
        assert size == len(first) + rest
    assert done.exists()


@pytest.mark.slow
def test_a_client_cannot_send_more_than_a_command_takes(lab):
    """It is stopped after a few megabytes, and everything arrives once the command reads."""
    size, go = 64 << 20, lab.root / "eagle3-lab" / "tmp" / "go"
    go.unlink(missing_ok=True)
    line = lab.ssh_command("eagle3-lab", f"while ! [ -e '{go}' ]; do sleep 0.05; done; wc -c")
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        os.set_blocking(client.stdin.fileno(), False)
        sent = _send_until_stopped(client.stdin.fileno(), size)
        assert sent < 32 << 20
        go.touch()
        os.set_blocking(client.stdin.fileno(), True)
        client.stdin.write(bytes(size - sent))
        client.stdin.close()
        assert size == int(client.stdout.read())


def _send_until_stopped(descriptor, size):
    import select

    sent = 0
    while sent < size and select.select([], [descriptor], [], 1.0)[1]:
        sent += os.write(descriptor, bytes(min(1 << 16, size - sent)))
    return sent


def test_a_closed_connection_ends_the_command_and_not_what_it_detached(lab):
    """Its process group gets HUP; a process in a session of its own lives on."""
    here = f"{lab.root}/eagle3-lab/tmp"
    command = (
        f"cd '{here}'; rm -f detached; sleep 600 & echo $! > child; "
        "setsid sh -c 'echo $$ > detached; exec sleep 601' > /dev/null 2>&1 < /dev/null & "
        "while ! [ -s detached ]; do sleep 0.02; done; echo started; wait"
    )
    with subprocess.Popen(lab.ssh_command("eagle3-lab", command), stdout=subprocess.PIPE) as client:
        assert b"started\n" == client.stdout.readline()
        client.kill()
    alive = f"for each in child detached; do kill -0 $(cat '{here}'/$each) 2> /dev/null && echo $each; done; true"
    assert until(lambda: lab.says("eagle3-lab", alive) == "detached")
    lab.ssh("eagle3-lab", f"kill $(cat '{here}/detached')")


def test_a_command_that_ignores_hup_gets_term(lab):
    """Half a second later."""
    command = "trap '' HUP; trap 'exit 0' TERM; echo $$; while :; do sleep 0.05; done"
    with subprocess.Popen(lab.ssh_command("eagle3-lab", command), stdout=subprocess.PIPE) as client:
        pid = int(client.stdout.readline())
        client.kill()
    assert until(lambda: lab.ssh("eagle3-lab", f"kill -0 {pid}", check=False).returncode == 1)


def test_the_channel_stays_open_while_somebody_holds_its_output(lab):
    """As with OpenSSH: a background job that keeps the streams keeps the client waiting."""
    done = lab.ssh("eagle3-lab", "(sleep 0.4; echo late) & exit 3", check=False)
    assert (3, b"late\n") == (done.returncode, done.stdout)


def test_only_the_labs_own_key_is_let_in(lab, tmp_path):
    """Another key is refused, and so is a password."""
    key = tmp_path / "stranger"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    options = ["-p", str(lab.host("pve-lab")["ansible_port"]), "-i", str(key), "-o", "BatchMode=yes"]
    options += ["-o", "IdentitiesOnly=yes", "-o", f'UserKnownHostsFile="{lab.root}/known_hosts"']
    done = subprocess.run(["ssh", "-F", "none", *options, "root@127.0.0.1", "true"], capture_output=True, text=True)
    assert (255, True) == (done.returncode, "Permission denied (publickey)" in done.stderr)


@pytest.mark.slow
def test_the_container_is_reached_through_its_hypervisor_too(lab):
    """ProxyJump: the hypervisor forwards to the container's own port."""
    jump = f"ProxyCommand=ssh -F '{lab.root}/ssh_config' -W %h:%p pve-lab"
    assert b"eagle3-lab\n" == lab.ssh("eagle3-lab", "hostname", "-o", jump).stdout


def test_a_person_gets_a_terminal(lab):
    """With -t, the command's streams are a terminal."""
    assert b"yes" in lab.ssh("eagle3-lab", "test -t 0 && test -t 1 && echo yes", "-tt").stdout


def test_a_real_nvml_is_out_of_reach(lab):
    """An empty library stands in its place, so that nobody reads real GPUs by mistake."""
    program = "import ctypes; ctypes.CDLL('libnvidia-ml.so.1')"
    done = lab.ssh("eagle3-lab", f'python3 -c "{program}"', check=False)
    assert (1, True) == (done.returncode, b"file too short" in done.stderr)


def test_becoming_root_is_no_question_where_one_is_root(lab):
    """The lab's sudo takes the options that playbooks and people give."""
    assert "0 b" == lab.says("eagle3-lab", "sudo -n -H -u root -- env A=b sh -c 'echo $(id -u) $A'")
    refused = lab.ssh("eagle3-lab", "sudo -n -u postgres true", check=False)
    assert (1, True) == (refused.returncode, b"unknown user postgres" in refused.stderr)
