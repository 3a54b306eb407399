"""Into a container through its hypervisor, with a stand-in for pct that keeps to what pct does with its arguments."""

from __future__ import annotations

import pytest

from cleanslate.connect.target import Address
from cleanslate.errors import OutcomeUnknown, Unreachable
from tests.sshd import SYSTEM_PATH, Sshd

# `exec VMID [--keep-env 0|1] -- COMMAND...`: executes the arguments without a shell, as lxc-attach does.
PCT = """#!/bin/sh
echo "$*" >> "$0.log"
[ "$1" = exec ] || exit 255
vmid=$2; shift 2
if [ "$1" = --keep-env ]; then
  if [ -f "$0.old" ]; then
    printf 'Unknown option: keep-env\\n400 unable to parse option\\npct exec <vmid> [<extra-args>]\\n' >&2; exit 255
  fi
  [ "$2" = 0 ] && clean="env -i container=lxc PATH=/usr/bin:/bin"
  shift 2
fi
[ "$1" = -- ] && shift
case $vmid in
  101) cd / && exec $clean "$@" ;;
  102) echo "CT 102 not running" >&2; exit 255 ;;
  103) sleep 60 ;;
  *) echo "Configuration file 'nodes/pve/lxc/$vmid.conf' does not exist" >&2; exit 2 ;;
esac
"""


@pytest.fixture
def pct(tmp_path):
    """The stand-in's path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    path = folder / "pct"
    path.write_text(PCT)
    path.chmod(0o755)
    return path


@pytest.fixture
def container(tmp_path, pct, connections):
    """Gives the target for a container's number."""
    with Sshd(tmp_path, path=f"{pct.parent}:{SYSTEM_PATH}") as server:
        hypervisor = server.address("pve")

        def target(vmid=101):
            return connections.target(Address("box", kind="pct", vmid=vmid, via=hypervisor))

        yield target


def test_calls_and_plain_commands(container):
    """Exit code, both outputs and standard input come through."""
    target = container()
    assert {"a": "ä'$x"} == target.call("trial_calls.echo", {"a": "ä'$x"}, deadline=10).values
    answer = target.plain('cat; echo "it\'s $0" >&2; exit 7', stdin=b"in", deadline=10)
    assert ("in", "it's /bin/sh\n", 7) == (answer["stdout"], answer["stderr"], answer["rc"])


def test_the_hypervisors_environment_stays_outside(container):
    """But a home, a user and a PATH there are."""
    environment = container().call("trial_calls.where", {}, deadline=10)["environ"]
    assert "lxc" == environment["container"]
    assert {"HOME", "USER", "LOGNAME", "SHELL", "PATH"} <= environment.keys()
    assert "SSH_CONNECTION" not in environment


def test_an_old_pct_is_learnt_once(container, pct):
    """One that does not know --keep-env is asked without it from then on."""
    pct.with_name("pct.old").touch()
    target = container()
    assert {"a": 1} == target.call("trial_calls.echo", {"a": 1}, deadline=10).values
    assert "hi\n" == target.plain("echo hi", deadline=10)["stdout"]
    assert 1 == pct.with_name("pct.log").read_text().count("--keep-env")


@pytest.mark.parametrize(
    ("vmid", "reason"), [(102, "CT 102 not running"), (104, "Configuration file .* does not exist")]
)
def test_a_container_that_cannot_be_entered(container, vmid, reason):
    """Unreachable, in pct's own words; for calls and plain commands."""
    target = container(vmid)
    for attempt in (lambda: target.call("trial_calls.echo", {}, deadline=10), lambda: target.plain("id", deadline=10)):
        with pytest.raises(Unreachable, match=f"box: pct exec {vmid} on pve failed: .*{reason}"):
            attempt()


@pytest.mark.slow
def test_a_pct_that_hangs_is_given_up(container, monkeypatch):
    """Pct may block for ever; the deadline does not."""
    from cleanslate.connect import client

    monkeypatch.setattr(client, "START", 0.3)
    target = container(103)
    with pytest.raises((Unreachable, OutcomeUnknown), match=r"within 0\.3 s"):
        target.call("trial_calls.echo", {}, deadline=20)
    with pytest.raises(OutcomeUnknown, match="had not started in time"):
        target.plain("id", deadline=0.5)


def test_the_hypervisor_and_its_containers_share_a_connection(container, connections):
    """One login, whatever is behind it."""
    target = container()
    hypervisor = connections.target(target.address.via)
    inside = target.call("trial_calls.where", {}, deadline=10)
    outside = hypervisor.call("trial_calls.where", {}, deadline=10)
    assert inside["pid"] != outside["pid"]
    assert 1 == len([slot for slot in connections._slots.values() if slot.address.kind == "ssh"])


def test_no_pct_on_the_hypervisor(container, pct):
    """Its shell's words."""
    pct.unlink()
    with pytest.raises(Unreachable, match=r"box: pct exec 101 on pve failed: .*pct: .*not found"):
        container().call("trial_calls.echo", {}, deadline=10)
