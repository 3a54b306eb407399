"""The lookup of pages over HTTP, from this machine."""

from __future__ import annotations

import base64
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from cleanslate.errors import RenderError
from cleanslate.render.lookups import Lookups


def url(
    lookups: Lookups,
    terms: list[Any],
    split_lines: bool = True,
    validate_certs: bool = True,
    username: str | None = None,
    password: str | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 10,
    force: bool = False,
    force_basic_auth: bool = False,
    http_agent: str = "cleanslate",
    use_proxy: bool = True,
    ca_path: str | None = None,
) -> list[Any]:
    """The lines of pages, or their texts where `split_lines=false`."""
    known = dict(headers or {})
    if username is not None:
        known["Authorization"] = "Basic " + base64.b64encode(f"{username}:{password or ''}".encode()).decode()
    if force:
        known["Cache-Control"] = "no-cache"
    context = ssl.create_default_context(cafile=ca_path)
    if not validate_certs:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    handlers: list[Any] = [urllib.request.HTTPSHandler(context=context)]
    if not use_proxy:
        handlers.append(urllib.request.ProxyHandler({}))
    opener = urllib.request.build_opener(*handlers)
    found: list[Any] = []
    for term in terms:
        text = _page(opener, str(term), {"User-Agent": http_agent, **known}, timeout)
        found += text.splitlines() if split_lines else [text]
    return found


def _page(opener: Any, address: str, headers: Mapping[str, str], timeout: float) -> str:
    if not address.startswith(("http://", "https://")):
        raise RenderError(f"url wants an address of http or https, not {address!r}")
    try:
        request = urllib.request.Request(address, headers=dict(headers))
        with opener.open(request, timeout=timeout) as answer:
            return str(answer.read().decode("utf-8", "replace"))
    except urllib.error.HTTPError as error:
        raise RenderError(f"{address} answered {error.code} {error.reason}") from None
    except (urllib.error.URLError, TimeoutError, OSError) as error:
        raise RenderError(f"{address} could not be read: {getattr(error, 'reason', error)}") from None


FUNCTIONS = {"url": url}
