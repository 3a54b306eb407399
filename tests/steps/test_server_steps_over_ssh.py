"""Configs and servers through a real sshd and the real agent: silence after loading, and a config that is a link."""

from __future__ import annotations

import pytest

from cleanslate.connect.connections import RunConnections
from cleanslate.model import Status
from cleanslate.runner.apply import apply_step, validate
from cleanslate.steps.registry import step_type
from tests.sshd import SYSTEM_PATH, Sshd
from tests.steps.harness import Context, run_step
from tests.steps.test_patch_config import NEW, OLD, PATCHED, SET, TEXT, blob, everything, hub, link
from tests.steps.test_wait_healthy import assert_silent_after_load

__all__ = ["hub"]  # a fixture
pytestmark = pytest.mark.slow


@pytest.fixture
def reached(tmp_path):
    """The machine itself, reached by ssh; state files lie in the test's folder."""
    with Sshd(tmp_path / "ssh", path=f"{SYSTEM_PATH} XDG_STATE_HOME={tmp_path}") as sshd:
        connections = RunConnections()
        yield connections.target(sshd.address("gpu1"))
        connections.close()


def test_silent_but_busy_goes_on_and_its_phase_is_told_meanwhile(serving, reached):
    assert Status.CHANGED == serving.launch("--fault", "busy", target=reached).status
    found, context = step_type("wait_healthy"), Context(reached)
    asked = validate(found, {"name": "eagle3", "within": 20, "silence": "1.5s"})
    assert Status.OK == apply_step(found, asked, context, reached, check=False).result.status
    assert "after load" in [facts.get("phase") for _, facts in context.told]


def test_silent_and_idle_fails_long_before_the_deadline_whatever_an_earlier_run_said(serving, reached):
    serving.log.parent.mkdir()
    serving.log.write_text("The server is fired up and ready to roll!\n")
    serving.launch("--fault", "silent", target=reached)
    assert_silent_after_load(serving.wait(silence="1.5s", within=3600, target=reached))


def test_one_snapshot_is_patched_and_goes_back(hub, reached):
    before = everything(hub)
    foretold = run_step("patch_config", {"path": str(link(hub)), **SET}, target=reached, check=True).result
    assert (Status.CHANGED, before) == (foretold.status, everything(hub))
    done = run_step("patch_config", {"path": str(link(hub)), **SET}, target=reached).result
    texts = [path.read_text() for path in (link(hub, NEW), link(hub, OLD), blob(hub))]
    assert (Status.CHANGED, [PATCHED, TEXT, TEXT]) == (done.status, texts)
    again = run_step("patch_config", {"path": str(link(hub)), **SET}, target=reached).result
    back = run_step("restore_file", {"path": str(link(hub))}, target=reached).result
    assert [Status.OK, Status.CHANGED, TEXT] == [again.status, back.status, link(hub).read_text()]


def test_a_dangling_link_and_a_missing_key_are_told_and_nothing_is_written(hub, reached):
    before = everything(hub)
    absent = {"path": str(link(hub)), **SET, "expect": {"no_such_key": 1}}
    missing = run_step("patch_config", absent, target=reached).result
    blob(hub).unlink()
    dangling = run_step("patch_config", {"path": str(link(hub)), **SET}, target=reached).result
    assert [Status.FAILED] * 2 == [missing.status, dangling.status]
    assert [True, True] == ["no_such_key" in missing.data["msg"], "which does not exist" in dangling.data["msg"]]
    assert before.keys() - everything(hub).keys() == {path for path in before if "/blobs/" in path}
