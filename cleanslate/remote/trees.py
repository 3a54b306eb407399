"""Calls that compare and write many files at once: what a folder of the controller holds, in two round trips.

An entry is {"path": relative, "kind": file, directory or link, "sha1", "size", "mode" (None: leave), "target"}.
"""

import base64
import os
import queue
import threading

from cleanslate.remote import atomic, attributes, files
from cleanslate.remote.oserrors import told
from cleanslate.remote.paths import expand, info_of, kind_of, place_of
from cleanslate.remote.registry import Failed, changes, reads

_AT_ONCE = 8  # files that are flushed at the same time
_PREPARED = 32  # files that may wait for it
_SENT = 4 << 20  # bytes of old contents that are sent back for diffs, in all


@reads
@told()
def survey(call, path, entries, wanted=None, content=0, follow=False):
    """Which entries differ from what is below `path`: {path, exists, folder, differing: [{index, ...}]}.

    Each has index, kind (of what is there, None: nothing), changes (attributes, of a file with the right content), and
    of a file with other content `before` (base64; None where larger than `content` or after several megabytes)
    and `size`.
    """
    path, wanted = expand(path), wanted or {}
    differing, sent = [], 0
    for index, entry in enumerate(entries):
        place = _place(path, entry, follow)
        found = _difference(place, entry, wanted)
        if found is None:
            continue
        if found["kind"] == "file" and entry["kind"] == "file" and not found["changes"]:
            found["before"] = None
            if found["size"] <= content and sent + found["size"] <= _SENT:
                with open(place, "rb") as file:
                    found["before"] = base64.b64encode(file.read()).decode()
                sent += found["size"]
        differing.append(dict(found, index=index))
    return {"path": path, "exists": os.path.lexists(path), "folder": os.path.isdir(path), "differing": differing}


def _place(path, entry, follow):
    """Where an entry goes; what is a link there leads on, if it is a file and that is asked for."""
    return place_of(os.path.join(path, entry["path"]), follow=follow and entry["kind"] == "file")


def _wish(entry, wanted):
    """What is wanted of one entry: folders take only the owner, unless they are new."""
    if entry["kind"] != "file":
        return {name: value for name, value in wanted.items() if name in ("owner", "group")}
    return dict(wanted, mode=entry["mode"]) if entry.get("mode") else wanted


def _difference(place, entry, wanted):
    """{kind, size, changes} where `place` is not as the entry says, else None."""
    info = info_of(place, follow=entry["kind"] == "directory")
    if info is None:
        return {"kind": None, "size": 0, "changes": {}}
    kind = kind_of(info)
    found = {"kind": kind, "size": info.st_size, "changes": {}}
    if kind != entry["kind"]:
        return found
    if kind == "link":
        return None if os.readlink(place) == entry["target"] else found
    if kind == "file" and (info.st_size != entry["size"] or atomic.digest_of(place) != entry["sha1"]):
        return found
    found["changes"] = attributes.differences(place, _wish(entry, wanted), info)
    return found if found["changes"] else None


@changes
@told()
def write(call, path, entries, directory_mode=None, backup=False, validate=None, unsafe=False, follow=False, **wanted):
    """Write entries below `path`; the contents of the files among them come one after the other in what is sent along.

    An entry with `content` false keeps what is there and only gets its attributes. Gives {path, backup_files}.
    """
    path = expand(path)
    wanted = files.check_wanted(wanted)
    owners = {name: value for name, value in wanted.items() if name in ("owner", "group")}
    files.make_folders(path, dict(owners, mode=directory_mode))
    finishing = _Finishing()
    try:
        for entry in entries:
            place = _place(path, entry, follow)
            files.make_folders(os.path.dirname(place), dict(owners, mode=directory_mode))
            if entry["kind"] == "directory":
                files.make_folders(place, dict(owners, mode=directory_mode))
                attributes.set_on(place, owners)
            elif entry["kind"] == "link":
                _link(place, entry["target"])
            elif not entry["content"]:
                attributes.set_on(place, _wish(entry, wanted))
            else:
                part, wish = _Part(call.blob, entry["size"]), _wish(entry, wanted)
                options = {"keep_backup": backup, "validate": validate, "unsafe": unsafe, "left": call.left()}
                finishing.add(atomic.prepare(place, part, wish, **options))
    except BaseException as error:
        finishing.error = finishing.error or error
        raise
    finally:
        finishing.end()
    if finishing.error is not None:
        raise finishing.error
    for folder in finishing.folders:
        atomic.flush_folder(folder)
    return dict(attributes.describe(path), path=path, backup_files=finishing.backups)


def _link(place, target):
    info = info_of(place)
    if info is not None and kind_of(info) == "directory":
        raise Failed("wrong", f"{place} is a folder, so no link is put there")
    if info is not None:
        os.unlink(place)
    os.symlink(target, place)


class _Part:
    """The next `size` bytes of a stream, as a file to read from."""

    def __init__(self, stream, size):
        self.stream = stream
        self.left = size

    def read(self, size):
        """Give up to `size` bytes of the part."""
        data = self.stream.read(min(size, self.left))
        if not data and self.left:
            raise Failed("wrong", "the files that were sent ended early: did one change on the controller meanwhile?")
        self.left -= len(data)
        return data


class _Finishing:
    """Puts prepared files into their places, several at once: the file system commits together what comes together."""

    def __init__(self):
        self.backups, self.folders, self.error = [], {}, None
        self._waiting = queue.Queue(_PREPARED)
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(_AT_ONCE)]
        self._started = False

    def add(self, prepared):
        """Finish this one soon. What went wrong with another is raised here, at the latest after `end`."""
        if not self._started:
            self._started = True
            for thread in self._threads:
                thread.start()
        self._waiting.put(prepared)
        if self.error is not None:
            raise self.error

    def end(self):
        """Wait for all of them; after an error, those that are not finished yet are not."""
        if self._started:
            for _ in self._threads:
                self._waiting.put(None)
            for thread in self._threads:
                thread.join()

    def _work(self):
        for prepared in iter(self._waiting.get, None):
            if self.error is not None:
                prepared.discard()
                continue
            try:
                done = prepared.finish()
            except Exception as error:  # noqa: BLE001 - raised again where it is waited for
                self.error = error
                continue
            self.folders[os.path.dirname(prepared.path)] = True
            if done["backup_file"]:
                self.backups.append(done["backup_file"])
