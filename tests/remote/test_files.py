"""The calls on files: what a survey foretells is what is made; errors have a kind and a sentence."""

import grp
import io
import os
import pwd
import subprocess

import pytest

from cleanslate.remote import attributes, copies, fileflags, files, links, oserrors, trees
from cleanslate.remote.registry import Call, Failed


@pytest.fixture(autouse=True)
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def survey(path, **arguments):
    return files.survey(Call(), str(path), **arguments)[0]


def described(answer, names=("mode", "uid", "gid", "owner", "group")):
    return {name: answer[name] for name in names}


@pytest.mark.parametrize("mode", [None, "0600", "g+w", "u=rwx,go=rx", "+x"])
@pytest.mark.parametrize("parent", [0o755, 0o2775])
def test_a_new_file_gets_what_the_survey_foretold(tmp_path, mode, parent):
    """Also in a folder that hands its group down."""
    tmp_path.chmod(parent)
    path = tmp_path / "f"
    foretold = survey(path, wanted={"mode": mode})
    made = files.write(Call(blob=io.BytesIO(b"x")), str(path), mode=mode)
    assert described(foretold["after"]) == described(made)


@pytest.mark.parametrize("mode", [None, "0700", "g-x"])
@pytest.mark.parametrize("parent", [0o755, 0o2775])
def test_a_new_folder_gets_what_the_survey_foretold(tmp_path, mode, parent):
    tmp_path.chmod(parent)
    path = tmp_path / "d"
    foretold = survey(path, wanted={"mode": mode}, directory=True)
    made = files.make_directory(Call(), str(path), mode=mode)
    assert described(foretold["after"]) == described(made)


def test_a_survey_gives_the_content_only_where_it_is_another(tmp_path):
    path = tmp_path / "f"
    path.write_text("text")
    digest = survey(path, digest=True)["digest"]
    same = files.survey(Call(), str(path), digest=True, content=100, unless=digest)
    other = files.survey(Call(), str(path), digest=True, content=100, unless="another")
    large = files.survey(Call(), str(path), digest=True, content=3, unless="another")
    assert (same[1], other[1], large[1], large[0]["cut"]) == (b"", b"text", b"", 4)


def test_a_survey_does_not_digest_a_file_of_another_size(tmp_path):
    (tmp_path / "f").write_text("text")
    assert survey(tmp_path / "f", digest=True, size=5)["digest"] is None


@pytest.mark.parametrize(
    ("dest", "name", "expected"),
    [("d", "f", "d/f"), ("d/", "f", "d/f"), ("new/", "f", "new/f"), ("new", "f", "new"), ("d", None, "d")],
)
def test_a_file_goes_into_a_folder_under_its_name(tmp_path, dest, name, expected):
    (tmp_path / "d").mkdir()
    assert survey(f"{tmp_path}/{dest}", name=name)["path"] == str(tmp_path / expected)


def test_paths_are_expanded_where_they_are_used(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PLACE", "here")
    files.write(Call(blob=io.BytesIO(b"x")), "~/$PLACE")
    assert (tmp_path / "here").read_text() == "x"


def test_owner_and_group_are_known_by_name_and_number():
    me, mine = pwd.getpwuid(os.getuid()), grp.getgrgid(os.getgid())
    assert attributes.user_id(me.pw_name) == attributes.user_id(str(me.pw_uid)) == me.pw_uid
    assert attributes.group_id(mine.gr_name) == attributes.group_id(str(mine.gr_gid)) == mine.gr_gid


@pytest.mark.parametrize(("what", "look"), [("user", attributes.user_id), ("group", attributes.group_id)])
def test_nobody_of_that_name_is_said_so(what, look):
    with pytest.raises(Failed, match=f'there is no {what} "nobody-such"'):
        look("nobody-such")


@pytest.mark.parametrize(
    ("number", "kind"),
    [(2, "missing"), (13, "denied"), (1, "denied"), (30, "denied"), (28, "full"), (17, "exists"), (5, "wrong")],
)
def test_every_error_of_the_system_has_a_kind_and_names_the_path(number, kind):
    failed = oserrors.failed(OSError(number, os.strerror(number), "/the/path"))
    assert (failed.kind, failed.message) == (kind, f"/the/path: {os.strerror(number).lower()}")


def test_reading_gives_a_file_whole_or_in_parts(tmp_path):
    (tmp_path / "f").write_bytes(b"0123456789")
    _, stream = files.read(Call(), str(tmp_path / "f"))
    with stream:
        whole = stream.read()
    part = files.read(Call(), str(tmp_path / "f"), offset=3, limit=4)[1]
    assert (whole, part) == (b"0123456789", b"3456")


@pytest.mark.parametrize(("name", "kind"), [("nope", "missing"), ("d", "wrong")])
def test_reading_what_is_no_file_is_refused(tmp_path, name, kind):
    (tmp_path / "d").mkdir()
    with pytest.raises(Failed) as refused:
        files.read(Call(), str(tmp_path / name))
    assert refused.value.kind == kind


def test_an_argument_that_is_no_attribute_is_our_own_mistake(tmp_path):
    with pytest.raises(TypeError, match="no such argument: moode"):
        files.set_attributes(Call(), str(tmp_path), moode="0600")


def test_a_link_is_put_in_place_in_one_move(tmp_path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "l").symlink_to("nowhere")
    links.make(Call(), str(tmp_path / "l"), "a")
    links.make(Call(), str(tmp_path / "h"), "a", hard=True)
    links.make(Call(), str(tmp_path / "h"), "a", hard=True)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert ((tmp_path / "l").readlink().name, (tmp_path / "a").stat().st_nlink, names) == ("a", 2, ["a", "h", "l"])


def test_files_that_were_sent_short_are_not_written(tmp_path):
    """The controller's file shrank while it was being sent."""
    entries = [{"path": "f", "kind": "file", "size": 10, "sha1": "", "mode": None, "content": True}]
    with pytest.raises(Failed, match="ended early"):
        trees.write(Call(blob=io.BytesIO(b"short")), str(tmp_path / "to"), entries)
    assert list((tmp_path / "to").iterdir()) == []


def test_a_folder_is_not_copied_into_itself(tmp_path):
    (tmp_path / "d").mkdir()
    with pytest.raises(Failed, match="is inside"):
        copies.copy_folder(Call(), str(tmp_path / "d"), str(tmp_path / "d"))


def test_the_root_of_all_files_is_not_removed(tmp_path):
    (tmp_path / "root").symlink_to("/")
    for path in ("/", "//", "/tmp/.."):
        with pytest.raises(Failed, match="root of all files"):
            files.remove(Call(), path)


def test_flags_are_those_that_chattr_sets(tmp_path):
    """Where the file system has flags at all; elsewhere that is said."""
    path = tmp_path / "f"
    path.touch()
    known = fileflags.flags(str(path))
    if known is None:
        with pytest.raises(Failed, match="cannot be set"):
            files.set_attributes(Call(), str(path), attributes="+A")
        return
    found = files.set_attributes(Call(), str(path), attributes="+A")["changes"]
    told = subprocess.run(["lsattr", str(path)], capture_output=True, text=True).stdout.split()[0]
    assert (found["attributes"][0], "A" in told, "A" in fileflags.flags(str(path))[0]) == (known[0], True, True)
    assert files.set_attributes(Call(), str(path), attributes="-A")["changes"]["attributes"][1] == known[0]
