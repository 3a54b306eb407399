"""Calls that compare and copy what is on the target already: one file, or a folder with all that is in it."""

import os
import stat as st

from cleanslate.remote import atomic, attributes, files
from cleanslate.remote.modes import mode_text
from cleanslate.remote.oserrors import told
from cleanslate.remote.paths import expand, info_of, kind_of, place_of
from cleanslate.remote.registry import Failed, changes, reads


@reads
@told()
def survey(call, source, path, follow=False, local_follow=True, content=0, wanted=None):
    """A survey of where `source` would be copied to (files.survey), with what differs.

    Adds source {exists, kind, digest, md5, path}, and for a folder differing: the paths below `path` that would be made
    or changed (at most 1000), and count. A source that ends with a slash stands for what is in it.
    """
    source = expand(source)
    info = info_of(source, follow=True)
    kind = kind_of(info) if info is not None else None
    wanted = dict(wanted or {})
    facts = {"exists": info is not None, "kind": kind, "path": source, "digest": None, "md5": None}
    if info is None:
        return {"source": facts, "exists": False, "path": expand(path)}
    if kind == "directory":
        place = folder_place(source, expand(path))
        found, blob = files.survey(call, place, wanted=_owners(wanted), directory=True)
        differing = [os.path.relpath(item, place) for item in _differing(source, place, local_follow, wanted)]
        return dict(found, source=facts, differing=differing[:1000], count=len(differing)), blob
    if wanted.get("mode") == "preserve":
        wanted["mode"] = mode_text(info.st_mode)
    facts["digest"] = atomic.digest_of(source)
    facts["md5"] = _md5(source) if info.st_size <= _HASHED else None
    name = os.path.basename(source)
    found, blob = files.survey(
        call, path, name=name, follow=follow, digest=True, content=content, unless=facts["digest"], wanted=wanted
    )
    return dict(found, source=facts), blob


_HASHED = 64 << 20  # larger files get no MD5: they would be read once more for it


def _md5(path):
    try:
        return atomic.digest_of(path, "md5")
    except ValueError:  # forbidden on this system
        return None


def _owners(wanted):
    return {name: value for name, value in wanted.items() if name in ("owner", "group")}


def folder_place(source, path):
    """Where a folder is copied to: `path` for what is in it, else its name in `path`."""
    return place_of(path if source.endswith("/") else os.path.join(path, os.path.basename(source)))


def _differing(source, place, follow, wanted):
    """Paths below `place` (and itself) that a copy would make or change."""
    if not os.path.isdir(place):
        yield place
    for item, target in _pairs(source, place, follow):
        info, now = os.stat(item, follow_symlinks=follow), info_of(target)
        if now is None or kind_of(now) != kind_of(info):
            yield target
        elif st.S_ISREG(info.st_mode):
            other = info.st_size != now.st_size or atomic.digest_of(item) != atomic.digest_of(target)
            if other or attributes.differences(target, _file_wish(wanted, info), now):
                yield target
        elif st.S_ISLNK(info.st_mode) and os.readlink(item) != os.readlink(target):
            yield target


def _pairs(source, place, follow):
    """(source path, target path) of everything below a folder, folders before what is in them."""
    base = source.rstrip("/") or "/"
    for folder, folders, names in os.walk(base, followlinks=follow):
        for name in sorted(folders) + sorted(names):
            item = os.path.join(folder, name)
            if os.path.exists(item) or not follow:
                yield item, os.path.join(place, os.path.relpath(item, base))


def _file_wish(wanted, info):
    """What is wanted of a copied file: its source's mode unless another one is."""
    mode = wanted.get("mode")
    return dict(wanted, mode=mode_text(info.st_mode) if mode in (None, "preserve") else mode)


@changes
@told()
def copy_folder(call, source, path, local_follow=True, directory_mode=None, **wanted):
    """Copy a folder (or what is in it, see folder_place); files stay whole. Gives Ansible's file fields and path."""
    source = expand(source)
    place = folder_place(source, expand(path))
    if os.path.realpath(place).startswith(os.path.realpath(source) + "/"):
        raise Failed("wrong", f"{place} is inside {source}, so it cannot be copied there")
    folder_wish = dict(_owners(wanted), mode=directory_mode)
    files.make_folders(place, folder_wish)
    for item, target in _pairs(source, place, local_follow):
        info = os.stat(item, follow_symlinks=local_follow)
        if st.S_ISDIR(info.st_mode):
            if not os.path.isdir(target):
                os.mkdir(target, 0o777)
                attributes.set_on(target, dict(folder_wish, mode=directory_mode or mode_text(info.st_mode)))
        elif st.S_ISLNK(info.st_mode):
            _copy_link(item, target)
        else:
            _copy_file(item, target, _file_wish(wanted, info), call)
    return dict(attributes.describe(place), path=place)


def _copy_link(item, target):
    if os.path.islink(target) and os.readlink(target) == os.readlink(item):
        return
    if os.path.lexists(target):
        os.unlink(target)
    os.symlink(os.readlink(item), target)


def _copy_file(item, target, wish, call):
    now = info_of(target)
    if now is not None and kind_of(now) == "file" and atomic.digest_of(item) == atomic.digest_of(target):
        attributes.set_on(target, wish)
        return
    with open(item, "rb") as source:
        atomic.write(target, source, wish, left=call.left())
