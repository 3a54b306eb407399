"""Downloads a file to the target: beside its place, checked, compared, and only then put there."""

import hashlib
import os

from cleanslate.remote import atomic, attributes
from cleanslate.remote.files import check_wanted
from cleanslate.remote.oserrors import told
from cleanslate.remote.paths import expand, place_of
from cleanslate.remote.registry import Failed, changes
from cleanslate.remote.web import open_url, reason_of

_PIECE = 1 << 20
_TOLD_EVERY = 16 << 20


@changes
@told()
def fetch(call, url, path, name=None, checksum=None, backup=False, unsafe=False, folder=None, options=None, **wanted):
    """Download `url` to `path` (in a folder: as the server names it, else `name`) where it differs.

    checksum: [algorithm, hex digest] that the file must have. folder: where the part is kept meanwhile. options: those
    of net.http. Gives Ansible's file fields, path, changed, sha1, sha1_before, md5, status, size, backup_file.
    """
    import http.client

    wanted = check_wanted(wanted)
    options = options or {}
    try:
        _, response = open_url(url, None, "GET", options, min(options.get("timeout", 10.0), max(call.left(), 0.1)))
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Failed("refused", f"{url} cannot be read: {reason_of(error)}", status=-1) from None
    with response:
        status = response.code  # file: addresses have none
        if status not in (None, 200):
            raise Failed("refused", f"{url} answers {status} {response.reason or ''}".rstrip(), status=status)
        place = place_of(path, _named(response) or name)
        return dict(_place(call, response, place, checksum, backup, unsafe, folder, wanted), status=status)


def _named(response):
    """The name that the server gives the file, without any folder."""
    given = response.headers.get_filename()
    return os.path.basename(given) if given else None


def _place(call, response, place, checksum, backup, unsafe, folder, wanted):
    existing = os.path.isfile(place)
    before = atomic.digest_of(place) if existing else None
    descriptor, part = atomic.temporary(os.path.join(expand(folder), "part") if folder else place)
    try:
        with open(descriptor, "wb") as out:
            digests = _receive(call, response, out, checksum)
        if checksum is not None and digests[checksum[0]] != checksum[1].lower():
            has = digests[checksum[0]]
            text = f"what was downloaded has the {checksum[0]} {has}, not {checksum[1]}; nothing was put in place"
            raise Failed("invalid", text, checksum_src=digests["sha1"])
        if before == digests["sha1"]:
            changes_made = attributes.set_on(place, wanted)
            done = {"backup_file": None, "changed": bool(changes_made)}
        else:
            with open(part, "rb") as source:
                done = atomic.write(place, source, wanted, keep_backup=backup, unsafe=unsafe, left=call.left())
            done["changed"] = True
    finally:
        os.unlink(part)
    found = dict(
        attributes.describe(place), path=place, sha1=digests["sha1"], sha1_before=before, md5=digests.get("md5")
    )
    return dict(found, changed=done["changed"], backup_file=done["backup_file"])


def _receive(call, response, out, checksum):
    digests = {}
    for name in {"sha1", "md5"} | ({checksum[0]} if checksum else set()):
        try:
            digests[name] = hashlib.new(name)
        except ValueError:
            if checksum and name == checksum[0]:
                raise Failed("unsupported", f'no digest is called "{name}" here') from None
    length, received, told_at = response.headers.get("Content-Length"), 0, 0
    for piece in iter(lambda: response.read(_PIECE), b""):
        if call.left() <= 0 or call.cancelled.is_set():
            raise Failed("deadline", "the download did not end in time")
        out.write(piece)
        received += len(piece)
        for digest in digests.values():
            digest.update(piece)
        if received - told_at >= _TOLD_EVERY:
            told_at = received
            call.progress(text=f"downloaded {received >> 20} MiB", received=received, of=int(length or 0))
    if length is not None and length.isdigit() and received != int(length):
        raise Failed("invalid", f"only {received} of {length} bytes came; nothing was put in place")
    return {name: digest.hexdigest() for name, digest in digests.items()}
