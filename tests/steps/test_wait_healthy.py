"""wait_healthy: healthy means it answers; a death and a hang are told at once, with their cause."""

import re
import signal
import threading
from pathlib import Path

import pytest

from cleanslate.errors import InputError
from cleanslate.model import Status
from cleanslate.remote import server_state
from cleanslate.steps.registry import step_type
from tests.steps.harness import DirectTarget, run_step


def test_it_serves_when_log_http_workers_and_generations_agree(serving):
    serving.launch("--tp", 2)
    result = serving.wait()
    assert Status.OK == result.status, result
    data = result.data
    assert (200, " 5 6 7 8", 2, [4, 4]) == (data["http"], data["probe"], data["workers"], data["shards"])
    assert ["start", "distributed", "load", "after load", "warm-up"] == [each["name"] for each in data["phases"]]
    assert 2 == len(data["probe_seconds"])
    assert "2 generations" in data["msg"]


@pytest.mark.slow
def test_what_is_seen_is_told_while_it_waits(serving):
    serving.launch("--pace", 0.4)
    target = DirectTarget()
    serving.wait(target=target)
    told = [facts for facts in target.progress if "phase" in facts]
    assert {"load"} <= {facts["phase"] for facts in told}
    assert any(re.search(r"shards \d/4", facts["text"]) for facts in told)


@pytest.mark.slow
def test_the_time_it_took_is_remembered_for_the_next_launch_of_the_same(serving):
    serving.launch()
    serving.wait()
    assert serving.state()["healthy_after"] > 0
    serving.end()
    serving.launch()
    target = DirectTarget()
    serving.wait(target=target)
    assert any(facts.get("usual") is not None for facts in target.progress)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "code", "number", "said", "hint"),
    [
        ("dies-in-load", 3, None, "ended with exit code 3", None),
        ("bus-error", None, signal.SIGBUS, "signal 7 (SIGBUS)", "/dev/shm"),
        ("killed", None, signal.SIGKILL, "signal 9 (SIGKILL)", "OOM killer"),
    ],
)
def test_a_death_is_told_with_exit_cause_and_last_lines(serving, fault, code, number, said, hint):
    serving.launch("--fault", fault)
    result = serving.wait(within=60)
    assert (Status.FAILED, "died") == (result.status, result.data["kind"])
    assert (code, number) == (result.data["exit"]["code"], result.data["exit"]["signal"])
    assert said in result.data["msg"]
    assert hint is None or hint in result.fix
    assert result.data["log_tail"]


@pytest.mark.slow
def test_a_stop_that_was_asked_for_is_no_crash(serving):
    serving.launch("--fault", "silent")
    run_step("stop_server", {"name": "eagle3", "grace": "1s", "engine": "none", "holders": False})
    result = serving.wait()
    assert "was stopped" in result.data["msg"]
    assert result.data["exit"]["asked"]


@pytest.mark.slow
def test_case_4a_silent_but_busy_goes_on_and_becomes_ready(serving):
    serving.launch("--fault", "busy")
    target = DirectTarget()
    result = serving.wait(silence="1.5s", target=target)
    assert Status.OK == result.status, result
    assert any(facts.get("phase") == "after load" for facts in target.progress)


def assert_silent_after_load(result):
    assert (Status.FAILED, "silent") == (result.status, result.data["kind"])
    assert re.search(r"silent after load for \d+ s, no CPU used", result.data["msg"])
    assert "100% Completed | 4/4" in result.data["last_line"]
    assert {"sleeping"} == {each["state_words"] for each in result.data["processes"]}
    folder = Path(result.data["diagnostics"])
    assert {"report.json", "processes.json", "log-tail.txt"} == {entry.name for entry in folder.iterdir()}
    assert "NCCL_DEBUG" in result.fix


@pytest.mark.slow
def test_case_4b_silent_and_idle_fails_long_before_the_deadline(serving):
    serving.launch("--fault", "silent")
    assert_silent_after_load(serving.wait(silence="1.5s", within=3600))


@pytest.mark.slow
def test_case_4c_a_ready_line_of_an_earlier_run_in_the_same_file_does_not_count(serving):
    serving.log.parent.mkdir()
    serving.log.write_text("The server is fired up and ready to roll!\n")
    serving.launch("--fault", "silent")
    assert_silent_after_load(serving.wait(silence={"after load": "1.5s"}, within=3600))
    kept = [path for path in serving.log.parent.iterdir() if "-before-" in path.name]
    assert "The server is fired up and ready to roll!\n" == kept[0].read_text()


@pytest.mark.slow
def test_a_fatal_line_ends_the_wait_with_its_meaning(serving):
    serving.launch("--fault", "fatal-line")
    result = serving.wait(within=3600)
    assert (Status.FAILED, "fatal") == (result.status, result.data["kind"])
    assert "Rank 0 scheduler is dead" in result.data["msg"]


@pytest.mark.slow
def test_a_worker_that_dies_ends_the_wait_although_its_launcher_lives(serving):
    serving.launch("--fault", "worker-dies", "--pace", 0.3)
    result = serving.wait(within=3600, ready_line="never written")
    assert (Status.FAILED, "worker") == (result.status, result.data["kind"])
    assert "sglang::scheduler_TP0" in result.data["msg"]


@pytest.mark.slow
def test_an_engine_that_says_it_is_ready_and_generates_nothing_is_not_healthy(serving):
    serving.launch("--fault", "mute")
    result = serving.wait(within=3600, probe={"requests": 1, "seconds": 0.3})
    assert (Status.FAILED, "mute") == (result.status, result.data["kind"])
    assert "generates nothing: /generate: no answer in time" in result.data["msg"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("never-ready", "the ready line never came"),
        ("no-http", "HTTP: refused"),
        ("too-few", "1 of 2 workers"),
    ],
)
def test_a_wait_that_runs_out_says_what_is_missing(serving, fault, said):
    serving.launch("--fault", fault, "--tp", 2)
    result = serving.wait(within=2.0)
    assert (Status.FAILED, "timeout") == (result.status, result.data["kind"])
    assert said in result.data["msg"]


@pytest.mark.slow
def test_a_server_that_logs_less_is_healthy_without_its_line(serving):
    serving.launch("--fault", "never-ready")
    assert Status.OK == serving.wait(ready_line="").status


def test_a_launcher_that_hands_over_and_ends_well_is_not_dead(serving):
    serving.launch("--fault", "steps-aside", settle=0)
    result = serving.wait(workers=0)
    assert Status.OK == result.status, result


@pytest.mark.slow
def test_a_stranger_on_the_port_is_not_taken_for_the_server(serving):
    """An old server answers on the port while the new one never listens there."""
    serving.launch()
    serving.wait()
    serving.launch(name="other", argv=["/bin/sleep", "60"], port=None)
    result = serving.wait(name="other", engine="sglang", port=serving.port, ready_line="", workers=0)
    assert (Status.FAILED, "foreign") == (result.status, result.data["kind"])
    assert f"port {serving.port} is answered by pid" in result.data["msg"]


def test_a_key_on_the_command_line_is_used_to_ask(serving):
    serving.launch("--api-key", "open-sesame")
    assert Status.OK == serving.wait().status


@pytest.mark.slow
def test_a_server_that_nobody_launched_is_watched_over_http_alone(serving):
    serving.launch("--fault", "slow-health")
    result = run_step("wait_healthy", {"port": serving.port, "engine": "sglang", "within": 20}).result
    assert (Status.OK, 200) == (result.status, result.data["http"])


def test_a_name_that_nobody_launched_lists_those_there_are(serving):
    serving.launch()
    result = serving.wait(name="eagle4")
    assert (Status.FAILED, "unknown") == (result.status, result.data["kind"])
    assert "known are eagle3" in result.data["msg"]


def test_nothing_that_tells_of_health_is_no_wait(serving):
    serving.launch(argv=["/bin/sleep", "60"], engine=None)
    assert "nothing tells when eagle3 serves" in serving.wait().data["msg"]


@pytest.mark.slow
def test_check_mode_saves_no_diagnostics(serving):
    serving.launch("--fault", "fatal-line")
    result = serving.wait(check=True, within=60)
    assert Status.FAILED == result.status
    assert not (serving.folder / "cleanslate" / "diagnostics").exists()


@pytest.mark.slow
def test_waiting_ends_no_process_and_leaves_no_thread(serving):
    serving.launch("--fault", "fatal-line")
    before = {thread.name for thread in threading.enumerate()}
    assert "fatal" == serving.wait(within=60).data["kind"]
    assert server_state.alive(serving.state())
    assert before == {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"ready_line": "("}, "is no regular expression"),
        ({"engine": "sgland"}, 'did you mean "sglang"?'),
        ({"within": 0}, "greater than 0"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, said):
    with pytest.raises(InputError) as refused:
        run_step("wait_healthy", {"name": "x", **arguments})
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("literal", "argument"),
    [
        ({"health_path": "/v1/models"}, "health_path"),
        ({"silence": {"lode": 1}}, "silence"),
        ({"engine": "x"}, "engine"),
    ],
)
def test_mistakes_are_found_before_a_host_is_touched(literal, argument):
    assert [argument] == [found[0] for found in step_type("wait_healthy").check(literal)]
