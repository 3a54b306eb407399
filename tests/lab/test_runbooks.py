"""The way back when a new server does not come up, and the runbooks that measure and instrument: in the lab."""

from pathlib import Path

import pytest

from tests.lab.test_story import FULL, HEALTHY, Checkout

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FAILED = "The restart failed"
BACK = "Launch the last good server again"


@pytest.fixture
def checkout(tmp_path):
    """A fresh checkout; its lab, if it came up, is taken down."""
    made = Checkout(tmp_path / "check out")
    yield made
    made.lab.close()


def test_a_launch_that_fails_brings_the_last_good_server_back(checkout):
    """With its own environment, and not the new one; the run fails all the same, and says what serves."""
    checkout.up()
    good = checkout.play("restart-eagle3", "-e", '{"eagle3_env": {"NOTE": "good"}}')
    assert 0 == good.code, good.text
    checkout.lab.run("break", "dies-once")
    played = checkout.play("restart-eagle3", "-e", '{"eagle3_env": {"NOTE": "new"}}')
    assert (2, FAILED) == (played.code, played.failed[-1]), played.text
    assert "the last good one serves again" in played.result[FAILED]["msg"]
    assert good.result["Launch"]["launch_id"] in played.result[BACK]["msg"]
    environ = f"tr '\\0' '\\n' < /proc/{played.result[BACK]['pid']}/environ | grep NOTE"
    assert "NOTE=good" == checkout.lab.says("eagle3-lab", environ)
    assert [FULL] * 8 == checkout.lab.used()


def test_without_a_server_that_served_before_nothing_is_launched_in_vain(checkout):
    checkout.up("dies-once")
    played = checkout.play("restart-eagle3")
    assert (2, FAILED) == (played.code, played.failed[-1]), played.text
    assert "nothing serves, since no launch is known that served before" in played.result[FAILED]["msg"]
    assert "changed" != played.status.get(BACK)


def test_what_failed_is_left_for_a_look_where_that_is_asked_for(checkout):
    checkout.up(eagle3_silence="2s")
    assert 0 == checkout.play("restart-eagle3").code
    checkout.lab.run("break", "silent-after-load")
    played = checkout.play("restart-eagle3", "-e", "eagle3_on_failure=leave")
    assert (2, [HEALTHY, FAILED]) == (played.code, played.failed), played.text
    assert "nothing was restored, as asked" in played.result[FAILED]["msg"]
    assert "changed" != played.status.get(BACK)
    assert "sglang::scheduler_TP0" in checkout.lab.titles("eagle3-lab")


def test_both_servers_are_measured_on_the_same_prompts_and_compared_with_the_last_run(checkout):
    """Speculation is faster in the lab; a second run finds the first one's numbers, each variant its own."""
    checkout.up()
    small = ("-e", '{"compare_concurrency": [1], "compare_tokens": 32, "compare_rounds": 1}')
    plain, fast = "Measure the baseline server", "Measure the speculative server"
    first = checkout.play("compare-eagle3", *small)
    assert 0 == first.code, first.text
    speeds = [first.result[name]["metrics"]["levels"]["1"] for name in (plain, fast)]
    assert speeds[0]["tokens_per_second"]["median"] < speeds[1]["tokens_per_second"]["median"]
    assert (None, 3.1) == (speeds[0]["accept_length"], speeds[1]["accept_length"]["median"])
    assert first.result[plain]["metrics"]["load"] == first.result[fast]["metrics"]["load"]
    second = checkout.play("compare-eagle3", *small)
    assert 0 == second.code, second.text
    for name in (plain, fast):
        [speed] = [each for each in second.result[name]["comparison"] if each["metric"] == "tokens_per_second"]
        assert first.result[name]["metrics"]["levels"]["1"]["tokens_per_second"]["median"] == speed["before"]


def test_the_server_is_instrumented_for_a_while_and_leaves_no_trace(checkout):
    """Its log is collected, with the debug output of all three files; then the package is what it was, and serves."""
    checkout.up()
    package = checkout.root / ".lab" / "eagle3-lab" / "server" / "lib"
    before = {path: path.read_bytes() for path in package.rglob("*.py")}
    played = checkout.play("debug-eagle3")
    assert (0, []) == (played.code, played.failed), played.text
    log = Path(played.result["Where it lies"]["msg"]).read_text()
    wanted = ["DEBUG rank", "DEBUG request", "DEBUG accept"]
    assert wanted == [word for word in wanted if word in log]
    assert before == {path: path.read_bytes() for path in package.rglob("*.py")}
    now = (checkout.root / ".lab" / "eagle3-lab" / "log" / "eagle3.log").read_text()
    assert (True, False) == ("ready to roll" in now, "DEBUG" in now)


def test_a_debug_patch_that_does_not_fit_is_named_by_check(checkout):
    """Before anything was stopped: file, hunk and line."""
    checkout.up()
    before = checkout.lab.titles("eagle3-lab")
    files = checkout.root / "playbooks" / "files"
    text = (files / "debug-lab-server.patch").read_text()
    (files / "other.patch").write_text(text.replace("self.server.served += 1", "self.server.served += 2"))
    played = checkout.play("debug-eagle3", "-e", "debug_patch=other.patch", "--check")
    assert (2, ["Instrument the package"]) == (played.code, played.failed), played.text
    assert "http.py: hunk 1" in played.result["Instrument the package"]["msg"]
    assert before == checkout.lab.titles("eagle3-lab")
