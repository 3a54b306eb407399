"""The main job over two real OpenSSH servers: the container in namespaces of its own, the hypervisor outside."""

from __future__ import annotations

import json
import os
import re

import pytest

from tests.story.servers import Room, inv

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


@pytest.mark.timeout(240)
def test_the_story_over_openssh(openssh_room, tmp_path):
    """A stuck server holds eight GPUs, one through an orphan; afterwards a new one holds them, and answers."""
    before = openssh_room.status()
    assert 8 == sum(1 for gpu in before["gpus"] if gpu["used_mib"])

    words = ("play", "restart-eagle3", "-i", str(openssh_room.inventory), "--output", "json")
    done = inv(*words, folder=tmp_path, runs=tmp_path / "runs")
    assert 0 == done.returncode, done.stdout[-3000:] + done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    names = {event["step"]: event["type"] for event in events if event["kind"] == "step.started"}
    ended = {names[event["step"]]: event for event in events if event["kind"] == "host.finished"}
    assert "changed" == ended["stop_server"]["status"]
    assert ("changed", "pve-lab") == (ended["release_gpus"]["status"], ended["release_gpus"]["delegate"])
    assert "changed" == ended["patch_config"]["status"]
    assert re.search("practice server", str(ended["uri"]["result"]["json"]))

    after = openssh_room.status()
    assert [77824] * 8 == [gpu["used_mib"] for gpu in after["gpus"]]
    assert not {gpu["holders"][0][0] for gpu in before["gpus"]} & {gpu["holders"][0][0] for gpu in after["gpus"]}


@pytest.mark.timeout(120)
def test_a_changed_host_key_is_refused_with_the_way_out(openssh_room, tmp_path):
    """The host is unreachable, exit 4, nothing was touched, and the command that would accept the key is told."""
    known = tmp_path / "known_hosts"
    other = (tmp_path / "client.pub").read_text().split()[1]
    known.write_text(re.sub(r"(eagle3-lab ssh-ed25519) \S+", rf"\1 {other}", known.read_text()))
    done = inv("play", "stop-eagle3", "-i", str(openssh_room.inventory), folder=tmp_path, runs=tmp_path / "runs")
    assert 4 == done.returncode, done.stdout + done.stderr
    assert "THE HOST KEY HAS CHANGED" in done.stdout
    assert f"ssh-keygen -f {known} -R eagle3-lab" in done.stdout
    assert 8 == sum(1 for gpu in openssh_room.status()["gpus"] if gpu["used_mib"])
