"""fetch and tempfile: a file comes to the controller whole, where it is expected; a new one is nobody else's."""

from __future__ import annotations

import pytest

from cleanslate.model import Status
from tests.steps.harness import DirectTarget, run_step


def fetch(arguments, check=False, target=None, **context):
    return run_step("fetch", arguments, check=check, target=target, **context).result


def test_a_file_is_put_below_the_hosts_name_and_its_path_beside_the_playbook(tmp_path):
    (tmp_path / "log").write_text("ready\n")
    result = fetch({"src": f"{tmp_path}/log", "dest": "fetched"}, variables={"playbook_dir": str(tmp_path)})
    expected = tmp_path / "fetched" / "here" / str(tmp_path).lstrip("/") / "log"
    assert (result.data["dest"], expected.read_text()) == (str(expected), "ready\n")


def test_what_is_here_already_is_not_fetched_again(tmp_path):
    (tmp_path / "log").write_text("ready\n")
    calls = []
    for _ in range(2):
        target = DirectTarget()
        fetch({"src": f"{tmp_path}/log", "dest": f"{tmp_path}/mine", "flat": True}, target=target)
        calls.append(target.calls)
    assert calls == [["files.survey", "files.read", "files.read"], ["files.survey"]]


def test_check_mode_brings_nothing_and_shows_what_would_come(tmp_path):
    (tmp_path / "log").write_text("new\n")
    (tmp_path / "mine").write_text("old\n")
    result = fetch({"src": f"{tmp_path}/log", "dest": f"{tmp_path}/mine", "flat": True}, check=True)
    shown = [(diff.header, diff.before, diff.after) for diff in result.diffs]
    assert (result.status, shown) == (Status.CHANGED, [(f"{tmp_path}/mine", "old\n", "new\n")])
    assert (tmp_path / "mine").read_text() == "old\n"


def test_a_large_file_comes_whole_and_leaves_no_part(tmp_path):
    (tmp_path / "big").write_bytes(b"0123456789abcdef" * 500_000)
    (tmp_path / "to").mkdir()
    fetch({"src": f"{tmp_path}/big", "dest": f"{tmp_path}/to/", "flat": True})
    assert [path.name for path in (tmp_path / "to").iterdir()] == ["big"]
    assert (tmp_path / "to" / "big").read_bytes() == (tmp_path / "big").read_bytes()


@pytest.mark.parametrize(("validate", "failed"), [(True, True), (False, False)])
def test_a_file_that_changes_while_it_comes_is_noticed(tmp_path, validate, failed):
    (tmp_path / "log").write_text("one\n")

    class Moving(DirectTarget):
        def call(self, name, arguments, **options):
            if options.get("sink"):
                (tmp_path / "log").write_text("two\n")
            return super().call(name, arguments, **options)

    given = {"src": f"{tmp_path}/log", "dest": f"{tmp_path}/mine", "flat": True, "validate_checksum": validate}
    assert fetch(given, target=Moving()).data["failed"] is failed


def test_a_place_here_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "log").write_text("x")
    (tmp_path / "file").write_text("in the way")
    result = fetch({"src": f"{tmp_path}/log", "dest": f"{tmp_path}/file/mine", "flat": True})
    assert (result.data["failed"], "cannot be written here" in result.data["msg"]) == (True, True)


@pytest.mark.parametrize(("state", "mode"), [("file", "0600"), ("directory", "0700")])
def test_a_temporary_thing_is_for_this_user_alone(tmp_path, state, mode):
    given = {"state": state, "path": str(tmp_path), "prefix": "job-", "suffix": ".tmp"}
    first, second = (run_step("tempfile", given).result for _ in range(2))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert (len(names), first.data["path"] != second.data["path"], first.data["mode"]) == (2, True, mode)
    assert all(name.startswith("job-") and name.endswith(".tmp") for name in names)


def test_no_temporary_thing_is_made_in_check_mode(tmp_path):
    result = run_step("tempfile", {"path": str(tmp_path)}, check=True).result
    assert (result.status, list(tmp_path.iterdir())) == (Status.UNKNOWN, [])
