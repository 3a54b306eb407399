"""Bodies of HTTP requests, written in the formats that uri knows."""

from __future__ import annotations

import json
import mimetypes
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from cleanslate.errors import StepFailed
from cleanslate.steps import _sources
from cleanslate.steps.contract import StepContext


def encoded(body: Any, form: str, context: StepContext) -> tuple[bytes, str | None]:
    """(the bytes, their Content-Type; None: no particular one)."""
    if form == "json":
        text = body if isinstance(body, str) else json.dumps(body)
        return text.encode(), "application/json"
    if form == "form-urlencoded":
        return _form(body), "application/x-www-form-urlencoded"
    if form == "form-multipart":
        return _multipart(body, context)
    if isinstance(body, Mapping | list):
        return json.dumps(body).encode(), None
    return str(body).encode(), None


def _form(body: Any) -> bytes:
    if isinstance(body, str):
        return body.encode()
    pairs = list(body.items()) if isinstance(body, Mapping) else body
    try:
        return urlencode([(name, value) for name, value in pairs], doseq=True).encode()
    except (TypeError, ValueError):
        what = "a form's body is a mapping, or a list of pairs of name and value"
        raise StepFailed(what, data={"changed": False}) from None


def _multipart(body: Any, context: StepContext) -> tuple[bytes, str]:
    if not isinstance(body, Mapping):
        raise StepFailed("a multipart body is a mapping of names to texts or files", data={"changed": False})
    boundary = f"----cleanslate{secrets.token_hex(16)}"
    parts = []
    for name, value in body.items():
        head, content = _part(str(name), value, context)
        parts.append(f"--{boundary}\r\n{head}\r\n\r\n".encode() + content + b"\r\n")
    return b"".join(parts) + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def _part(name: str, value: Any, context: StepContext) -> tuple[str, bytes]:
    head = f'Content-Disposition: form-data; name="{name}"'
    if not isinstance(value, Mapping):
        return head, str(value).encode()
    filename, content = value.get("filename"), value.get("content")
    if filename is None and content is None:
        raise StepFailed(f'the part "{name}" needs filename or content', data={"changed": False})
    if content is None:
        data = _sources.content(context.find_file(str(filename), "files"), context)
    else:
        data = str(content).encode()
    if filename is not None:
        head += f'; filename="{str(filename).rsplit("/", 1)[-1]}"'
    kind = value.get("mime_type") or (mimetypes.guess_type(str(filename))[0] if filename else None)
    return f"{head}\r\nContent-Type: {kind or 'application/octet-stream'}", data
