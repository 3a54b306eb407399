"""A file is written whole or not at all, and keeps what it had."""

import errno
import io
import os
import threading
from pathlib import Path

import pytest

from cleanslate.remote import atomic, files
from cleanslate.remote.registry import Call, Failed


def write(path, data, **arguments):
    return files.write(Call(blob=io.BytesIO(data)), str(path), **arguments)


def leftovers(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".cleanslate")]


def test_a_reader_sees_the_old_or_the_new_file_and_nothing_between(tmp_path):
    path, seen, done = tmp_path / "f", set(), threading.Event()
    contents = [letter * 300_000 for letter in (b"a", b"b")]
    path.write_bytes(contents[0])

    def read():
        while not done.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(20):
        write(path, contents[number % 2])
    done.set()
    reader.join()
    assert seen - set(contents) == set()


def test_mode_and_extended_attributes_stay(tmp_path):
    path = tmp_path / "f"
    path.write_text("old")
    path.chmod(0o751)
    os.setxattr(path, "user.note", b"mine")
    write(path, b"new")
    assert (path.read_text(), path.stat().st_mode & 0o7777, os.getxattr(path, "user.note")) == ("new", 0o751, b"mine")


def test_the_new_file_is_never_readable_for_others_before_it_may_be(tmp_path, monkeypatch):
    """Its content is written before its mode is opened."""
    modes = []
    real = atomic._copy
    monkeypatch.setattr(
        atomic,
        "_copy",
        lambda source, out: (modes.append(os.fstat(out.fileno()).st_mode & 0o777), real(source, out))[1],
    )
    write(tmp_path / "f", b"secret", mode="0644")
    assert modes == [0o600]


@pytest.mark.parametrize("digest", ["absent", "0" * 40, "0" * 64])
def test_a_file_that_somebody_else_changed_meanwhile_is_left_alone(tmp_path, digest):
    path = tmp_path / "f"
    path.write_text("theirs")
    with pytest.raises(Failed, match="changed by somebody else") as refused:
        write(path, b"ours", expect_digest=digest)
    assert (refused.value.kind, path.read_text(), leftovers(tmp_path)) == ("changed", "theirs", [])


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_a_file_that_is_as_expected_is_written(tmp_path, algorithm):
    path = tmp_path / "f"
    path.write_text("old")
    write(path, b"new", expect_digest=atomic.digest_of(path, algorithm))
    assert path.read_text() == "new"


def test_a_refused_file_leaves_nothing_and_tells_what_the_command_said(tmp_path):
    path = tmp_path / "f"
    path.write_text("good")
    with pytest.raises(Failed, match="refused by sh") as refused:
        write(path, b"bad", validate="sh -c 'echo no; echo why >&2; exit 3' %s")
    told = {key: refused.value.details[key] for key in ("exit_status", "stdout", "stderr")}
    assert told == {"exit_status": 3, "stdout": "no\n", "stderr": "why\n"}
    assert (path.read_text(), leftovers(tmp_path)) == ("good", [])


@pytest.mark.parametrize(
    ("command", "words"),
    [("true", "needs %s"), ("/no/such/program %s", "no such file")],
)
def test_a_validation_that_cannot_be_made_is_refused(tmp_path, command, words):
    with pytest.raises(Failed, match=words):
        write(tmp_path / "f", b"x", validate=command)
    assert not (tmp_path / "f").exists()


def test_a_backup_has_the_old_content_mode_and_time(tmp_path):
    path = tmp_path / "f"
    path.write_text("old")
    path.chmod(0o640)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    kept = Path(write(path, b"new", backup=True)["backup_file"])
    info = kept.stat()
    assert (kept.read_text(), info.st_mode & 0o777, info.st_mtime) == ("old", 0o640, 1_700_000_000)
    assert kept.name.startswith("f.") and kept.name.endswith("~")


def test_where_a_file_cannot_be_replaced_it_is_overwritten_only_if_asked_for(tmp_path, monkeypatch):
    """A file that is a mount point, as in a container, cannot be renamed over."""
    path = tmp_path / "f"
    path.write_text("old")

    def busy(source, target):
        raise OSError(errno.EBUSY, "busy", source, None, target)

    monkeypatch.setattr(os, "rename", busy)
    with pytest.raises(Failed, match="busy"):
        write(path, b"new")
    assert (path.read_text(), leftovers(tmp_path)) == ("old", [])
    inode = path.stat().st_ino
    write(path, b"new", unsafe=True)
    assert (path.read_text(), path.stat().st_ino, leftovers(tmp_path)) == ("new", inode, [])


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("folder", "wrong", "is a folder"),
        ("no/f", "missing", "does not exist"),
        ("file/f", "missing", "does not exist"),
    ],
)
def test_a_place_where_no_file_can_be_is_told_in_words(tmp_path, name, kind, words):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(Failed, match=words) as refused:
        write(tmp_path / name, b"x")
    assert refused.value.kind == kind


def test_a_link_is_replaced_or_followed(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to("real")
    write(link, b"through", follow=True)
    assert (real.read_text(), link.is_symlink()) == ("through", True)
    write(link, b"in its place")
    assert (real.read_text(), link.read_text(), link.is_symlink()) == ("through", "in its place", False)
