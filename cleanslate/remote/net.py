"""Waits on the target for ports, paths and texts, and for connections to end."""

import os
import re
import socket
import struct
import time

from cleanslate.remote.paths import expand
from cleanslate.remote.registry import Failed, reads
from cleanslate.remote.web import get, http  # noqa: F401 - the calls `net.get` and `net.http`

_STATES = {
    "ESTABLISHED": "01", "SYN_SENT": "02", "SYN_RECV": "03", "FIN_WAIT1": "04", "FIN_WAIT2": "05", "TIME_WAIT": "06",
}  # fmt: skip
_TOLD = 1.0  # seconds until the first progress report
_GROWN = 4  # times the last report's, and it is worth another one: how long it has been, everybody knows
_READ_AT_ONCE = 1 << 20


class _Wait:
    """One wait: looks until what is wanted is so, or the time is up."""

    def __init__(self, call, options):
        self.call = call
        self.options = options
        self.began = time.monotonic()
        self.found = {}
        pattern = options["search_regex"]
        try:
            self.pattern = re.compile(pattern.encode("utf-8", "surrogateescape"), re.MULTILINE) if pattern else None
        except re.error as error:
            raise Failed("wrong", f'"{pattern}" is not a regular expression: {error}') from None

    def elapsed(self):
        """Seconds since it began."""
        return time.monotonic() - self.began

    def until(self, look, end):
        """Call `look` (given the seconds left) until it is true; whether it was before `end` seconds had passed."""
        told = 0.0
        while True:
            if look(max(end - self.elapsed(), 0.05)):
                return True
            left = min(end - self.elapsed(), self.call.left())
            if left <= 0 or self.call.cancelled.is_set():
                return False
            if self.elapsed() >= max(_TOLD, told * _GROWN):
                told = self.elapsed()
                self.call.progress(text=self.options["text"], elapsed=round(told, 1), of=end)
            self.call.cancelled.wait(min(self.options["sleep"], left))

    # ------------------------------------------------------------------ looks

    def port_open(self, left):
        """Whether something accepts connections there (and says what is searched)."""
        connection = self._connect(left)
        if connection is None:
            return False
        with connection:
            return self.pattern is None or self._read(connection, left)

    def port_closed(self, left):
        """Whether nothing accepts connections there."""
        connection = self._connect(left)
        if connection is not None:
            connection.close()
        return connection is None

    def _connect(self, left):
        address = (self.options["host"], self.options["port"])
        try:
            return socket.create_connection(address, timeout=min(self.options["connect_timeout"], left))
        except OSError:
            return None

    def _read(self, connection, left):
        end, data = time.monotonic() + left, b""
        while time.monotonic() < end and not self.call.cancelled.is_set():
            connection.settimeout(min(max(end - time.monotonic(), 0.05), 0.5))
            try:
                piece = connection.recv(4096)
            except socket.timeout:
                continue
            except OSError:
                return False
            data += piece
            if self._matches(data):
                return True
            if not piece:
                return False
        return False

    def path_there(self, left):
        """Whether the path exists (and holds what is searched)."""
        path = self.options["path"]
        if not os.path.exists(path):
            return False
        if self.pattern is None:
            return True
        try:
            with open(path, "rb") as file:
                return self._matches(file.read())
        except OSError:
            return False

    def path_gone(self, left):
        """Whether the path does not exist (or, with a search, whether the file does not hold it)."""
        return not os.path.exists(self.options["path"])

    def _matches(self, data):
        match = self.pattern.search(data)
        if match is None:
            return False
        self.found["match_groups"] = [_text(group) for group in match.groups()]
        self.found["match_groupdict"] = {name: _text(group) for name, group in match.groupdict().items()}
        return True

    def drained(self, left):
        """Whether no connection to the port is in an active state."""
        self.found["connections"] = active_connections(
            self.options["host"], self.options["port"], self.options["states"], self.options["exclude_hosts"]
        )
        return not self.found["connections"]


def _text(group):
    return None if group is None else group.decode("utf-8", "replace")


@reads
def wait_for(call, state, timeout, delay=0, **options):
    """Wait until a port or path is as wanted: {met, elapsed, match_groups, match_groupdict, connections}.

    state: started, stopped, drained (port), present, absent (path or port). timeout and delay are seconds; without
    port and path the time is just waited. options: host, port, path, search_regex, connect_timeout, sleep (seconds
    between looks), exclude_hosts, states (of active connections), text (for progress reports).
    """
    if options["path"] is not None:
        options["path"] = expand(options["path"])
    wait = _Wait(call, options)
    if delay:
        call.cancelled.wait(min(delay, max(call.left(), 0)))
    if options["port"] is None and options["path"] is None:
        wait.until(lambda left: False, timeout)
        return {"met": True, "elapsed": wait.elapsed()}
    if state == "drained":
        look = wait.drained
    elif state in ("stopped", "absent"):
        look = wait.port_closed if options["path"] is None else wait.path_gone
    else:
        look = wait.port_open if options["path"] is None else wait.path_there
    met = wait.until(look, timeout)
    return dict(wait.found, met=met, elapsed=wait.elapsed())


def active_connections(host, port, states, exclude_hosts):
    """How many connections to a local port are in one of these states; hosts are names or addresses."""
    codes = {_STATES[state] for state in states}
    ours, others = _addresses(host), set().union(*(_addresses(name) for name in exclude_hosts or ()))
    anywhere = ours & {"0.0.0.0", "::"}
    count = 0
    for local, local_port, remote, code in _connections():
        if local_port == port and code in codes and (anywhere or local in ours) and remote not in others:
            count += 1
    return count


def _addresses(host):
    try:
        return {info[4][0] for info in socket.getaddrinfo(host, None)}
    except OSError:
        raise Failed("wrong", f'"{host}" is no host name or address that is known here') from None


def _connections():
    for name in ("tcp", "tcp6"):
        try:
            with open(f"/proc/net/{name}", encoding="ascii") as file:
                next(file)
                for line in file:
                    fields = line.split()
                    local, remote = fields[1].split(":"), fields[2].split(":")
                    yield _address(local[0]), int(local[1], 16), _address(remote[0]), fields[3]
        except (OSError, StopIteration):
            continue


def _address(text):
    """An address as /proc/net/tcp writes it: 32-bit words in the machine's byte order; an IPv4 in an IPv6 as IPv4."""
    words = [int(text[at : at + 8], 16) for at in range(0, len(text), 8)]
    raw = b"".join(struct.pack("=I", word) for word in words)
    if len(raw) == 4:
        return socket.inet_ntop(socket.AF_INET, raw)
    if raw[:12] == b"\0" * 10 + b"\xff\xff":
        return socket.inet_ntop(socket.AF_INET, raw[12:])
    return socket.inet_ntop(socket.AF_INET6, raw)
