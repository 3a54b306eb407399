"""Archives are unpacked where they differ, and never outside the folder."""

import io
import os
import subprocess
import tarfile
import zipfile

import pytest

from cleanslate.remote import archives
from cleanslate.remote.registry import Call, Failed


def tar_of(*members, mode="w:gz"):
    """Bytes of a tar: (name, content, or link target with type)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as packed:
        for name, content, *kind in members:
            info = tarfile.TarInfo(name)
            info.uid, info.gid, info.mtime, info.mode = os.getuid(), os.getgid(), 1_700_000_000, 0o644
            if kind:
                info.type, info.linkname = kind[0], content
                packed.addfile(info)
            else:
                info.size = len(content)
                packed.addfile(info, io.BytesIO(content))
    return out.getvalue()


def unpack(data, folder, **options):
    return archives.unpack(Call(blob=io.BytesIO(data)), str(folder), **options)


def survey(data, folder, **options):
    return archives.survey(Call(blob=io.BytesIO(data)), str(folder), **options)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "to"
    made.mkdir()
    return made


@pytest.mark.parametrize(
    "members",
    [
        [("../out", b"x")],
        [("a/../../out", b"x")],
        [("away", "..", tarfile.SYMTYPE), ("away/out", b"x")],
        [("hard", "../secret", tarfile.LNKTYPE)],
    ],
)
def test_nothing_is_written_outside_the_folder(members, folder):
    (folder.parent / "secret").write_text("s")
    with pytest.raises(Failed, match="outside the folder"):
        unpack(tar_of(*members), folder)
    assert sorted(path.name for path in folder.parent.iterdir()) == ["secret", "to"]
    assert not (folder / "hard").exists()


def test_a_name_from_the_root_is_one_below_the_folder(folder):
    unpack(tar_of(("/etc/f", b"x")), folder)
    assert (folder / "etc/f").read_text() == "x"


def test_what_was_unpacked_has_the_archives_mode_and_time(folder):
    unpack(tar_of(("d/f", b"x")), folder)
    info = (folder / "d/f").stat()
    assert (info.st_mode & 0o7777, info.st_mtime) == (0o644, 1_700_000_000)


def test_only_what_differs_is_written(folder):
    data = tar_of(("a", b"1"), ("b", b"2"))
    unpack(data, folder)
    (folder / "b").write_text("changed")
    inode = (folder / "a").stat().st_ino
    foretold = survey(data, folder)
    done = unpack(data, folder)
    assert (foretold["differing"], done["count"], (folder / "b").read_text()) == (["b"], 1, "2")
    assert (folder / "a").stat().st_ino == inode
    assert survey(data, folder)["count"] == 0


def test_a_newer_file_is_kept_if_asked_for(folder):
    (folder / "a").write_text("mine, and newer")
    assert unpack(tar_of(("a", b"1")), folder, keep_newer=True)["changed"] is False
    assert unpack(tar_of(("a", b"1")), folder)["changed"] is True


def test_hard_links_and_symbolic_links_are_made(folder):
    data = tar_of(("f", b"x"), ("h", "f", tarfile.LNKTYPE), ("l", "f", tarfile.SYMTYPE))
    unpack(data, folder)
    assert ((folder / "f").stat().st_nlink, (folder / "l").readlink().name) == (2, "f")
    assert survey(data, folder)["count"] == 0


@pytest.mark.parametrize("compression", ["", "gz", "bz2", "xz"])
def test_every_compression_is_recognised(folder, compression):
    found = unpack(tar_of(("f", b"x"), mode=f"w:{compression}"), folder)
    handlers = {"": "TarArchive", "gz": "TgzArchive", "bz2": "TarBzipArchive", "xz": "TarXzArchive"}
    assert (found["handler"], (folder / "f").read_text()) == (handlers[compression], "x")


def test_zstd_is_unpacked_by_its_program(folder):
    packed = subprocess.run(["zstd", "-q"], input=tar_of(("f", b"x"), mode="w"), capture_output=True, check=True).stdout
    assert (unpack(packed, folder)["handler"], (folder / "f").read_text()) == ("TarZstdArchive", "x")


def test_without_its_program_zstd_is_refused_in_words(folder, monkeypatch):
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(Failed, match="zstd is needed"):
        unpack(b"\x28\xb5\x2f\xfd rest", folder)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"text", "no archive that is known"),
        (b"", "no archive that is known"),
        (tar_of(("f", os.urandom(100_000)))[:5000], "damaged"),
        (b"PK\x03\x04 nonsense", "damaged"),
    ],
)
def test_what_is_no_archive_or_damaged_is_refused(folder, data, words):
    with pytest.raises(Failed, match=words):
        unpack(data, folder)


def test_a_zip_without_modes_leaves_the_usual_ones(folder):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        info = zipfile.ZipInfo("f")
        info.create_system, info.external_attr = 0, 0x20  # as DOS writes them
        packed.writestr(info, "x")
    before = os.umask(0o022)
    unpack(out.getvalue(), folder)
    os.umask(before)
    assert (folder / "f").stat().st_mode & 0o777 == 0o644


def test_devices_in_an_archive_are_not_made(folder):
    unpack(tar_of(("null", "", tarfile.CHRTYPE), ("f", b"x")), folder)
    assert [path.name for path in folder.iterdir()] == ["f"]


def test_a_folder_in_the_way_of_a_file_is_not_removed(folder):
    (folder / "f").mkdir()
    (folder / "f" / "precious").touch()
    with pytest.raises(Failed, match="is a folder"):
        unpack(tar_of(("f", b"x")), folder)
    assert (folder / "f" / "precious").exists()
