"""Many files written in one call: all of them, or an error that leaves nothing half made beside them."""

import io
from pathlib import Path

import pytest

from cleanslate.remote import trees
from cleanslate.remote.registry import Call, Failed


def entry(path, data, kind="file"):
    return {"path": path, "kind": kind, "size": len(data), "mode": None, "content": True}


def put(folder, contents, **arguments):
    entries = [entry(path, data) for path, data in contents.items()]
    blob = io.BytesIO(b"".join(contents.values()))
    return trees.write(Call(blob=blob), str(folder), entries, **arguments)


def found(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_file_is_in_its_place(tmp_path):
    """More of them than are flushed at once, and than may wait for it."""
    contents = {f"d{number % 7}/f{number}": b"%d" % number for number in range(200)}
    put(tmp_path / "to", contents)
    assert contents == found(tmp_path / "to")


def test_what_was_there_is_backed_up(tmp_path):
    """Each of the files that are replaced, and no other."""
    put(tmp_path, {"a": b"old", "b": b"old"})
    backups = put(tmp_path, {"a": b"new", "b": b"new", "c": b"new"}, backup=True)["backup_files"]
    assert ["a", "b"] == sorted(Path(name).name.split(".")[0] for name in backups)


def test_a_file_that_is_refused_leaves_no_part_of_it_and_is_told(tmp_path):
    """The files before it may be there, whole; nothing lies beside them."""
    with pytest.raises(Failed, match="refused by grep"):
        put(tmp_path, {"a": b"good", "b": b"bad", "c": b"good"}, validate="grep -q good %s")
    assert not [name for name in found(tmp_path) if name.startswith(".cleanslate") or name == "b"]


def test_data_that_ends_early_is_told_and_leaves_no_part(tmp_path):
    """A file that shrank on the controller while it was sent."""
    entries = [entry("a", b"1234"), entry("b", b"1234")]
    with pytest.raises(Failed, match="ended early"):
        trees.write(Call(blob=io.BytesIO(b"1234")), str(tmp_path), entries)
    assert {"a": b"1234"}.items() >= found(tmp_path).items()


def test_a_file_that_cannot_be_put_in_its_place_ends_the_call(tmp_path):
    """A folder stands where the file shall be."""
    (tmp_path / "b").mkdir()
    with pytest.raises(Failed, match="is a folder"):
        put(tmp_path, {"a": b"1", "b": b"2", "c": b"3"})
    assert not [name for name in found(tmp_path) if name.startswith(".cleanslate")]
