"""Filters that make text from text: encodings, quoting, comments, addresses."""

from __future__ import annotations

import base64
import shlex
import uuid
from typing import Any
from urllib.parse import unquote_plus, urlsplit

from cleanslate.errors import RenderError

_NAMESPACE = uuid.UUID("361E6D51-FAEC-444A-9079-341386DA8E2E")  # the one that Ansible documents for to_uuid
_STYLES: dict[str, dict[str, str]] = {
    "plain": {"decoration": "# "},
    "erlang": {"decoration": "% "},
    "c": {"decoration": "// "},
    "cblock": {"beginning": "/*", "decoration": " * ", "end": " */"},
    "xml": {"beginning": "<!--", "decoration": " - ", "end": "-->"},
}


def b64encode(value: Any, encoding: str = "utf-8", urlsafe: bool = False) -> str:
    """The text in base64."""
    data = value if isinstance(value, bytes) else str(value).encode(encoding, "surrogateescape")
    return (base64.urlsafe_b64encode(data) if urlsafe else base64.b64encode(data)).decode("ascii")


def b64decode(value: Any, encoding: str = "utf-8", urlsafe: bool = False) -> str:
    """The text that base64 stands for."""
    data = str(value).encode("utf-8", "surrogateescape")
    return (base64.urlsafe_b64decode(data) if urlsafe else base64.b64decode(data)).decode(encoding, "surrogateescape")


def quote(value: Any) -> str:
    """The text, quoted for a POSIX shell."""
    return shlex.quote("" if value is None else str(value))


def split(value: Any, *arguments: Any, **options: Any) -> list[str]:
    """The parts between blanks, or between a separator."""
    if not isinstance(value, str):
        raise RenderError(f"split wants text, not {type(value).__name__}", fix="write | string before it")
    return value.split(*arguments, **options)


def comment(text: Any, style: str = "plain", **options: Any) -> str:
    """The text as a comment in the style of a language."""
    if style not in _STYLES:
        raise RenderError(f'comment: there is no style "{style}"', fix=f"write one of {', '.join(_STYLES)}")
    chosen = {**_STYLES[style], **options}
    decoration = chosen["decoration"]
    newline = str(chosen.get("newline", "\n"))
    prefix, postfix = chosen.get("prefix", decoration.rstrip()), chosen.get("postfix", decoration.rstrip())
    lines = [f"{decoration}{line}" for line in str(text).split(newline)]
    lines[:-1] = [decoration.rstrip() if line == decoration else line for line in lines[:-1]]
    before = [prefix] * int(chosen.get("prefix_count", 1))
    after = [postfix] * int(chosen.get("postfix_count", 1))
    body = newline.join([*before, *lines, *after])
    parts = [str(part) for part in (chosen.get("beginning", ""), body, chosen.get("end", "")) if part]
    return newline.join(parts)


def to_uuid(value: Any, namespace: Any = _NAMESPACE) -> str:
    """A UUID (version 5) that depends on the text alone."""
    if not isinstance(namespace, uuid.UUID):
        try:
            namespace = uuid.UUID(str(namespace))
        except ValueError as error:
            raise RenderError(f'to_uuid: the namespace "{namespace}" is no UUID: {error}') from None
    return str(uuid.uuid5(namespace, str(value)))


def urldecode(value: Any) -> str:
    """The text that a query string's encoding stands for."""
    return unquote_plus(str(value))


def split_url(value: Any, query: str = "", alias: str = "urlsplit") -> Any:
    """A URL's parts as a mapping, or one of them."""
    parts = urlsplit(str(value))
    names = ("fragment", "hostname", "netloc", "password", "path", "port", "query", "scheme", "username")
    found = {name: getattr(parts, name) for name in names}
    if not query:
        return found
    if query not in found:
        raise RenderError(f'{alias}: a URL has no part "{query}"', fix=f"write one of {', '.join(names)}")
    return found[query]


FUNCTIONS = {
    "b64decode": b64decode,
    "b64encode": b64encode,
    "comment": comment,
    "quote": quote,
    "split": split,
    "to_uuid": to_uuid,
    "urldecode": urldecode,
    "urlsplit": split_url,
}
