"""The step type uri: make one HTTP request from the target."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urljoin

from cleanslate.errors import StepFailed
from cleanslate.model import Answer
from cleanslate.steps import _bodies, _put
from cleanslate.steps._attributes import FILE_RETURNS, FileAttributes
from cleanslate.steps.contract import (
    AliasChoices,
    BeforeValidator,
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

_SAFE = ("GET", "HEAD", "OPTIONS")


def _codes(value: Any) -> Any:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return [value] if isinstance(value, int) else value


def _redirects(value: Any) -> Any:
    word = str(value).lower()
    return {"yes": "all", "true": "all", "no": "none", "false": "none", "urllib2": "all"}.get(word, word)


class Arguments(FileAttributes):
    """The request, what answer is right, and what to do with it."""

    url: Text
    """The address, `http://...` or `https://...`."""
    method: Text = "GET"
    """The HTTP method."""
    body: Any = None
    """What is sent: a text, or data in the body_format."""
    body_format: Literal["raw", "json", "form-urlencoded", "form-multipart"] = "raw"
    """How body is written; it sets Content-Type too."""
    src: PathText | None = None
    """A file to send, instead of body."""
    remote_src: Flag = False
    """src is on the target."""
    headers: dict[str, Any] = Field(default_factory=dict)
    """More headers."""
    status_code: Annotated[list[int], BeforeValidator(_codes)] = Field(default_factory=lambda: [200])
    """The statuses that mean success."""
    return_content: Flag = False
    """Give the answer's text as `content`."""
    timeout: Seconds = 30.0
    """How long to wait for the connection, and for each part of the answer."""
    follow_redirects: Annotated[Literal["all", "none", "safe"], BeforeValidator(_redirects)] = "safe"
    """Which redirects to follow: all, none, or those of GET and HEAD (safe)."""
    url_username: Text | None = Field(None, validation_alias=AliasChoices("url_username", "user"))
    """A user's name, for Basic or Digest authentication."""
    url_password: Text | None = Field(None, validation_alias=AliasChoices("url_password", "password"))
    """The user's password."""
    force_basic_auth: Flag = False
    """Send name and password at once, without being asked."""
    use_netrc: Flag = True
    """Take name and password from the target's ~/.netrc where none are given."""
    validate_certs: Flag = True
    """Refuse an HTTPS server whose certificate is not valid."""
    ca_path: PathText | None = None
    """A file on the target with the certificates of those who may sign."""
    client_cert: PathText | None = None
    """A certificate to show, on the target."""
    client_key: PathText | None = None
    """Its key, on the target."""
    ciphers: Words | None = None
    """The TLS ciphers that may be used, as OpenSSL names them."""
    unix_socket: PathText | None = None
    """A Unix socket to connect to, instead of the address's host."""
    use_proxy: Flag = True
    """Use the proxy that the environment names."""
    http_agent: Text = "ansible-httpget"
    """What to call ourselves."""
    decompress: Flag = True
    """Unpack an answer that comes compressed."""
    unredirected_headers: Words = Field(default_factory=list)
    """Headers that are not sent on to where a redirect leads."""
    force: Flag = False
    """Ask caches not to answer."""
    dest: PathText | None = None
    """A file on the target for the answer; in a folder, it gets the address's last part as its name."""
    creates: PathText | None = None
    """A path or pattern: if something matches, the request is not made."""
    removes: PathText | None = None
    """A path or pattern: if nothing matches, the request is not made."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Make the request: one that only reads in check mode too, another only in earnest."""
    skipped = _unneeded(args, context)
    if skipped:
        return skipped
    if args.url_password:
        context.secret(args.url_password)
    options, blob = _options(args, context), None
    if args.src is not None:
        if args.remote_src:
            options["source"] = args.src
        else:
            blob = context.find_file(args.src, "files").read_bytes()
    elif args.body is not None:
        blob, kind = _bodies.encoded(args.body, args.body_format, context)
        if kind and not any(name.lower() == "content-type" for name in options["headers"]):
            options["headers"]["Content-Type"] = kind
    if args.method.upper() in _SAFE:
        answer = context.read("net.get", blob=blob, **options)
    else:
        answer = yield Change(f"{args.method.upper()} {args.url}", "net.http", options, blob=blob, alters=False)
    return (yield from _ended(args, context, answer))


def _unneeded(args: Arguments, context: StepContext) -> Outcome | None:
    patterns = [pattern for pattern in (args.creates, args.removes) if pattern is not None]
    if not patterns:
        return None
    found = context.read("find.matching", patterns=patterns)["matched"]
    said = None
    if args.creates is not None and found[args.creates]:
        said = f"skipped, since '{args.creates}' exists"
    elif args.removes is not None and not found[args.removes]:
        said = f"skipped, since '{args.removes}' does not exist"
    return Outcome({"stdout": said, "stdout_lines": [said], "msg": said}, changed=False) if said else None


def _options(args: Arguments, context: StepContext) -> dict[str, Any]:
    headers = {str(name): str(value) for name, value in args.headers.items()}
    if args.force:
        headers.setdefault("Cache-Control", "no-cache")
    return {
        "url": args.url,
        "method": args.method.upper(),
        "headers": headers,
        "user": args.url_username,
        "password": args.url_password,
        "force_basic": args.force_basic_auth,
        "netrc": args.use_netrc,
        "timeout": args.timeout,
        "redirects": args.follow_redirects,
        "validate_certs": args.validate_certs,
        "ca_path": args.ca_path,
        "client_cert": args.client_cert,
        "client_key": args.client_key,
        "ciphers": ":".join(args.ciphers) if args.ciphers else None,
        "unix_socket": args.unix_socket,
        "proxy": args.use_proxy,
        "environment": {name: value for name, value in context.environment.items() if name.lower().endswith("_proxy")},
        "agent": args.http_agent,
        "decompress": args.decompress,
        "unredirected": args.unredirected_headers,
        "body": "always" if args.return_content or args.dest is not None else "json",
    }


def _ended(args: Arguments, context: StepContext, answer: Answer) -> Behaviour:
    data = _result(answer)
    content = answer.blob.decode(answer.get("charset") or "utf-8", "replace") if answer.blob else ""
    kind = str(answer["headers"].get("content-type", ""))
    if answer.blob and ("json" in kind or "javascript" in kind):
        try:
            data["json"] = json.loads(content)
        except ValueError:
            context.warn(f"{args.url} says that it answers with JSON, and does not")
    if args.return_content:
        data["content"] = content
    if answer["status"] not in args.status_code:
        said = f"Status code was {answer['status']} and not {args.status_code}: {_why(answer)}"
        raise StepFailed(said, data={"changed": False, **data, "msg": said})
    if args.dest is None:
        return Outcome(data, changed=False)
    name = Path(str(data["url"]).split("?")[0]).name or "index.html"
    place = _put.Place(args.dest, args.wanted(), unsafe=args.unsafe_writes)
    outcome = yield from _put.put(context, _put.Content(answer.blob, name), place)
    kept = {key: value for key, value in outcome.data.items() if key not in ("dest", "checksum", "md5sum")}
    return Outcome({**data, **kept, "path": outcome.data["dest"]})


def _result(answer: Answer) -> dict[str, Any]:
    headers: Mapping[str, str] = answer["headers"]
    length = headers.get("content-length", "unknown")
    cookies = answer["cookies"]
    good = 200 <= answer["status"] < 300
    data = {
        **{name.replace("-", "_"): value for name, value in headers.items()},
        "status": answer["status"],
        "url": answer["url"],
        "redirected": answer["redirected"],
        "msg": f"{answer['reason']} ({length} bytes)" if good else _why(answer),
        "cookies": cookies,
        "cookies_string": "; ".join(f"{name}={value}" for name, value in cookies.items()),
        "elapsed": int(answer["elapsed"]),
    }
    if "location" in headers:
        data["location"] = urljoin(answer["url"], headers["location"])
    return data


def _why(answer: Answer) -> str:
    """What went wrong, in words."""
    return answer.get("refused") or f"HTTP Error {answer['status']}: {answer['reason']}"


STEP = StepType(
    name="uri",
    arguments=Arguments,
    behave=behave,
    summary="Make one HTTP request from the target, and see to it that the answer has the right status.",
    example="""\
- name: Is it there?
  uri:
    url: http://127.0.0.1:9/health
    status_code: [200, -1]
    timeout: 3s
  register: health
""",
    returns={
        "status": "the answer's status; -1 where there was none",
        "url": "the address that answered, after redirects",
        "redirected": "whether that is another one",
        "content": "the answer's text, with return_content",
        "json": "the answer as data, where it is JSON",
        "msg": "the status in words and the length, or what went wrong",
        "cookies": "cookies that were set",
        "cookies_string": "the same, as one text for a Cookie header",
        "elapsed": "whole seconds that it took",
        "path": "the file that was written, with dest",
        "...": "each header of the answer, as in `content_type`",
        **FILE_RETURNS,
    },
    notes=(
        "To wait until a server answers, repeat the step with `until`, `retries` and `delay`, or use `wait_healthy`, "
        "which also fails as soon as the server has died. In check mode only GET, HEAD and OPTIONS are made."
    ),
    exclusive=(("body", "src"),),
    observes=True,
)
