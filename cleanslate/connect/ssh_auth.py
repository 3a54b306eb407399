"""Proves to a server who we are, in OpenSSH's order: named keys, the ssh agent's keys, default keys, the password."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from paramiko.agent import AgentSSH
from paramiko.auth_handler import AuthOnlyHandler
from paramiko.common import cMSG_USERAUTH_REQUEST
from paramiko.message import Message
from paramiko.pkey import PKey, UnknownKeyType
from paramiko.ssh_exception import AuthenticationException, BadAuthenticationType, SSHException
from paramiko.transport import Transport

from cleanslate.connect.ssh_settings import SshSettings
from cleanslate.errors import Unreachable

_PASSWORD_METHODS = ("password", "keyboard-interactive")


class SshAgent(AgentSSH):
    """The ssh agent at a given socket; it may take `seconds` for each answer, as it may ask a person."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(seconds)
        try:
            connection.connect(path)
            self._connect(connection)  # type: ignore[attr-defined] # as the library's own Agent does
        except (OSError, SSHException):
            connection.close()  # no agent there: the same as none at all
        self.close: Callable[[], None] = connection.close


class LaterAttempt(AuthOnlyHandler):
    """An attempt to log in after the first one on a connection.

    The library's usual way asks for the login service before each attempt, which some servers do not take twice; its
    other way may miss an answer that comes at once.
    """

    def send_auth_request(
        self, username: str, method: str, finish_message: Callable[[Message], None] | None = None
    ) -> list[str]:
        """Send one attempt and wait for the answer."""
        self.auth_method = method
        self.username = username
        self.auth_event = threading.Event()
        message = Message()
        message.add_byte(cMSG_USERAUTH_REQUEST)
        for text in (username, "ssh-connection", method):
            message.add_string(text)
        if finish_message is not None:
            finish_message(message)
        with self.transport.lock:
            self.transport._send_message(message)  # type: ignore[attr-defined] # missing in the stubs
        return self.wait_for_response(self.auth_event)


class KeysAndPassword:
    """Tries everything that OpenSSH would; remembers what it tried, for the message when nothing helps."""

    def __init__(self, settings: SshSettings, seconds: float) -> None:
        self.settings = settings
        self.seconds = seconds
        self.tried: list[str] = []
        self.skipped: list[str] = []

    def authenticate(self, transport: Transport) -> list[Any]:
        """Try one thing after another; Unreachable says what was tried and what could not be."""
        wanted = self._with_keys(transport) if self.settings.public_keys else None
        if wanted is None or any(method in wanted for method in _PASSWORD_METHODS):
            more = self._with_password(transport)
            wanted = wanted if more is None else more
        if wanted == []:
            return []
        raise self._refused(wanted)

    def _with_keys(self, transport: Transport) -> list[str] | None:
        """What the server wants besides a key; None when it took none."""
        settings = self.settings
        agent = SshAgent(settings.agent_socket, self.seconds) if settings.agent_socket else None
        with contextlib.closing(agent) if agent else contextlib.nullcontext():
            for name, key in self._keys(agent):
                wanted = self._try(name, partial(self._offer_key, transport, key), transport)
                if wanted is not None:
                    return wanted
        return None

    def _with_password(self, transport: Transport) -> list[str] | None:
        settings = self.settings
        if settings.password is None or not settings.passwords:
            return None
        return self._try("the password", partial(self._offer_password, transport, settings.password), transport)

    def _offer_key(self, transport: Transport, key: PKey) -> list[str]:
        if len(self.tried) == 1:
            return transport.auth_publickey(self.settings.user, key)
        return _later(transport).auth_publickey(self.settings.user, key)

    def _offer_password(self, transport: Transport, password: str) -> list[str]:
        user = self.settings.user
        try:
            if len(self.tried) == 1:
                return transport.auth_password(user, password, fallback=False)
            return _later(transport).auth_password(user, password)
        except BadAuthenticationType as error:
            if "keyboard-interactive" not in error.allowed_types:
                raise
            return _later(transport).auth_interactive(user, lambda title, text, questions: [password] * len(questions))

    def _try(self, name: str, attempt: Callable[[], list[str]], transport: Transport) -> list[str] | None:
        """What the server wants besides (nothing: we are in); None when it refused."""
        if not transport.is_active():
            return None  # the server has had enough attempts
        self.tried.append(name)
        try:
            return attempt()
        except AuthenticationException:
            return None
        except (SSHException, EOFError, OSError) as error:
            self.skipped.append(f"{name}: {error}")
            return None

    def _keys(self, agent: SshAgent | None) -> Iterator[tuple[str, PKey]]:
        """Keys to try, with the name that people know each by; none twice."""
        held = {key.asbytes(): key for key in (agent.get_keys() if agent else ())}
        offered: set[bytes] = set()
        for path in self.settings.identity_files:
            blob = _public_blob(path)
            if blob in held:
                offered.add(blob)
                yield f"{path} (from the ssh agent)", held[blob]
            elif (key := self._load(path, named=True)) is not None:
                offered.add(key.asbytes())
                yield str(path), key
        if self.settings.identities_only:
            return
        for blob, key in held.items():
            if blob not in offered:
                offered.add(blob)
                yield f"the ssh agent's key {getattr(key, 'comment', '') or key.get_name()}", key
        for path in self.settings.default_keys:
            key = self._load(path, named=False)
            if key is not None and key.asbytes() not in offered:
                yield str(path), key

    def _load(self, path: Path, *, named: bool) -> PKey | None:
        try:
            info = path.stat()
            return _load_key(path, info.st_mtime_ns)
        except FileNotFoundError:
            reason = "there is no such file" if named else ""
        except TypeError:
            reason = "it is encrypted, so it must be in the ssh agent: ssh-add"
        except (OSError, ValueError, SSHException, UnknownKeyType) as error:
            reason = str(error)
        if reason:
            self.skipped.append(f"{path}: {reason}")
        return None

    def _refused(self, allowed: list[str] | None) -> Unreachable:
        settings = self.settings
        tried = ", ".join(self.tried) or "nothing, as there is no key and no password"
        what = f"{settings.alias}: the server does not let {settings.user} in; tried {tried}"
        if allowed:
            what = f"{settings.alias}: the server wants {' or '.join(allowed)} of {settings.user} besides a key"
        if self.skipped:
            what += f" (not usable: {'; '.join(self.skipped)})"
        fix = "set ansible_user, ansible_ssh_private_key_file or ansible_password, or load the key with ssh-add"
        return Unreachable(what, fix=fix)


def _later(transport: Transport) -> LaterAttempt:
    handler = LaterAttempt(transport)
    transport.auth_handler = handler
    return handler


@lru_cache(maxsize=64)
def _load_key(path: Path, _changed_at: int) -> PKey:
    return PKey.from_path(path)


def _public_blob(path: Path) -> bytes:
    """The public half of a key file, from the file beside it; nothing when there is none."""
    beside = path.with_name(f"{path.name}.pub")
    try:
        return _read_public(beside, beside.stat().st_mtime_ns)
    except OSError:
        return b""


@lru_cache(maxsize=64)
def _read_public(path: Path, _changed_at: int) -> bytes:
    import base64
    import binascii

    try:
        return base64.b64decode(path.read_text().split()[1])
    except (IndexError, binascii.Error, UnicodeDecodeError):
        return b""
