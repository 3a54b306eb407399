"""What is in a tar or zip archive, as members of one shape."""

import io
import stat as st
import subprocess
import tempfile
import time
from contextlib import contextmanager

from cleanslate.remote.registry import Failed

_MAGIC = ((b"\x1f\x8b", "gz"), (b"BZh", "bz2"), (b"\xfd7zXZ\x00", "xz"), (b"\x28\xb5\x2f\xfd", "zst"))
_HANDLERS = {
    "gz": "TgzArchive",
    "bz2": "TarBzipArchive",
    "xz": "TarXzArchive",
    "zst": "TarZstdArchive",
    "": "TarArchive",
}


class Member:
    """One member: kind (file, directory, link, hard), name, size, mode and owner (None: not told), mtime, target.

    owner is (name, uid, group's name, gid).
    """

    def __init__(self, name, kind, size, mode, mtime, target, opener, owner=None):
        self.name = name
        self.kind = kind
        self.size = size
        self.mode = mode
        self.mtime = mtime
        self.target = target
        self.owner = owner
        self._opener = opener

    def open(self):
        """Its content, as a file."""
        return self._opener()

    def renamed(self, name):
        """The same member under another name."""
        return Member(name, self.kind, self.size, self.mode, self.mtime, self.target, self._opener, self.owner)


@contextmanager
def undamaged():
    """Say of an archive that breaks off or is garbled that it is damaged."""
    import lzma
    import tarfile
    import zipfile
    import zlib

    try:
        yield
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError) as error:
        raise Failed("wrong", f"the archive is damaged: {error}") from None


def members(archive):
    """(Ansible's name for what handles it, its members) of an archive that can be read from any place."""
    start = archive.read(8)
    archive.seek(0)
    if start.startswith(b"PK"):
        return "ZipArchive", _zip_members(archive)
    kind = next((name for magic, name in _MAGIC if start.startswith(magic)), "")
    return _HANDLERS[kind], _tar_members(archive, kind)


def _tar_members(archive, kind):
    import tarfile

    archive = _by_zstd(archive) if kind == "zst" else archive
    try:
        tar = tarfile.open(fileobj=archive, mode="r:*" if kind != "zst" else "r:")  # noqa: SIM115 - as long as it is read
    except (tarfile.TarError, EOFError, OSError) as error:
        raise Failed("wrong", f"this is no archive that is known here (tar or zip): {error}") from None
    try:
        for info in tar:
            made = _tar_member(tar, info)
            if made is not None:
                yield made
    finally:
        tar.close()
        archive.close()


def _tar_member(tar, info):
    name = info.name
    while name.startswith("./"):
        name = name[2:]
    if info.isdir():
        kind = "directory"
    elif info.issym():
        kind = "link"
    elif info.islnk():
        kind = "hard"
    elif info.isreg():
        kind = "file"
    else:
        return None  # devices and the like are not made
    return Member(
        name, kind, info.size, st.S_IMODE(info.mode), info.mtime, info.linkname, lambda: tar.extractfile(info)
    )


def _by_zstd(archive):
    spool = tempfile.TemporaryFile()  # noqa: SIM115 - whoever reads it closes it
    try:
        feeding = subprocess.Popen(["zstd", "-dcq"], stdin=subprocess.PIPE, stdout=spool, stderr=subprocess.DEVNULL)
    except OSError:
        spool.close()
        raise Failed("unsupported", "zstd is needed to unpack this, and is not installed") from None
    with feeding:
        for piece in iter(lambda: archive.read(1 << 20), b""):
            feeding.stdin.write(piece)
        feeding.stdin.close()
    if feeding.returncode:
        spool.close()
        raise Failed("wrong", "the archive is damaged: zstd cannot unpack it")
    spool.seek(0)
    return spool


def _zip_members(archive):
    import zipfile

    with zipfile.ZipFile(archive) as packed:
        for info in packed.infolist():
            mode = info.external_attr >> 16
            moment = time.mktime((*info.date_time, 0, 0, -1))
            if info.is_dir():
                kind, target = "directory", None
            elif st.S_ISLNK(mode):
                kind, target = "link", packed.read(info).decode("utf-8", "surrogateescape")
            else:
                kind, target = "file", None
            bits = st.S_IMODE(mode) or None
            yield Member(info.filename, kind, info.file_size, bits, moment, target, _opener(packed, info))


def _opener(packed, info):
    def opened():
        return io.BufferedReader(packed.open(info))

    return opened
