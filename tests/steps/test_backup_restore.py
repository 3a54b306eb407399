"""backup_file and restore_file: what was there comes back by name, and doing it twice changes nothing."""

import os
from pathlib import Path

import pytest

from cleanslate.errors import InputError
from cleanslate.model import Status
from cleanslate.remote import backups
from tests.steps.harness import run_step


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "server.yml"
    path.write_text("one")
    path.chmod(0o640)
    return path


def backup(file, **more):
    return run_step("backup_file", {"path": str(file), **more}).result


def restore(file, **more):
    return run_step("restore_file", {"path": str(file), **more}).result


def test_a_backup_holds_content_mode_and_time(file):
    os.utime(file, (1000, 1000))
    made = backup(file)
    kept = file.with_name(Path(made.data["backup"]).name)
    assert Status.CHANGED == made.status
    assert ("one", 0o640, 1000) == (kept.read_text(), kept.stat().st_mode & 0o777, int(kept.stat().st_mtime))


def test_a_second_backup_of_the_same_content_is_not_made(file):
    first, second = backup(file), backup(file)
    assert (Status.OK, first.data["backup"]) == (second.status, second.data["backup"])


def test_backups_come_back_by_name_time_and_place(file):
    stamps = []
    for text, name in [("one", None), ("two", "good"), ("three", None)]:
        file.write_text(text)
        backup(file, **({"name": name} if name else {}))
        stamps.append(backups.found(str(file))[-1]["stamp"])
    file.write_text("four")
    texts = []
    for name in ("first", "good", "last", stamps[0]):
        assert Status.CHANGED == restore(file, name=name).status
        texts.append(file.read_text())
    assert ["one", "two", "three", "one"] == texts


def test_the_newest_of_one_name_counts(file):
    backup(file, name="good")
    file.write_text("two")
    backup(file, name="good")
    file.write_text("three")
    restore(file, name="good")
    assert "two" == file.read_text()


def test_restoring_twice_is_unchanged(file):
    backup(file)
    file.write_text("two")
    assert [Status.CHANGED, Status.OK] == [restore(file).status, restore(file).status]
    assert 0o640 == file.stat().st_mode & 0o777


def test_a_file_that_is_gone_comes_back(file):
    backup(file)
    file.unlink()
    restored = restore(file)
    assert ("one", None, "one") == (file.read_text(), restored.diffs[0].before, restored.diffs[0].after)


def test_check_mode_makes_and_restores_nothing(file):
    assert Status.CHANGED == run_step("backup_file", {"path": str(file)}, check=True).result.status
    assert [file] == list(file.parent.iterdir())
    backup(file)
    file.write_text("two")
    foretold = run_step("restore_file", {"path": str(file)}, check=True).result
    assert (Status.CHANGED, "two") == (foretold.status, file.read_text())


def test_a_backup_with_a_name_survives_the_keeping_of_the_newest(file):
    backup(file, name="good")
    for number in range(4):
        file.write_text(str(number))
        backup(file, keep=2)
    assert ["good", None, None] == [each["label"] for each in backups.found(str(file))]


def test_a_name_that_no_backup_has_lists_those_there_are(file):
    backup(file, name="good")
    failed = restore(file, name="better")
    assert (Status.FAILED, "missing") == (failed.status, failed.data["kind"])
    assert 'no backup "better"; there are good' in failed.data["msg"]


def test_a_link_is_backed_up_by_content_and_replaced_or_followed(file):
    link = file.with_name("link.yml")
    link.symlink_to(file.name)
    backup(link)
    file.write_text("two")
    restore(link, follow=True)
    assert ("one", True) == (file.read_text(), link.is_symlink())
    file.write_text("two")
    restore(link)
    assert ("two", "one", False) == (file.read_text(), link.read_text(), link.is_symlink())


@pytest.mark.parametrize(("make", "said"), [(None, "does not exist"), ("nowhere", "leads nowhere")])
def test_what_is_not_there_cannot_be_backed_up(tmp_path, make, said):
    path = tmp_path / "x"
    if make:
        path.symlink_to(make)
    failed = backup(path)
    assert (Status.FAILED, True) == (failed.status, said in failed.data["msg"])


@pytest.mark.parametrize("name", ["last", "first", "a.b", "../x", "1st", "x" * 41])
def test_a_name_that_could_be_misread_is_refused(file, name):
    with pytest.raises(InputError):
        backup(file, name=name)
