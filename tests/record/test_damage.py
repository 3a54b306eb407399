"""Full disks, damaged files and strange folders: a clear word, and nothing half-written."""

from __future__ import annotations

import resource
from contextlib import contextmanager

import pytest

from cleanslate.errors import InputError
from cleanslate.model import Event
from cleanslate.record import RunRecord, find_run, list_runs, read_events, read_run
from tests.record.recorded import repository, run, settings


@contextmanager
def no_file_larger_than(size):
    """The kernel refuses to let any file of this process grow beyond that, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def record(folder):
    """A record that tells its trouble."""
    made = RunRecord(folder, "20260131-000000-x-0000", {"playbook": "/x.yml", "started_at": 1.0})
    told = []
    made.on_trouble = told.append
    return made, told


def test_a_full_disk_ends_the_record_with_its_last_whole_event(tmp_path):
    made, told = record(tmp_path)
    with no_file_larger_than(4000):
        for number in range(100):
            made(Event("host.progress", {"number": number, "text": "x" * 300}))
        made(Event("run.finished", {"outcome": "ok", "exit_code": 0, "seconds": 1, "recap": {}, "stopped_at": None}))
    made(Event("host.progress", {"number": "there is room again", "text": ""}))
    made.close()
    events = list(read_events(made.folder))
    assert list(range(len(events))) == [event.data["number"] for event in events]
    assert (1, True) == (len(told), "cannot be written: file too large" in told[0])
    assert (made.folder / "events.jsonl").read_bytes().endswith(b"}\n")
    assert (None, []) == (read_run(made.folder)["outcome"], list(made.folder.glob(".run.json*")))


def test_where_no_record_can_be_kept_nothing_is_begun(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"no record can be kept in .*: not a directory"):
        record(tmp_path / "file")


def test_a_place_that_is_no_folder_is_refused_before_a_host_is_contacted(tmp_path):
    repo = repository(tmp_path)
    (repo / ".runs").touch()
    with pytest.raises(InputError, match="no record can be kept"):
        run(repo)


@pytest.mark.parametrize("line", ["{}", "[]", "x" * 50, '{"kind": "a.b", "at": "now"}', "7"])
def test_a_damaged_line_before_the_last_is_told_and_not_passed_over(tmp_path, line):
    """What came after it would be missing without a word, and resume would do it again."""
    made, _ = record(tmp_path)
    for number in range(3):
        made(Event("host.progress", {"number": number}))
    made.close()
    path = made.folder / "events.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], line, lines[2]]) + "\n")
    found = read_events(made.folder)
    assert 0 == next(found).data["number"]
    with pytest.raises(InputError, match=r"events\.jsonl:2: this line is damaged"):
        next(found)
    path.write_text("\n".join([lines[0], lines[1], line[: len(line) // 2 + 1]]))
    assert [0, 1] == [event.data["number"] for event in read_events(made.folder)]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"summary": 5}', '{"summary": {"id": 7, "hosts": 7}}', "\0\0", "{" * 5000]
)
def test_a_damaged_run_json_spoils_no_list(tmp_path, text):
    repo = repository(tmp_path)
    facts = run(repo)
    strange = repo / ".runs" / "29990101-000000-strange-ffff"
    strange.mkdir()
    (strange / "run.json").write_text(text)
    (repo / ".runs" / "29990101-000000-loop-ffff").symlink_to("29990101-000000-loop-ffff")
    (repo / ".runs" / "stray").touch()
    assert facts["id"] in [one.id for one in list_runs(repo / ".runs")]
    assert facts["id"] == find_run(settings(repo).runs, facts["id"]).name
    with pytest.raises(InputError, match=r"run\.json"):
        read_run(strange)
