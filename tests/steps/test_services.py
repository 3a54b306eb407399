"""systemd and service: systemctl is asked for what differs and nothing else. It is played by a script with a memory."""

from __future__ import annotations

import pytest

from cleanslate.model import Status
from tests.steps.harness import run_step

SYSTEMCTL = """\
#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/asked"
while [ "${1#-}" != "$1" ]; do shift; done
case $1 in
show)
  [ "$2" = --property=Version ] && { echo Version=252; exit; }
  case $2 in
  nowhere*) echo LoadState=not-found; echo ActiveState=inactive ;;
  *) echo "LoadState=$(cat "$here/load")"; echo "ActiveState=$(cat "$here/active")"; echo "MainPID=42" ;;
  esac ;;
is-enabled) cat "$here/enabled"; grep -q '^enabled$\\|static' "$here/enabled" ;;
enable) echo enabled > "$here/enabled" ;;
disable) echo disabled > "$here/enabled" ;;
mask) echo masked > "$here/load" ;;
unmask) echo loaded > "$here/load" ;;
start|restart|reload)
  [ "$2" = broken ] && { echo "Job for broken.service failed." >&2; exit 1; }
  echo active > "$here/active" ;;
stop) echo inactive > "$here/active" ;;
status) echo "broken.service: cannot bind port 30000"; exit 3 ;;
esac
"""
READS = ("show", "is-enabled", "status")


@pytest.fixture
def systemctl(tmp_path, monkeypatch):
    """Put the script first on PATH; gives a function that says how a unit is, and one that tells what was asked."""
    program = tmp_path / "systemctl"
    program.write_text(SYSTEMCTL)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    def unit(active="inactive", enabled="disabled", load="loaded"):
        for name, text in {"active": active, "enabled": enabled, "load": load, "asked": ""}.items():
            (tmp_path / name).write_text(f"{text}\n" if text else "")

    def asked():
        lines = (tmp_path / "asked").read_text().splitlines()
        return [line for line in lines if not any(word in line.split() for word in READS)]

    unit()
    return unit, asked


CASES = [
    ({"state": "started"}, {}, ["start u"]),
    ({"state": "started"}, {"active": "active"}, []),
    ({"state": "started"}, {"active": "activating"}, []),
    ({"state": "started"}, {"active": "failed"}, ["start u"]),
    ({"state": "stopped"}, {"active": "active"}, ["stop u"]),
    ({"state": "stopped"}, {"active": "deactivating"}, ["stop u"]),
    ({"state": "stopped"}, {}, []),
    ({"state": "restarted"}, {"active": "active"}, ["restart u"]),
    ({"state": "restarted"}, {}, ["start u"]),
    ({"state": "reloaded"}, {"active": "active"}, ["reload u"]),
    ({"state": "reloaded"}, {}, ["start u"]),
    ({"enabled": True}, {}, ["enable u"]),
    ({"enabled": True}, {"enabled": "enabled"}, []),
    ({"enabled": True}, {"enabled": "static"}, []),
    ({"enabled": False}, {"enabled": "enabled"}, ["disable u"]),
    ({"enabled": False}, {}, []),
    ({"masked": True}, {}, ["mask u"]),
    ({"masked": False}, {"load": "masked"}, ["unmask u"]),
    ({"masked": True}, {"load": "masked"}, []),
    ({"state": "started", "enabled": True}, {}, ["enable u", "start u"]),
    ({"state": "started", "scope": "user"}, {}, ["--user start u"]),
    ({"state": "started", "no_block": True}, {}, ["--no-block start u"]),
    ({"enabled": True, "force": True}, {}, ["--force enable u"]),
]


@pytest.mark.parametrize(("arguments", "before", "expected"), CASES)
def test_systemd_is_asked_for_what_differs(systemctl, arguments, before, expected):
    unit, asked = systemctl
    unit(**before)
    foretold = run_step("systemd", {"name": "u", **arguments}, check=True).result
    assert asked() == []
    result = run_step("systemd", {"name": "u", **arguments}).result
    assert (asked(), result.data["changed"], foretold.data["changed"]) == (expected, bool(expected), bool(expected))
    assert foretold.diffs == result.diffs


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"daemon_reload": True}, ["daemon-reload"]),
        ({"daemon_reexec": True, "daemon-reload": True}, ["daemon-reexec", "daemon-reload"]),
    ],
)
def test_reading_unit_files_again_is_no_change(systemctl, arguments, expected):
    _, asked = systemctl
    result = run_step("systemd", arguments).result
    assert (result.status, asked()) == (Status.OK, expected)


def test_unit_files_are_read_again_before_the_unit_is_looked_at(systemctl):
    _, asked = systemctl
    run_step("systemd", {"name": "u", "state": "started", "daemon_reload": True})
    assert asked() == ["daemon-reload", "start u"]


def test_the_result_tells_how_it_is_and_every_property(systemctl):
    result = run_step("systemd", {"name": "u", "state": "started", "enabled": True}).result
    found = {name: result.data[name] for name in ("name", "state", "enabled")}
    assert (found, result.data["status"]["MainPID"]) == ({"name": "u", "state": "started", "enabled": True}, "42")


def test_a_unit_that_systemd_does_not_know_is_told_with_what_to_try(systemctl):
    result = run_step("systemd", {"name": "nowhere", "state": "started"}).result
    assert result.data["msg"] == "systemd knows no unit nowhere on here"
    assert (result.fix, result.data["kind"]) == ("if its file is new, say daemon_reload: true", "missing")


def test_a_unit_that_does_not_start_tells_what_it_last_said(systemctl):
    result = run_step("systemd", {"name": "broken", "state": "started"}).result
    assert (result.data["msg"], result.data["changed"]) == (
        "systemctl start broken: Job for broken.service failed.",
        False,
    )
    assert (result.data["journal"], result.fix) == ("broken.service: cannot bind port 30000", "journalctl -u broken")


@pytest.mark.parametrize("step", ["systemd", "service"])
def test_without_systemctl_it_says_so(step, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    result = run_step(step, {"name": "u", "state": "started"}).result
    assert (result.data["kind"], "no systemctl here" in result.data["msg"]) == ("unsupported", True)


@pytest.mark.parametrize("step", ["systemd", "service"])
def test_where_systemd_does_not_run_it_says_so(step, tmp_path, monkeypatch):
    """As in a container whose first process is something else."""
    program = tmp_path / "systemctl"
    program.write_text(
        "#!/bin/sh\n"
        'echo "System has not been booted with systemd as init system (PID 1). Can\'t operate." >&2\n'
        'echo "Failed to connect to bus: Host is down" >&2\nexit 1\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    result = run_step(step, {"name": "u", "state": "started"}).result
    assert result.data["msg"] == "systemd does not run here, so there are no units to control"


def test_a_state_without_a_name_is_refused():
    assert run_step("systemd", {"state": "started"}).result.data["msg"] == "state, enabled and masked need name"


def test_service_does_what_systemd_does(systemctl):
    _, asked = systemctl
    result = run_step("service", {"name": "u", "state": "started", "enabled": "yes", "sleep": 1}).result
    assert (asked(), result.data["state"], result.data["enabled"]) == (["enable u", "start u"], "started", True)
