"""What a step gave in an earlier run is found by name, type and host, in the run that is meant."""

import json

import pytest

from cleanslate.errors import InputError
from cleanslate.record.earlier import earlier_result


def write_run(runs, name, outcome, measured, *, check=False, host="a", step="Measure"):
    folder = runs / name
    folder.mkdir(parents=True)
    facts = {"id": name, "playbook": "p.yml", "started_at": 1.0, "outcome": outcome, "check": check, "hosts": [host]}
    (folder / "run.json").write_text(json.dumps(facts))
    events = [
        {"kind": "step.started", "at": 1.0, "step": 1, "name": "Other", "type": "debug", "hosts": [host]},
        {"kind": "host.finished", "at": 1.0, "step": 1, "host": host, "status": "ok", "result": {"value": 0}},
        {"kind": "step.started", "at": 1.0, "step": 2, "name": step, "type": "measure_server", "hosts": [host]},
    ]
    if measured is not None:
        finished = {"kind": "host.finished", "at": 2.0, "step": 2, "host": host, "status": "ok"}
        events.append({**finished, "result": {"value": measured}})
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


@pytest.fixture
def runs(tmp_path):
    write_run(tmp_path, "20260101-000000-p-aaaa", "ok", 1)
    write_run(tmp_path, "20260102-000000-p-bbbb", "failed", 2)
    write_run(tmp_path, "20260103-000000-p-cccc", "ok", None)
    write_run(tmp_path, "20260104-000000-p-dddd", "ok", 4, check=True)
    write_run(tmp_path, "20260105-000000-p-eeee", None, 5)
    return tmp_path


@pytest.mark.parametrize(
    ("wanted", "step", "kind", "host", "value"),
    [
        ("last-good", "Measure", "measure_server", "a", 1),
        ("last", "Measure", "measure_server", "a", 2),
        ("20260102", "Measure", "measure_server", "a", 2),
        ("20260103", "Measure", "measure_server", "a", None),
        ("last-good", "Measure", "measure_server", "b", None),
        ("last-good", "Measured", "measure_server", "a", None),
        ("last-good", "Other", "measure_server", "a", None),
    ],
)
def test_the_run_that_is_meant_is_the_one_that_has_the_result(runs, wanted, step, kind, host, value):
    """Runs in check mode, the one that asks, and those without the step are passed over."""
    found = earlier_result(runs, wanted, step, kind, host, besides="20260105-000000-p-eeee")
    assert value == (found and found[1]["value"])


def test_a_run_that_does_not_exist_is_said(runs):
    with pytest.raises(InputError, match="there is no run"):
        earlier_result(runs, "2025", "Measure", "measure_server", "a", besides="x")


def test_a_step_that_is_included_twice_under_two_names_is_told_apart(tmp_path):
    """It has the same number both times."""
    write_run(tmp_path, "20260101-000000-p-aaaa", "ok", 1, step="Measure the plain one")
    again = [
        {"kind": "step.started", "at": 3.0, "step": 2, "name": "Measure the fast one", "type": "measure_server"},
        {"kind": "host.finished", "at": 4.0, "step": 2, "host": "a", "status": "ok", "result": {"value": 2}},
    ]
    with (tmp_path / "20260101-000000-p-aaaa" / "events.jsonl").open("a") as events:
        events.write("".join(json.dumps(event) + "\n" for event in again))
    names = ("Measure the plain one", "Measure the fast one")
    found = [earlier_result(tmp_path, "last-good", name, "measure_server", "a", besides="x") for name in names]
    assert [1, 2] == [result["value"] for _, result in found]
