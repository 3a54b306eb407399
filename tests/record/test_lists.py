"""`inv runs` and `inv show`: which records are listed, and what is shown of one."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from cleanslate.cli.runs import show_run, show_runs, since_when
from cleanslate.errors import InputError
from cleanslate.model import Event
from cleanslate.record import RunRecord, Wanted, list_runs, read_run
from tests.record.recorded import settings

RUNS = {
    "20260101-000000-stop-1": ("stop", ["a"], "ok", 100.0),
    "20260102-000000-restart-2": ("restart", ["a", "b"], "failed", 200.0),
    "20260103-000000-restart-3": ("restart", ["b"], None, 300.0),
}


def step(number, name):
    """The start of a step on two hosts."""
    return Event(
        "step.started", {"step": number, "name": name, "type": "debug", "origin": "x.yml:1", "hosts": ["a", "b"]}
    )


def done(number, host, said):
    """Its end on one of them."""
    data = {"step": number, "host": host, "delegate": None, "status": "ok", "ignored": False, "seconds": 0.0}
    more = {"result": {"msg": said}, "diffs": [], "changes": [], "fix": None, "warnings": [], "args": {"msg": said}}
    return Event("host.finished", {**data, **more})


@pytest.fixture
def kept(tmp_path):
    """Three records: one good, one failed, one that did not end; the settings that lead to them."""
    for run_id, (playbook, hosts, outcome, at) in RUNS.items():
        facts = {"playbook": f"/r/playbooks/{playbook}.yml", "started_at": at, "user": "me", "check": False}
        record = RunRecord(tmp_path / ".runs", run_id, facts)
        record(Event("play.started", {"play": 0, "name": "p", "hosts": hosts, "origin": "x.yml:1"}))
        for event in (
            step(1, "First things"),
            done(1, "a", "one"),
            done(1, "b", "two"),
            step(2, "Next"),
            done(2, "a", "3"),
        ):
            record(event)
        if outcome:
            ended = {"exit_code": 0, "seconds": 1.5, "recap": {}, "stopped_at": None, "run": run_id}
            record(Event("run.finished", {"outcome": outcome, **ended}))
        record.close()
    return settings(tmp_path)


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (Wanted(), "321"),
        (Wanted(playbook="restart"), "32"),
        (Wanted(playbook="st*"), "1"),
        (Wanted(playbook="/r/playbooks/stop.yml"), "1"),
        (Wanted(host="a"), "21"),
        (Wanted(host="[bc]"), "32"),
        (Wanted(outcome="failed"), "2"),
        (Wanted(outcome="none"), "3"),
        (Wanted(since=200.0), "32"),
        (Wanted(playbook="restart", host="a", outcome="ok"), ""),
    ],
)
def test_runs_are_listed_by_what_is_asked(kept, wanted, numbers):
    """The newest first; a host or playbook by name or pattern."""
    assert numbers == "".join(run.id[-1] for run in list_runs(kept.runs, wanted))


def test_no_more_is_read_than_is_listed(kept):
    """The newest two do not need the oldest, which is broken."""
    (kept.runs / "20260101-000000-stop-1" / "run.json").write_text("{")
    assert "32" == "".join(run.id[-1] for run in list_runs(kept.runs, count=2))


def test_a_summary_with_very_many_hosts_is_listed_all_the_same(tmp_path):
    """It does not fit into what is read of others."""
    hosts = [f"host-{number}.example.org" for number in range(2000)]
    record = RunRecord(tmp_path, "r1", {"playbook": "x.yml", "started_at": 1.0})
    record(Event("play.started", {"play": 0, "name": "p", "hosts": hosts, "origin": "x.yml:1"}))
    record.close()
    assert [hosts] == [run.hosts for run in list_runs(tmp_path, Wanted(host="host-1999*"))]


def test_a_record_of_a_newer_form_is_refused(kept):
    """Rather than read wrongly."""
    path = kept.runs / "20260101-000000-stop-1" / "run.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 99'))
    with pytest.raises(InputError, match="newer cleanslate"):
        read_run(path.parent)


def test_the_list_for_people_has_a_line_a_run(kept, capsys):
    """Id, time, seconds, outcome, hosts, person."""
    show_runs(kept, Wanted(), 2, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert ["20260103-000000-restart-3", "20260102-000000-restart-2"] == [line.split()[0] for line in lines]
    assert "not ended" in lines[0] and lines[1].endswith("1.5s  failed       a,b  me")


def test_the_list_for_programs_has_everything(kept, capsys):
    """And where the record lies."""
    show_runs(kept, Wanted(outcome="ok"), 0, as_json=True)
    (found,) = json.loads(capsys.readouterr().out)
    assert ("ok", ["a"], str(kept.runs / "20260101-000000-stop-1")) == (
        found["outcome"],
        found["hosts"],
        found["folder"],
    )


NOW = datetime(2026, 1, 31, 12, 0)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("90s", datetime(2026, 1, 31, 11, 58, 30)),
        ("3h", datetime(2026, 1, 31, 9, 0)),
        ("1.5d", datetime(2026, 1, 30, 0, 0)),
        ("2w", datetime(2026, 1, 17, 12, 0)),
        ("today", datetime(2026, 1, 31)),
        ("yesterday", datetime(2026, 1, 30)),
        ("2026-01-05", datetime(2026, 1, 5)),
        ("2026-01-05 14:00", datetime(2026, 1, 5, 14)),
    ],
)
def test_times_are_written_as_people_do(text, when):
    """So long ago, a day, or a point in time."""
    assert when.timestamp() == since_when(text, NOW)


def test_what_is_no_time_is_refused():
    """With what would be one."""
    with pytest.raises(InputError, match='"teatime" is no time'):
        since_when("teatime", NOW)


@pytest.mark.parametrize(
    ("step", "host", "shown"),
    [
        (None, None, ["one", "two", "3"]),
        ("1", None, ["one", "two"]),
        ("first*", None, ["one", "two"]),
        ("Next", None, ["3"]),
        (None, "a", ["one", "3"]),
        ("First things", "b", ["two"]),
    ],
)
def test_a_run_is_shown_whole_or_in_part(kept, capsys, step, host, shown):
    """A step by number, name or pattern; a host."""
    show_run(kept, "last", step=step, host=host, as_json=True, verbosity=0)
    told = json.loads(capsys.readouterr().out)["events"]
    assert shown == [event["result"]["msg"] for event in told if event["kind"] == "host.finished"]


def test_one_step_is_shown_with_its_arguments(kept, capsys):
    """Who asks for it wants to know."""
    show_run(kept, "last", step="Next", host=None, as_json=False, verbosity=0)
    assert 'called with {"msg": "3"}' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("step", "host", "said"),
    [("Nxt", None, 'no step "Nxt"; did you mean "Next"?'), ("Next", "b", 'nothing of host "b"'), (None, "c", "a, b")],
)
def test_what_is_not_there_is_said_with_what_is(kept, step, host, said):
    """And nothing is shown."""
    with pytest.raises(InputError) as refused:
        show_run(kept, "last", step=step, host=host, as_json=False, verbosity=0)
    assert said in str(refused.value)


def test_a_run_that_did_not_end_says_so(kept, capsys):
    """It goes on, or its controller was killed."""
    show_run(kept, "last", step=None, host=None, as_json=False, verbosity=0)
    assert "this run has not ended in order" in capsys.readouterr().out
