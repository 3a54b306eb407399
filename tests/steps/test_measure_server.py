"""measure_server: the numbers are those of the load, failures are not speed, and getting worse is noticed."""

import json

import pytest

from cleanslate.errors import InputError
from cleanslate.model import Status
from cleanslate.remote.measuring import percentile, summed
from cleanslate.steps._measures import compare
from cleanslate.steps.registry import step_type
from tests.steps.harness import run_step
from tests.steps.server_fixtures import free_port

QUICK = {"engine": "sglang", "prompts": ["one", "two"], "max_tokens": 8, "repetitions": 2, "warm_up": 1}


def measure(to, *, folder=None, earlier=None, check=False, **arguments):
    given = {**QUICK, "port": to.port, "within": 20, **arguments}
    if "prompts_file" in given:
        del given["prompts"]
    return run_step("measure_server", given, check=check, folder=folder, earlier=earlier).result


def level(result, concurrency="1"):
    return result.data["metrics"]["levels"][concurrency]


def test_what_is_measured_is_what_the_server_does(engine):
    """8 tokens, 10 ms apart: the time between tokens cannot be less, the speed cannot be more."""
    engine.gap = 0.01
    result = measure(engine)
    one = level(result)
    assert (Status.OK, False, 4, {}, "usage") == (
        result.status,
        result.data["changed"],
        result.data["requests"],
        result.data["errors"],
        result.data["metrics"]["counted"],
    )
    assert one["between_p50"]["low"] >= 0.009
    assert one["tokens_per_second"]["high"] <= 101
    assert one["first_token_p50"]["low"] <= one["request_p50"]["low"]
    assert 2 == one["tokens_per_second"]["rounds"]


def test_several_at_once_are_faster_together(engine):
    """Each waits as long as before, so four give more tokens in the same time."""
    engine.gap = 0.01
    result = measure(engine, concurrency=[1, 4], requests=4, repetitions=1)
    one, four = (level(result, each)["tokens_per_second"]["median"] for each in ("1", "4"))
    assert four > 1.5 * one


def test_pieces_with_several_tokens_are_counted_as_the_server_counts(engine):
    """As with speculation: 4 tokens in a piece; the tokens are those of `usage`, not the pieces."""
    engine.gap, engine.piece = 0.02, 4
    one = level(measure(engine))
    assert one["between_p50"]["median"] < one["gap_p50"]["median"]


def test_a_server_that_tells_no_usage_has_its_pieces_counted_and_that_is_said(engine):
    engine.usage = False
    result = measure(engine)
    assert "pieces" == result.data["metrics"]["counted"]


@pytest.mark.parametrize(
    ("engine_name", "path", "pages", "length"),
    [
        ("sglang", "/get_server_info", ['{"internal_states": [{"avg_spec_accept_length": 3.1}]}'], 3.1),
        ("sglang", "/get_server_info", ['{"internal_states": [{"a": 1}]}'], None),
        (
            "vllm",
            "/metrics",
            [
                "vllm:spec_decode_num_accepted_tokens_total 100\nvllm:spec_decode_num_drafts_total 50\n",
                "vllm:spec_decode_num_accepted_tokens_total 160\nvllm:spec_decode_num_drafts_total 70\n",
            ],
            4.0,
        ),
    ],
)
def test_the_accept_length_is_the_engines(engine, engine_name, path, pages, length):
    """One tells an average, the other counts: there the round's own difference is taken."""
    left = list(pages)
    engine.pages[path] = lambda: left.pop(0) if len(left) > 1 else left[0]
    found = level(measure(engine, engine=engine_name, repetitions=1))["accept_length"]
    assert length == (found and found["median"])


def test_failed_requests_fail_the_step_and_are_told_by_their_reason(engine):
    engine.refuse = 2
    result = measure(engine, warm_up=0)
    assert (Status.FAILED, "errors", 2) == (result.status, result.data["kind"], sum(result.data["errors"].values()))
    assert ["HTTP 503"] == [text[:8] for text in result.data["errors"]]
    assert Status.OK == measure(engine, warm_up=0, errors=2).status


def test_a_stream_that_breaks_off_is_a_failed_request(engine):
    engine.broken = True
    result = measure(engine, warm_up=0)
    assert {"the stream broke off": 4} == result.data["errors"]


@pytest.mark.slow
def test_a_hanging_server_is_left_at_the_limit(engine):
    """However long its requests may take, and with what was known so far."""
    engine.hang = True
    result = measure(engine, within=0.6, warm_up=0)
    assert (Status.FAILED, "timeout", []) == (result.status, result.data["kind"], result.data["levels"])


def test_one_request_has_a_limit_of_its_own(engine):
    engine.hang = True
    result = measure(engine, request_within=0.3, warm_up=0, requests=1, repetitions=1)
    assert {"no answer in time": 1} == result.data["errors"]


def test_a_server_that_is_not_there_is_said_before_any_load():
    given = {**QUICK, "port": free_port()}
    result = run_step("measure_server", given).result
    assert ("failed", True) == (result.data["kind"], "nobody listens" in result.data["msg"])


@pytest.mark.parametrize(
    ("name", "text", "asked"),
    [
        ("p.txt", "first\n\nsecond\n", ["first", "second"]),
        ("p.json", '["first", {"prompt": "second"}]', ["first", "second"]),
        ("p.jsonl", '{"messages": [{"role": "user", "content": "first"}]}\n"second"\n', ["first", "second"]),
    ],
)
def test_prompts_come_from_a_file_of_the_controller(engine, tmp_path, name, text, asked):
    """In their order, each level and round the same."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / name).write_text(text)
    measure(engine, folder=tmp_path, prompts_file=name, warm_up=0, repetitions=1, requests=2)
    assert asked == [body["messages"][0]["content"] for body in engine.bodies]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("p.txt", "\n", "holds no prompt"),
        ("p.json", '{"a": 1}', "no list of prompts"),
        ("p.jsonl", '"a"\n{"x": 1}\n', "prompt 2 of"),
        ("p.jsonl", "{oops\n", "is not JSON"),
    ],
)
def test_a_file_without_prompts_is_refused_by_its_place(engine, tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    result = measure(engine, folder=tmp_path, prompts_file=name)
    assert (Status.FAILED, True, []) == (result.status, said in result.data["msg"], engine.bodies)


def numbers(speed, spread=0.0, load="same"):
    told = {"median": speed, "low": speed - spread, "high": speed + spread, "rounds": 3}
    return {"metrics": {"load": load, "levels": {"1": {"tokens_per_second": told}}}}


@pytest.mark.parametrize(
    ("before", "on_worse", "status"),
    [(1e9, "fail", Status.FAILED), (1e9, "warn", Status.OK), (0.001, "fail", Status.OK)],
)
def test_getting_worse_is_told_or_fails_as_asked(engine, before, on_worse, status):
    earlier = {"last-good": numbers(before)}
    result = measure(engine, earlier=earlier, compare_to="last-good", threshold="10%", on_worse=on_worse)
    assert (status, "last-good") == (result.status, result.data["compared_to"])
    assert [before > 1] == [each["worse"] for each in result.data["comparison"]]


def test_without_an_earlier_run_there_is_nothing_to_compare_and_the_measurement_stands(engine):
    result = measure(engine, compare_to="last-good", on_worse="fail")
    assert (Status.OK, False) == (result.status, "comparison" in result.data)


@pytest.mark.parametrize(
    ("now", "before", "change", "worse", "overlap"),
    [
        (90, 100, -10, False, False),
        (89, 100, -11, True, False),
        (120, 100, 20, False, False),
        (80, 100, -20, True, True),
    ],
)
def test_worse_is_beyond_the_threshold_and_a_spread_that_meets_is_told(now, before, change, worse, overlap):
    spread = 15 if overlap else 1
    [found] = compare(numbers(now, spread)["metrics"], numbers(before, spread)["metrics"], 10)
    assert (change, worse, overlap) == (found["change"], found["worse"], found["overlap"])


def test_check_mode_puts_no_load_on_anything(engine):
    """And does not pretend to know what would have been measured."""
    assert (Status.UNKNOWN, []) == (measure(engine, check=True).status, engine.bodies)


@pytest.mark.parametrize(
    ("values", "share", "found"), [([], 50, None), ([3], 95, 3), ([1, 2], 50, 1.5), (list(range(101)), 95, 95)]
)
def test_percentiles_lie_between_neighbours(values, share, found):
    assert found == percentile(values, share)


def test_a_sum_of_rounds_leaves_out_those_without_a_value():
    assert {"median": 2.0, "low": 1, "high": 3, "rounds": 2} == summed([1, None, 3])
    assert None is summed([None])


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"port": 1, "concurrency": [0]}, "concurrency"),
        ({"port": 1, "prompts": []}, "prompts"),
        ({"port": 1, "prompts": [" "]}, "prompts"),
        ({"port": 1, "threshold": "much"}, "threshold"),
        ({"port": 1, "on_worse": "cry"}, "on_worse"),
        ({"port": 1, "engine": "vlm"}, "engine"),
    ],
)
def test_wrong_arguments_are_refused(arguments, argument):
    with pytest.raises(InputError, match=argument):
        run_step("measure_server", arguments)


def test_a_threshold_without_a_run_to_compare_with_is_told_before_a_host_is_touched():
    found = step_type("measure_server").check({"threshold": 5, "engine": "sglang"})
    assert ["threshold"] == [name for name, *_ in found]


def test_messages_cannot_be_asked_as_plain_completions(engine):
    prompts = [[{"role": "user", "content": "x"}]]
    result = measure(engine, api="completions", prompts=prompts)
    assert (Status.FAILED, []) == (result.status, json.loads(json.dumps(engine.bodies)))
