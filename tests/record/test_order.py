"""`last` is the run that began last, whatever the clock and the time zone did between two runs."""

import time
from datetime import datetime, timezone

import pytest

from cleanslate.model import Event
from cleanslate.record import RunRecord, find_run, list_runs, new_run_id
from cleanslate.record.order import latest_start, place_of
from cleanslate.redaction import Secrets
from cleanslate.runner.bus import Bus


@pytest.fixture
def begin(tmp_path, monkeypatch):
    """Begins a run as `inv play` does, at a moment (UTC) in a time zone, and gives its id."""

    def run(moment, zone="UTC"):
        now = datetime.fromisoformat(moment).replace(tzinfo=timezone.utc).timestamp()
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        monkeypatch.setattr(time, "time", lambda: now)
        run_id = new_run_id("x", tmp_path)
        facts = {"playbook": "x.yml", "started_at": now, "order": place_of(tmp_path, now)}
        record = RunRecord(tmp_path, run_id, facts)
        ended = {"outcome": "ok", "exit_code": 0, "seconds": 1.0, "recap": {}, "stopped_at": None}
        record(Event("run.finished", ended))
        record.close()
        return run_id

    yield run
    monkeypatch.undo()
    time.tzset()


MOMENTS = {
    "as usual": ["2026-01-31T10:00:00", "2026-01-31T10:00:01", "2026-02-01T10:00:00"],
    "two in one second": ["2026-01-31T10:00:00.100", "2026-01-31T10:00:00.200", "2026-01-31T10:00:00.300"],
    "in one moment": ["2026-01-31T10:00:00", "2026-01-31T10:00:00", "2026-01-31T10:00:00"],
    "the clock was an hour ahead": ["2026-01-31T11:00:00", "2026-01-31T10:00:00", "2026-01-31T10:30:00"],
    "the clock was years ahead": ["2031-01-31T11:00:00", "2026-01-31T10:00:00", "2026-01-31T10:30:00"],
    "set back again and again": ["2026-01-31T12:00:00", "2026-01-31T11:00:00", "2026-01-31T10:00:00"],
    "set back, and on again": ["2026-01-31T12:00:00", "2026-01-31T09:00:00", "2026-01-31T12:30:00"],
}


@pytest.mark.parametrize("case", MOMENTS)
def test_the_last_run_is_the_one_that_began_last(begin, tmp_path, case):
    begun = [begin(moment) for moment in MOMENTS[case]]
    assert begun[::-1] == [run.id for run in list_runs(tmp_path)]
    assert [begun[-1], begun[-1]] == [find_run(tmp_path, wanted).name for wanted in ("last", "last-good")]


def test_the_hour_that_comes_twice_in_autumn_comes_once(begin, tmp_path):
    """02:50 in summer time is before 02:10 in winter time."""
    begun = [begin("2026-10-25T00:50:00", "Europe/Berlin"), begin("2026-10-25T01:10:00", "Europe/Berlin")]
    assert ["20261025-025000", "20261025-021000"] == [name[:15] for name in begun]
    assert begun[::-1] == [run.id for run in list_runs(tmp_path)]


def test_who_travels_takes_the_order_along(begin, tmp_path):
    """From Auckland to Honolulu the local time goes back by almost a day."""
    begun = [begin("2026-06-01T10:00:00", "Pacific/Auckland"), begin("2026-06-01T11:00:00", "Pacific/Honolulu")]
    begun += [begin("2026-06-01T12:00:00", "Pacific/Auckland")]
    assert begun[::-1] == [run.id for run in list_runs(tmp_path)]


def test_a_run_says_when_it_began_by_the_clock_of_then(begin, tmp_path):
    """Its place among the others is another fact."""
    begin("2026-01-31T12:00:00")
    last = begin("2026-01-31T11:00:00")
    newest = list_runs(tmp_path)[0]
    assert (last, 3600.0) == (newest.id, round(newest.order - newest.started_at))


def test_only_as_much_is_read_as_it_takes(begin, tmp_path):
    """Runs of days ago are not looked at for the last one."""
    begun = [begin(f"2026-01-{day:02}T10:00:00") for day in range(1, 6)]
    for name in begun[:3]:
        (tmp_path / name / "run.json").write_text('{"summary": {"id": "damaged", "started_at": 1e12}}')
    assert begun[3:] == [run.id for run in list_runs(tmp_path, count=2)][::-1]


@pytest.mark.parametrize("name", ["x", "20260131", "20260131-2215", "20261331-221530-x", "00000131-221530-x"])
def test_a_name_that_is_no_id_may_have_begun_at_any_time(name):
    assert latest_start(name) == float("inf")


def test_setting_the_clock_moves_no_event(monkeypatch):
    """What lies between two events is how long it took."""
    events = []
    bus = Bus(Secrets(), [events.append])
    bus.emit("first.thing")
    monkeypatch.setattr(time, "time", lambda: 0.0)
    bus.emit("next.thing", n={True: 1})
    assert 0.0 <= events[1].at - events[0].at < 3600.0
