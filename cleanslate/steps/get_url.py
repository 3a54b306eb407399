"""The step type get_url: download a file to the target."""

from __future__ import annotations

import re
from email.utils import formatdate
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from cleanslate.errors import CallFailed, StepFailed
from cleanslate.model import Answer
from cleanslate.steps._attributes import FILE_RETURNS, FileAttributes, attribute_diff, file_fields
from cleanslate.steps.contract import (
    AliasChoices,
    Behaviour,
    Change,
    Field,
    Flag,
    Outcome,
    PathText,
    Seconds,
    StepContext,
    StepType,
    Text,
    Words,
)


class Arguments(FileAttributes):
    """What to download, and where to."""

    url: Text
    """The address: `http`, `https`, `ftp` or `file`."""
    dest: PathText
    """The file on the target; in a folder it gets the name that the server or the address gives it."""
    checksum: Text = ""
    """The digest that the file must have, as `sha256:HEX`, or `sha256:ADDRESS` of a list of digests."""
    force: Flag = False
    """Download in any case, to see whether the file has changed; otherwise the server is asked for a newer one only."""
    backup: Flag = False
    """Keep what was there, beside it, under a name with the time."""
    tmp_dest: PathText | None = None
    """The folder to keep the part in while it is downloaded; beside dest when not given."""
    timeout: Seconds = 10.0
    """How long to wait for the connection, and for each part of the answer."""
    headers: dict[str, Any] | None = None
    """More headers."""
    url_username: Text | None = Field(None, validation_alias=AliasChoices("url_username", "username"))
    """A user's name, for Basic or Digest authentication."""
    url_password: Text | None = Field(None, validation_alias=AliasChoices("url_password", "password"))
    """The user's password."""
    force_basic_auth: Flag = False
    """Send name and password at once, without being asked."""
    use_netrc: Flag = True
    """Take name and password from the target's ~/.netrc where none are given."""
    use_proxy: Flag = True
    """Use the proxy that the environment names."""
    validate_certs: Flag = True
    """Refuse an HTTPS server whose certificate is not valid."""
    client_cert: PathText | None = None
    """A certificate to show, on the target."""
    client_key: PathText | None = None
    """Its key, on the target."""
    ciphers: Words | None = None
    """The TLS ciphers that may be used, as OpenSSL names them."""
    http_agent: Text = "ansible-httpget"
    """What to call ourselves."""
    unredirected_headers: Words = Field(default_factory=list)
    """Headers that are not sent on to where a redirect leads."""
    decompress: Flag = True
    """Has no effect: no compressed answer is asked for."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Look what is there; download where that does not tell that it is right."""
    if args.url_password:
        context.secret(args.url_password)
    checksum = _checksum(args, context)
    name = unquote(PurePosixPath(urlsplit(args.url).path).name) or "index.html"
    found = context.read("files.survey", path=args.dest, name=name, wanted=args.wanted())
    if found["kind"] == "file" and not args.force and not found["inside"] and _is_right(args, context, found, checksum):
        return (yield from _attributes(args, found, checksum is None))
    known = checksum is not None or not found["exists"]
    answer = yield from _download(args, context, found, name, checksum, known=known)
    data = {
        "url": args.url,
        "dest": answer["path"],
        "checksum_src": answer.get("sha1"),
        "checksum_dest": answer.get("sha1_before") if answer["changed"] else answer.get("sha1"),
        "md5sum": answer.get("md5"),
        "status_code": answer.get("status"),
        "msg": f"OK ({answer['size']} bytes)" if answer.get("size") is not None else "",
        **file_fields(answer.values),
    }
    if answer.get("backup_file"):
        data["backup_file"] = answer["backup_file"]
    return Outcome(data, changed=answer["changed"])


def _is_right(args: Arguments, context: StepContext, found: Answer, checksum: tuple[str, str] | None) -> bool:
    """Whether the file that is there need not be downloaded: its checksum is right, or the server has no newer one."""
    if checksum is not None:
        has = context.read("files.stat", path=found["path"], digest=checksum[0])["checksum"]
        return bool(has == checksum[1].lower())
    if not args.url.startswith(("http://", "https://")):
        return False
    options = _options(args, context)
    options["headers"]["If-Modified-Since"] = formatdate(found["mtime"], usegmt=True)
    return bool(context.read("net.get", url=args.url, method="HEAD", **options)["status"] == 304)


def _checksum(args: Arguments, context: StepContext) -> tuple[str, str] | None:
    """(algorithm, digest) that the file must have; looked up where an address of digests is given."""
    if not args.checksum:
        return None
    algorithm, colon, value = args.checksum.partition(":")
    algorithm, value = algorithm.strip().lower(), value.strip()
    if not colon or not value:
        raise StepFailed(f'checksum is "{args.checksum}": write it as sha256:HEX', data={"changed": False})
    if not value.startswith(("http://", "https://", "ftp://", "file://")):
        return algorithm, re.sub(r"\W+", "", value)
    answer = context.read("net.get", url=value, body="always", **_options(args, context))
    if answer["status"] != 200:
        what = f"{value} cannot be read for its checksums: {answer.get('refused') or answer['status']}"
        raise StepFailed(what, data={"changed": False})
    return algorithm, _listed(answer.blob.decode("utf-8", "replace"), args.url, value)


def _listed(text: str, url: str, where: str) -> str:
    """The digest of a file in a list of digests (`HEX  NAME`), or the only one that there is."""
    name = unquote(PurePosixPath(urlsplit(url).path).name)
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and len(lines[0]) == 1:
        return lines[0][0]
    for parts in lines:
        listed = parts[1].strip().removeprefix("*").removeprefix("./") if len(parts) == 2 else ""
        if listed == name or listed.endswith(f"/{name}"):
            return parts[0]
    raise StepFailed(f"{where} has no checksum for {name}", data={"changed": False})


def _options(args: Arguments, context: StepContext) -> dict[str, Any]:
    return {
        "headers": {str(name): str(value) for name, value in (args.headers or {}).items()},
        "user": args.url_username,
        "password": args.url_password,
        "force_basic": args.force_basic_auth,
        "netrc": args.use_netrc,
        "timeout": args.timeout,
        "redirects": "all",
        "validate_certs": args.validate_certs,
        "client_cert": args.client_cert,
        "client_key": args.client_key,
        "ciphers": ":".join(args.ciphers) if args.ciphers else None,
        "proxy": args.use_proxy,
        "environment": {name: value for name, value in context.environment.items() if name.lower().endswith("_proxy")},
        "agent": args.http_agent,
        "unredirected": args.unredirected_headers,
    }


def _attributes(args: Arguments, found: Answer, asked: bool) -> Behaviour:
    """Only set attributes of what is there; `asked`: the server said that it has nothing newer."""
    data: dict[str, Any] = {"url": args.url, "dest": found["path"], "checksum_src": None, "checksum_dest": None}
    data["msg"] = "HTTP Error 304: Not Modified" if asked else "file already exists"
    if asked:
        data["status_code"] = 304
    if not found["changes"]:
        return Outcome({**data, **file_fields(found.values)})
    answer = yield Change(
        f"set attributes of {found['path']}",
        "files.set_attributes",
        {"path": found["path"], **args.wanted()},
        predicted={**found.values, **found["after"]},
        diffs=[attribute_diff(found["path"], found["changes"])],
    )
    return Outcome({**data, **file_fields(answer.values)})


def _download(
    args: Arguments,
    context: StepContext,
    found: Answer,
    name: str,
    checksum: tuple[str, str] | None,
    *,
    known: bool,
) -> Any:
    """The download's answer; `known`: it is certain that the file will change."""
    path = found["path"]
    try:
        return (
            yield Change(
                f"download {args.url} to {path}",
                "downloads.fetch",
                {
                    "url": args.url,
                    "path": args.dest,
                    "name": name,
                    "checksum": list(checksum) if checksum else None,
                    "backup": args.backup,
                    "unsafe": args.unsafe_writes,
                    "folder": args.tmp_dest,
                    "options": _options(args, context),
                    **args.wanted(),
                },
                predicted={"path": path, "changed": True, **found["after"]} if known else None,
                diffs=[attribute_diff(path, {"downloaded": ["no" if known else "perhaps differs", args.url]})],
                alters=known,
            )
        )
    except CallFailed as error:
        data = {"changed": False, "url": args.url, "dest": path, "status_code": error.details.get("status")}
        raise StepFailed(error.what, data=data) from error


STEP = StepType(
    name="get_url",
    arguments=Arguments,
    behave=behave,
    summary="Download a file to the target, where it is not there yet or does not have the right checksum.",
    example="""\
- name: A file to download
  copy:
    dest: "{{ workdir }}/model.bin"
    content: "0123456789abcdef"
- name: Download it
  get_url:
    url: "file://{{ workdir }}/model.bin"
    dest: "{{ workdir }}/copy.bin"
    checksum: sha256:9f9f5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f
""",
    returns={
        "url": "where it came from",
        "dest": "the file",
        "checksum_src": "SHA-1 of what was downloaded",
        "checksum_dest": "SHA-1 of what was there before",
        "md5sum": "MD5 of what was downloaded",
        "status_code": "the server's status",
        "msg": "that it was there already, or how much was downloaded",
        "backup_file": "the copy of what was there before",
        **FILE_RETURNS,
    },
    notes=(
        "Give a checksum where you can: then a file that is right is known without a download, in check mode too. "
        "Without one, and where the server does not say that it has nothing newer, check mode cannot know whether the "
        "file would change."
    ),
    background=True,
)
