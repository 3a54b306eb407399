"""Writes a file whole or not at all: a new file beside it, flushed, with its final mode and owner, then renamed."""

import contextlib
import errno
import fcntl
import hashlib
import os
import shlex
import stat
import subprocess
import threading
import time

from cleanslate.remote import attributes
from cleanslate.remote.modes import umask
from cleanslate.remote.oserrors import failed
from cleanslate.remote.registry import Failed

_PIECE = 1 << 20
_FLUSHED = 32 << 20  # bytes
_KEPT_LABELS = ("security.selinux", "system.posix_acl_access")
ABSENT = "absent"
"""What `expect_digest` says when the file must not exist."""


def digest_of(path, algorithm="sha1"):
    """The hex digest of a file's content."""
    digest = hashlib.new(algorithm)
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(_PIECE), b""):
            digest.update(piece)
    return digest.hexdigest()


def temporary(path):
    """Create an empty file beside `path` that only this user can read; gives (descriptor, its path)."""
    place = os.path.join(os.path.dirname(path) or ".", f".cleanslate-{os.urandom(6).hex()}")
    return os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), place


def backup(path):
    """Copy a file beside itself, with mode, owner and times, under the name that Ansible gives backups."""
    place = f"{path}.{os.getpid()}.{time.strftime('%Y-%m-%d@%H:%M:%S~')}"
    info = os.stat(path)
    descriptor, part = temporary(place)
    try:
        with open(descriptor, "wb") as out, open(path, "rb") as file:
            _copy(file, out)
            _inherit(part, path, info)
        os.utime(part, ns=(info.st_atime_ns, info.st_mtime_ns))
        os.replace(part, place)
    except BaseException:
        os.unlink(part)
        raise
    return place


def write(path, source, wanted, *, keep_backup=False, expect_digest=None, validate=None, unsafe=False, left=3600.0):
    """Put the bytes of `source` (a binary file) at `path`; gives {sha1, backup_file or None}. See `Prepared`."""
    prepared = prepare(path, source, wanted, keep_backup=keep_backup, validate=validate, unsafe=unsafe, left=left)
    done = prepared.finish(expect_digest)
    flush_folder(os.path.dirname(path) or ".")
    return done


def prepare(path, source, wanted, *, keep_backup=False, validate=None, unsafe=False, left=3600.0):
    """Write the bytes of `source` beside `path`, as a file that `finish` puts there and `discard` removes.

    An existing file's mode, owner, label and extended attributes are kept unless `wanted` says otherwise.
    `validate` is a command with %s for the new file's path. With `unsafe`, where the file cannot be replaced (a
    mount point, a folder that is not ours), it is overwritten in place.
    """
    existing = _existing(path)
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise Failed("missing", f"the folder {folder} does not exist, so {os.path.basename(path)} cannot be put there")
    try:
        descriptor, part = temporary(path)
    except OSError:
        if not (unsafe and existing):
            raise
        return InPlace(path, source, wanted, keep_backup)
    try:
        with open(descriptor, "wb") as out:
            digest = _copy(source, out)
            out.flush()
            _dress(part, path, existing, wanted)
            prepared = Prepared(path, part, os.dup(descriptor), digest, wanted)
    except BaseException:
        os.unlink(part)
        raise
    prepared.keep_backup, prepared.unsafe = keep_backup and existing is not None, unsafe
    if validate:
        with prepared.discarded_on_error():
            _validate(validate, part, left)
    return prepared


class Prepared:
    """A file that lies beside the place where it shall be. The folder is to be flushed afterwards (`flush_folder`)."""

    keep_backup = unsafe = False

    def __init__(self, path, part, descriptor, digest, wanted):
        self.path, self.part, self.digest, self.wanted = path, part, digest, wanted
        self._descriptor = descriptor

    def finish(self, expect_digest=None):
        """Flush it and put it in its place, if what is there is still what was expected; gives {sha1, backup_file}."""
        with self.discarded_on_error():
            os.fsync(self._descriptor)
            with _alone(os.path.dirname(self.path) or "."):  # between the look and the swap nobody of ours swaps
                _as_expected(self.path, expect_digest)
                backup_file = backup(self.path) if self.keep_backup else None
                _swap(self.part, self.path, self.unsafe)
        self._let_go()
        if self.wanted.get("attributes") is not None:
            attributes.set_on(self.path, {"attributes": self.wanted["attributes"]})
        return {"sha1": self.digest, "backup_file": backup_file}

    @contextlib.contextmanager
    def discarded_on_error(self):
        """Remove it where what is done with it fails."""
        try:
            yield
        except BaseException:
            self.discard()
            raise

    def discard(self):
        """Remove it."""
        self._let_go()
        if os.path.lexists(self.part):
            os.unlink(self.part)

    def _let_go(self):
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


class InPlace:
    """A file that could not be replaced, and was overwritten."""

    def __init__(self, path, source, wanted, keep_backup):
        self.path = path
        self.backup_file = backup(path) if keep_backup else None
        with open(path, "wb") as out:
            self.digest = _copy(source, out)
        attributes.set_on(path, wanted)

    def finish(self, expect_digest=None):
        """Nothing is left to do."""
        return {"sha1": self.digest, "backup_file": self.backup_file}

    def discard(self):
        """What was there is gone."""


def _existing(path):
    try:
        info = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(info.st_mode):
        raise Failed("wrong", f"{path} is a folder, so no file can be written there")
    return info


def _copy(source, out):
    digest, unflushed, flusher = hashlib.sha1(), 0, None
    for piece in iter(lambda: source.read(_PIECE), b""):
        digest.update(piece)
        out.write(piece)
        unflushed += len(piece)
        if unflushed >= _FLUSHED and (
            flusher is None or not flusher.is_alive()
        ):  # while more comes, not all at the end
            flusher = threading.Thread(target=_flush, args=(os.dup(out.fileno()),), daemon=True)
            flusher.start()
            unflushed = 0
    return digest.hexdigest()


def _flush(descriptor):
    try:
        os.fdatasync(descriptor)
    except OSError:
        pass  # the last flush says so
    finally:
        os.close(descriptor)


def _dress(part, path, existing, wanted):
    """Give the new file what the old one had (or what a new one gets), then what is wanted."""
    if existing is not None:
        _inherit(part, path, existing)
    else:
        os.chmod(part, 0o666 & ~umask())
    attributes.set_on(part, {name: value for name, value in wanted.items() if name != "attributes"})


def _inherit(part, path, info):
    for name in _extended(path):
        try:
            os.setxattr(part, name, os.getxattr(path, name))
        except OSError:
            continue
    if os.stat(part).st_uid != info.st_uid or os.stat(part).st_gid != info.st_gid:
        with contextlib.suppress(PermissionError):  # only root can keep another owner; Ansible goes on likewise
            os.chown(part, info.st_uid, info.st_gid)
    os.chmod(part, stat.S_IMODE(info.st_mode))


def _extended(path):
    try:
        return [name for name in os.listxattr(path) if name in _KEPT_LABELS or name.startswith("user.")]
    except OSError:
        return []


def _validate(command, part, left):
    if "%s" not in command:
        raise Failed("wrong", f'validate needs %s for the new file\'s path: "{command}"')
    argv = shlex.split(command.replace("%s", shlex.quote(part)))
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=max(left, 0.1))
    except OSError as error:
        raise failed(error, "validate") from None
    except subprocess.TimeoutExpired:
        raise Failed("invalid", f"the validate command did not end in time: {argv[0]}") from None
    if done.returncode:
        out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        text = f"the new content was refused by {argv[0]} (exit {done.returncode}); the old file is untouched"
        lines = {"stdout_lines": out.splitlines(), "stderr_lines": err.splitlines()}
        raise Failed("invalid", text, exit_status=done.returncode, stdout=out, stderr=err, **lines)


def _as_expected(path, expect_digest):
    if expect_digest is None:
        return
    exists = os.path.exists(path)
    algorithm = {40: "sha1", 64: "sha256"}.get(len(expect_digest), "sha1")
    now = digest_of(path, algorithm) if exists else ABSENT
    if now != expect_digest:
        raise Failed("changed", f"{path} was changed by somebody else since it was read; nothing was written")


def _swap(part, path, unsafe):
    try:
        os.rename(part, path)
    except OSError as error:
        if not unsafe or error.errno not in (errno.EBUSY, errno.EPERM, errno.EACCES, errno.EXDEV, errno.ETXTBSY):
            raise
        with open(part, "rb") as source, open(path, "wb") as out:
            _copy(source, out)
        os.unlink(part)


@contextlib.contextmanager
def _alone(folder):
    """Keep other agents from replacing files in a folder meanwhile, where its file system has locks."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def flush_folder(folder):
    """Have a folder's new names survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # some file systems do not flush folders
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
