"""Searches below folders, and tells which patterns match something."""

import fnmatch
import glob
import os
import re
import stat as st
import time

from cleanslate.remote import atomic
from cleanslate.remote.modes import mode_number
from cleanslate.remote.paths import expand
from cleanslate.remote.registry import Failed, reads
from cleanslate.remote.stats import plain_facts

_TESTS = {"file": st.S_ISREG, "directory": st.S_ISDIR, "link": st.S_ISLNK}


@reads
def matching(call, patterns, chdir=None):
    """{"matched": {pattern: whether a path matches it}}; relative ones are looked for in `chdir`."""
    base = expand(chdir) if chdir else ""
    return {"matched": {pattern: _matches(os.path.join(base, expand(pattern))) for pattern in patterns}}


def _matches(pattern):
    return bool(os.path.lexists(pattern) or next(glob.iglob(pattern), None))


class _Wish:
    """What is looked for: every condition that a path must meet."""

    def __init__(self, options):
        self.kind = options["kind"]
        self.names = _names_test(options["patterns"], options["regex"], empty=True)
        self.excluded = _names_test(options["excludes"], options["regex"], empty=False)
        self.hidden = options["hidden"]
        self.age, self.stamp = options["age"], "st_" + options["stamp"]
        self.size = options["size"]
        self.mode, self.exact = options["mode"], options["exact_mode"]
        self.contains, self.whole = options["contains"], options["whole"]
        self.encoding = options["encoding"] or "utf-8"
        try:
            "".encode(self.encoding)
        except LookupError:
            raise Failed("wrong", f'there is no encoding "{self.encoding}" here') from None
        self.now = time.time()

    def name_fits(self, name):
        """Whether the name alone may be what is looked for."""
        return (self.hidden or not name.startswith(".")) and self.names(name) and not self.excluded(name)

    def fits(self, path, info):
        """Whether everything else fits too."""
        if self.kind != "any" and not _TESTS[self.kind](info.st_mode):
            return False
        if self.age is not None and not self._age_fits(self.now - getattr(info, self.stamp)):
            return False
        plain = st.S_ISREG(info.st_mode)
        if self.size is not None and plain and not self._size_fits(info.st_size):
            return False
        if self.mode is not None and not self._mode_fits(info):
            return False
        return self.contains is None or (plain and self._content_fits(path))

    def _age_fits(self, age):
        return age >= self.age if self.age >= 0 else age <= -self.age

    def _size_fits(self, size):
        return size >= self.size if self.size >= 0 else size <= -self.size

    def _mode_fits(self, info):
        bits = st.S_IMODE(info.st_mode)
        wanted = mode_number(self.mode, 0, st.S_ISDIR(info.st_mode), mask=0)
        return bits == wanted if self.exact else bits & wanted == wanted

    def _content_fits(self, path):
        try:
            with open(path, encoding=self.encoding, errors="surrogateescape") as file:
                if self.whole:
                    return bool(self.contains.search(file.read()))
                return any(self.contains.match(line) for line in file)
        except OSError:
            return False


def _names_test(patterns, regex, empty):
    if not patterns:
        return lambda name: empty
    if regex:
        compiled = [_compiled(pattern) for pattern in patterns]
        return lambda name: any(pattern.match(name) for pattern in compiled)
    return lambda name: any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def _compiled(pattern, flags=0):
    try:
        return re.compile(pattern, flags)
    except re.error as error:
        raise Failed("wrong", f'"{pattern}" is not a regular expression: {error}') from None


@reads
def find(call, paths, recurse=False, depth=None, follow=False, limit=None, digest=None, **options):
    """Find what fits below folders: {files: Ansible's fields of each, matched, examined, skipped {path: why}}.

    options: kind (file, directory, link, any), patterns, excludes (of names), regex, hidden, contains (a regular
    expression; `whole`: for the file as one text), encoding, age (seconds; negative: at most), stamp (atime, ...), size
    (bytes; negative: at most), mode, exact_mode. digest: the algorithm for `checksum`.
    """
    if options["contains"] is not None:
        options["contains"] = _compiled(options["contains"])
    wish = _Wish(options)
    found, examined, skipped = [], 0, {}
    for base in map(expand, paths):
        if not os.path.isdir(base):
            skipped[base] = f"{base} is not a folder"
            continue
        for folder, names, error in _walk(base, depth if recurse else 1, follow):
            if error is not None:
                skipped[folder] = error
                continue
            examined += len(names)
            found += _in_folder(folder, names, wish, follow, digest, skipped)
            if limit is not None and len(found) >= limit:
                found = found[:limit]
                break
            if call.cancelled.is_set():
                break
    return {"files": found, "matched": len(found), "examined": examined, "skipped": skipped}


def _walk(base, depth, follow):
    """(folder, names in it, None) or (folder, [], why it cannot be read), down to `depth` levels (None: all)."""
    level, seen = [base], set()
    while level and (depth is None or depth > 0):
        below = []
        for folder in level:
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError as error:
                yield folder, [], (error.strerror or str(error)).lower()
                continue
            yield folder, [entry.name for entry in entries], None
            below += [entry.path for entry in entries if _enters(entry, follow, seen)]
        level = below
        depth = None if depth is None else depth - 1


def _enters(entry, follow, seen):
    try:
        if not entry.is_dir(follow_symlinks=follow):
            return False
        info = entry.stat(follow_symlinks=follow)
    except OSError:
        return False
    known = (info.st_dev, info.st_ino) in seen
    seen.add((info.st_dev, info.st_ino))
    return not known


def _in_folder(folder, names, wish, follow, digest, skipped):
    for name in filter(wish.name_fits, names):
        path = os.path.join(folder, name)
        try:
            info = os.lstat(path)
            if wish.fits(path, info):
                yield _facts(path, info, wish.kind, digest)
        except OSError as error:
            skipped[path] = (error.strerror or str(error)).lower()


def _facts(path, info, kind, digest):
    facts = plain_facts(path, info)
    del facts["exists"], facts["block_size"], facts["blocks"], facts["device_type"]
    if digest and st.S_ISREG(info.st_mode):
        facts["checksum"] = atomic.digest_of(path, digest)
    return facts
