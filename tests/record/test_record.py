"""A record reads back whatever happened to its writer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from cleanslate.errors import InputError
from cleanslate.model import Event
from cleanslate.record import RunRecord, find_run, list_runs, new_run_id, read_events, read_run

ENDED = {"outcome": "ok", "exit_code": 0, "seconds": 1.5, "recap": {}, "stopped_at": None}


def record(folder, run_id, **ended):
    """A finished record."""
    made = RunRecord(folder, run_id, {"playbook": "/x/restart.yml", "started_at": 1.0, "user": "me", "check": False})
    made(Event("run.started", {"run": run_id}))
    if ended is not None:
        made(Event("run.finished", {**ENDED, **ended}))
    made.close()
    return made


def test_events_read_back_in_order_with_their_text(tmp_path):
    """Whatever characters an event holds."""
    made = RunRecord(tmp_path, "r1", {})
    sent = [Event("a.b", {"n": number, "text": "ü\n\x00\ud800"}) for number in range(3)]
    for event in sent:
        made(event)
    made.close()
    read = list(read_events(tmp_path / "r1"))
    assert [0, 1, 2] == [event.data["n"] for event in read]
    assert read[0].data["text"].startswith("ü\n\x00")


def test_the_end_of_the_run_is_in_run_json(tmp_path):
    """Outcome, exit code and recap are facts of the run."""
    record(tmp_path, "r1", outcome="failed", exit_code=2)
    facts = read_run(tmp_path / "r1")
    assert ("failed", 2, "r1") == (facts["outcome"], facts["exit_code"], facts["id"])


def test_only_the_owner_may_read_a_record(tmp_path):
    """It holds what hosts answered."""
    record(tmp_path, "r1")
    folder = tmp_path / "r1"
    assert [0o700, 0o600, 0o600] == [
        path.stat().st_mode & 0o777 for path in (folder, folder / "run.json", folder / "events.jsonl")
    ]


def test_a_killed_writer_leaves_every_whole_event(tmp_path):
    """SIGKILL in the middle of writing loses at most the event being written."""
    code = (
        "from pathlib import Path\nfrom cleanslate.record import RunRecord\nfrom cleanslate.model import Event\n"
        f"made = RunRecord(Path({str(tmp_path)!r}), 'r1', {{}})\n"
        "n = 0\n"
        "while True:\n"
        "    made(Event('tick', {'n': n, 'pad': 'x' * 5000})); n += 1\n"
        "    if n == 50: print('go', flush=True)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert b"go\n" == writer.stdout.readline()
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    numbers = [event.data["n"] for event in read_events(tmp_path / "r1")]
    assert list(range(len(numbers))) == numbers
    assert len(numbers) >= 50
    assert list_runs(tmp_path)[0].outcome is None


def test_a_cut_last_line_ends_the_reading_quietly(tmp_path):
    """What was being written when the controller died is left out."""
    record(tmp_path, "r1")
    with (tmp_path / "r1" / "events.jsonl").open("a") as events:
        events.write('{"at": 1, "kind": "half')
    assert ["run.started", "run.finished"] == [event.kind for event in read_events(tmp_path / "r1")]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("20260101-b", "20260101-b"),
        ("20260102", "20260102-c"),
        ("last", "20260103-d"),
        ("last-good", "20260102-c"),
        ("last-failed", "20260103-d"),
        ("restart@-1", "20260103-d"),
        ("restart@-2", "20260102-c"),
        ("@-3", "20260101-b"),
    ],
)
def test_runs_are_found_by_id_prefix_and_place(tmp_path, wanted, found):
    """As git finds commits."""
    record(tmp_path, "20260101-a")
    record(tmp_path, "20260101-b")
    record(tmp_path, "20260102-c")
    record(tmp_path, "20260103-d", outcome="failed", exit_code=2)
    assert found == find_run(tmp_path, wanted).name


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("20260101", '"20260101" could be 2 runs'),
        ("20260101-bb", 'did you mean "20260101-b"?'),
        ("last-god", 'did you mean "last-good"?'),
        ("restart@-9", "2 of the 2 runs match"),
        ("restart@x", "how far to go back"),
    ],
)
def test_a_run_that_is_not_there_is_told_apart(tmp_path, wanted, said):
    """With what it could have been."""
    record(tmp_path, "20260101-a")
    record(tmp_path, "20260101-b")
    with pytest.raises(InputError) as refused:
        find_run(tmp_path, wanted)
    assert said in str(refused.value)


def test_ids_sort_by_time_and_name_the_playbook(tmp_path):
    """Odd characters of a playbook's name do not get into a folder's name."""
    run_id = new_run_id("../we ird\n", tmp_path)
    assert run_id.split("-", 2)[2].startswith("we-ird-")
    assert "/" not in run_id


def test_a_foreign_folder_is_passed_over(tmp_path):
    """A folder that is no record, or one that cannot be read, does not break the list."""
    record(tmp_path, "r1")
    (tmp_path / "junk").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    assert ["r1"] == [summary.id for summary in list_runs(tmp_path)]


def test_json_lines_are_json(tmp_path):
    """Each line of the record stands alone."""
    record(tmp_path, "r1")
    lines = (tmp_path / "r1" / "events.jsonl").read_text().splitlines()
    assert ["run.started", "run.finished"] == [json.loads(line)["kind"] for line in lines]
