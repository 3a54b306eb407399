"""wait_drained: no request under way means that the server says so; what it does not say is never taken for zero."""

import json
import socket

import pytest

from cleanslate.errors import InputError
from cleanslate.model import Status
from cleanslate.remote.profiles import PROFILES
from cleanslate.steps._engines import LOAD
from cleanslate.steps.registry import step_type
from tests.steps.harness import run_step
from tests.steps.server_fixtures import free_port


def drained(to, **arguments):
    given = {"engine": "sglang", "port": to.port, "within": 5, "settle": 0.05, **arguments}
    return run_step("wait_drained", given).result


def counting_down(*counts):
    """A page that gives one count after the other, and the last one for ever."""
    left = list(counts)

    def page():
        count = left.pop(0) if len(left) > 1 else left[0]
        return json.dumps([{"dp_rank": 0, "num_reqs": count, "num_waiting_reqs": 0}])

    return page


VLLM = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} %s
vllm:num_requests_running{engine="1",model_name="m"} %s
vllm:num_requests_waiting{engine="0",model_name="m"} %s
"""


def test_it_waits_until_the_last_request_has_ended(engine):
    """The most that were seen is told, and the source that told it."""
    engine.pages["/get_load"] = counting_down(3, 2, 0)
    result = drained(engine)
    assert (Status.OK, 0, 3, "/get_load", True) == (
        result.status,
        *(result.data[key] for key in ("in_flight", "most", "source", "serving")),
    )


def test_a_moment_between_two_requests_is_not_the_end(engine):
    """A single zero between others is not believed."""
    engine.pages["/get_load"] = counting_down(1, 0, 2, 0)
    assert 2 == drained(engine, settle=0.15).data["most"]


def test_requests_that_stay_fail_it_with_their_number(engine):
    engine.pages["/get_load"] = counting_down(2)
    result = drained(engine, within=0.4)
    assert (Status.FAILED, "timeout", 2) == (result.status, result.data["kind"], result.data["in_flight"])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (VLLM % (0, 0, 0), None),
        (VLLM % (0, 1, 0), "timeout"),
        (VLLM % (0, 0, 4), "timeout"),
        (VLLM % (0, "NaN", 0), "unsupported"),
        ("vllm:num_requests_running 0\n", "unsupported"),
        ("", "unsupported"),
    ],
)
def test_vllm_is_read_from_its_metrics_and_what_is_missing_is_not_zero(engine, text, kind):
    """Added over the ranks; a name that is not there, or no number, is unknown."""
    engine.pages["/metrics"] = text
    assert kind == drained(engine, engine="vllm", within=0.6).data.get("kind")


@pytest.mark.parametrize("page", [(503, "{}"), (200, "no JSON")])
def test_a_server_that_does_not_tell_is_unknown_at_the_end(engine, page):
    """503, an answer that cannot be read: nothing of it is zero."""
    engine.pages |= {"/v1/loads": page, "/get_load": page, "/metrics": page if page[0] == 503 else (503, "")}
    result = drained(engine, within=0.4)
    assert (Status.FAILED, "unknown", None) == (result.status, result.data["kind"], result.data["in_flight"])


def test_a_server_without_the_paths_says_how_to_switch_them_on(engine):
    result = drained(engine, within=30)
    assert ("unsupported", "launch it with --enable-metrics") == (result.data["kind"], result.fix)


@pytest.mark.slow
def test_a_hanging_server_does_not_outlast_the_limit():
    """It takes the connection and never answers."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        given = {"engine": "sglang", "port": door.getsockname()[1], "within": 0.5}
        result = run_step("wait_drained", given).result
    assert ("unknown", True) == (result.data["kind"], "timeout" in str(result.data["said"]))


def test_where_no_server_is_there_is_nothing_to_drain():
    """Nobody listens, and no launch lives: ok, and it is said, with no number."""
    result = run_step("wait_drained", {"engine": "sglang", "port": free_port()}).result
    assert (Status.OK, False, None) == (result.status, result.data["serving"], result.data["in_flight"])


@pytest.mark.slow
def test_a_launch_that_lives_and_does_not_listen_yet_is_not_nothing(serving):
    """Its process is there, so it may well have requests in a moment."""
    serving.launch("--fault", "no-http")
    result = run_step("wait_drained", {"name": "eagle3", "within": 0.4}).result
    assert "unknown" == result.data["kind"]


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"engine": "sglanf"}, "engine"),
        ({"port": 70000}, "port"),
        ({"name": "x", "within": 0}, "within"),
        ({"name": "x", "until": 3}, "until"),
    ],
)
def test_wrong_arguments_are_refused(arguments, argument):
    with pytest.raises(InputError, match=argument):
        run_step("wait_drained", arguments)


def test_an_engine_that_tells_nothing_is_refused_before_a_host_is_touched():
    check = step_type("wait_drained").check
    assert [("engine", "ollama tells nobody how many requests it has")] == [
        found[:2] for found in check({"engine": "ollama"})
    ]
    assert [] == check({"engine": "{{ engine }}"})


def test_the_engines_that_are_known_to_tell_are_those_of_the_profiles():
    assert LOAD == tuple(name for name, profile in PROFILES.items() if profile.get("load"))
