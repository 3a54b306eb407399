"""What a Proxmox cluster answers over its HTTP interface: nodes, guests, their settings and addresses."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError

_MOST = 50_000_000  # bytes of one answer


class Refused(Exception):
    """The cluster answered, and not with what was asked for: what it does not have, or does not let us see."""


@dataclass
class Api:
    """One cluster. `timeout` is in seconds, for each request."""

    url: str
    timeout: float
    verify: bool = True
    headers: dict[str, str] = field(default_factory=dict)

    def log_in(self, user: str, password: str | None, token: tuple[str, str] | None) -> None:
        """With a token, or with a password, which gives a ticket. InputError where neither is taken."""
        if token is not None:
            self.headers = {"Authorization": f"PVEAPIToken={user.strip()}!{token[0].strip()}={token[1].strip()}"}
            return
        given = urllib.parse.urlencode({"username": user, "password": password}).encode()
        try:
            found = self._ask("access/ticket", given)
        except Refused:
            raise InputError(f"{self.url} refuses the user {user}", fix="look at user and password") from None
        self.headers = {"Cookie": f"PVEAuthCookie={found['ticket']}"}

    def get(self, path: str) -> Any:
        """The `data` of an answer. Refused, or InputError where the cluster cannot be reached."""
        return self._ask(path, None)

    def tried(self, path: str, default: Any) -> Any:
        """The same; the default where the cluster refuses it."""
        try:
            return self.get(path)
        except Refused:
            return default

    def _ask(self, path: str, data: bytes | None) -> Any:
        request = urllib.request.Request(f"{self.url}/api2/json/{path}", data, self.headers)
        context = None if self.verify else ssl._create_unverified_context()
        try:
            with urllib.request.urlopen(request, timeout=self.timeout, context=context) as answer:
                found = json.loads(answer.read(_MOST))
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 401 and data is None:
                raise InputError(f"{self.url} does not take the token, or the ticket") from None
            raise Refused(f"{error.code} {error.reason}") from None
        except (OSError, ValueError) as error:
            why = getattr(error, "reason", None) or error
            raise InputError(
                f"{self.url} gives no answer: {why}", fix="look at url, validate_certs, api_timeout"
            ) from None
        if not isinstance(found, Mapping) or "data" not in found:
            raise InputError(f"{self.url} does not answer as Proxmox does", fix="look at url: https://HOST:8006")
        return found["data"]
