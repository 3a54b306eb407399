"""Two hundred secrets of hostile shape, each with a mark by which any part of it is found, and who looks for them."""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

COUNT = 200
MARK = re.compile(r"hush\d\d\dx")
_SHAPES = (
    "{m}",
    "two words {m}",
    "it's {m}",
    'say "{m}" twice',
    "'\"{m}'\"'",
    "line one {m}\nline two {m}\n",
    "-----BEGIN KEY-----\n{m}AAAABBBBCCCC\n{m}DDDDEEEEFFFF\n-----END KEY-----\n",
    "dollar $HOME ${{PATH}} $(id) `id` {m}",
    "back\\slash\\n {m} \\",
    "{m}%41%zz%(name)s%s",
    "--{m}=on",
    "-{m}",
    "grüße {m} ☃🔑 日本",
    "\u202e{m}\u200bzero\u0301",
    "tab\t{m}\ttab",
    "bell\x07 escape \x1b[31m {m}",
    "  {m}  ",
    '{{"password": "{m}", "list": [1, "{m}"]}}',
    "['{m}', None]",
    "key: {m}",
    "- {m}",
    "# {m}",
    "&anchor *{m} !tag |",
    "{{{{ {m} }}}}",
    "{{% {m} %}}",
    "aHVzaA=={m}==",
    "<b>{m}</b>&amp;&lt;]]>",
    "https://user:{m}@host/path?a=1&b={m}#f",
    "{m};rm -rf /nowhere|cat>&2",
    "*?[{m}]~",
    "@{m}",
    "{m}@{m}",
    "{long}{m}{long}",
    "{m}{long}",
    "^{m}(.*)$+|[a-z]",
    "carriage\rreturn {m}\r\nnext {m}",
    "nel\u0085sep\u2028{m}",
    "{m}\\x00\\u0041",
    "=1+1 {m}",
    "C:\\{m}\\new\\table",
)


def secrets() -> list[str]:
    """All of them; any slice of 40 has every shape."""
    return [_SHAPES[n % len(_SHAPES)].format(m=f"hush{n:03}x", long="0123456789abcdef" * 60) for n in range(COUNT)]


def forms(secret: str) -> Iterator[str]:
    """How it could be read, where its mark could not: in base64. Any other encoding leaves the mark as it is."""
    for text in (secret, *(line for line in secret.splitlines() if "hush" in line)):
        data = text.encode()
        for shift in range(3):
            whole = base64.b64encode(b"\0" * shift + data).decode()
            yield whole[-(-shift * 8 // 6) : (shift + len(data)) * 8 // 6]


def found_in(text: str) -> list[str]:
    """What of any secret stands in a text, with its surroundings."""
    found = [text[max(0, one.start() - 60) : one.end() + 30] for one in MARK.finditer(text)]
    decoded = text if "aHV" in text or "h1c2" in text or "odXNo" in text else ""
    if decoded:
        found += [form[:60] for secret in secrets() for form in forms(secret) if len(form) >= 12 and form in text]
    return found


def found_below(folder: Path, *besides: Path) -> dict[str, list[str]]:
    """The files below a folder that have something of a secret in their content or name."""
    leaks: dict[str, list[str]] = {}
    for path in folder.rglob("*"):
        if any(path.is_relative_to(one) for one in besides):
            continue
        found = found_in(str(path.relative_to(folder)))
        if path.is_file() and not path.is_symlink():
            found += found_in(path.read_bytes().decode("utf-8", "replace"))
        if found:
            leaks[str(path)] = found[:5]
    return leaks


def encodings(text: str) -> Iterator[str]:
    """The text as steps are given it on purpose in other forms."""
    yield from (json.dumps(text), quote(text), quote_plus(text), shlex.quote(text), html.escape(text))
