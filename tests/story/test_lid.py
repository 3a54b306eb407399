"""The laptop lid closes while the server starts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cleanslate.record import list_runs, read_events, read_run
from tests.story.servers import REPOSITORY, Room, inv

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="entering the container's namespaces takes root; CI is root"),
]


@pytest.fixture
def openssh_room(tmp_path):
    """A fresh lab behind OpenSSH."""
    made = Room(tmp_path)
    yield made
    made.close()


def start(*words: str, folder: Path) -> subprocess.Popen:
    """Run `inv` and leave it to itself."""
    environment = {
        **os.environ,
        "NO_COLOR": "1",
        "INVOKE_CLEANSLATE_RUNS": str(folder / "runs"),
        "HOME": str(folder),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "cleanslate.cli", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        env=environment,
        cwd=REPOSITORY,
        start_new_session=True,
    )


def begun(folder: Path) -> set[str]:
    """The types of the steps that the newest run has begun."""
    runs = list_runs(folder / "runs")
    return {e.data["type"] for e in read_events(runs[0].folder) if e.kind == "step.started"} if runs else set()


def launches(folder: Path) -> list[str]:
    """The launch of each run that made one, once each."""
    found = []
    for run in list_runs(folder / "runs"):
        types = {}
        for event in read_events(run.folder):
            if event.kind == "step.started":
                types[event.data["step"]] = event.data["type"]
            elif event.kind == "host.finished" and event.data["status"] == "changed" and not event.data.get("resumed"):
                found += [run.id] if types[event.data["step"]] == "launch_server" else []
    return found


def assert_one_server(room: Room, folder: Path) -> None:
    """Eight GPUs are held by the workers of one server, nobody holds a lease, and every record reads back."""
    after = room.status()
    assert [77824] * 8 == [gpu["used_mib"] for gpu in after["gpus"]]
    assert [1] * 8 == [len(gpu["holders"]) for gpu in after["gpus"]]
    for host in ("eagle3-lab", "pve-lab"):
        shown = inv("lease", "show", host, "-i", str(room.inventory), "--json", folder=folder, runs=folder / "runs")
        assert [] == json.loads(shown.stdout)["leases"], shown.stdout + shown.stderr
    for run in list_runs(folder / "runs"):
        assert read_run(run.folder)["id"] == run.id
        list(read_events(run.folder))


@pytest.mark.timeout(240)
def test_the_lid_closes_while_the_server_starts(openssh_room, tmp_path):
    """The server goes on starting; resume checks what must be checked, launches nothing, and goes on waiting."""
    running = start("play", "restart-eagle3", "-i", str(openssh_room.inventory), folder=tmp_path)
    end = time.monotonic() + 120
    while "wait_healthy" not in begun(tmp_path):
        assert running.poll() is None and time.monotonic() < end
        time.sleep(0.05)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    held = openssh_room.status()
    done = inv("resume", "last", "--output", "json", "--wait", "30s", folder=tmp_path, runs=tmp_path / "runs")
    assert 0 == done.returncode, done.stdout[-3000:] + done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    types = {event["step"]: event["type"] for event in events if event["kind"] == "step.started"}
    ended = {types[event["step"]]: event for event in events if event["kind"] == "host.finished"}
    assert [True, True, None] == [
        ended[kind].get("resumed") for kind in ("stop_server", "launch_server", "wait_healthy")
    ]
    assert 1 == len(launches(tmp_path))
    assert held["gpus"]
    assert_one_server(openssh_room, tmp_path)
