"""Finds a running server: where it listens, its engine, its key, and whether it lives, by its launch and flags."""

from cleanslate.remote import commandline, listeners, processes, server_state
from cleanslate.remote.profiles import PROFILES
from cleanslate.remote.registry import Failed


class Server:
    """One server by its name, or by its port alone. Raises Failed("wrong") where no port is known."""

    def __init__(self, name=None, engine=None, port=None, host=None, api_key=None):
        self.name = name
        self.state = server_state.read(name) if name else None
        known = self.state or {}
        self.engine = engine or known.get("engine") or "http"
        self.profile = PROFILES[self.engine]
        said = commandline.settings(self.engine, known.get("argv") or [])
        self.port = port or known.get("port") or self.profile["port"]
        if self.port is None:
            there = ", ".join(server_state.names()) or "none"
            raise Failed("wrong", "no port is known for %s; launched here are %s" % (name or "the server", there))
        address = host or said.get("host")
        self.host = address if address and address not in ("0.0.0.0", "::", "*", "localhost") else "127.0.0.1"
        self.place = {"host": self.host, "port": self.port, "key": api_key or said.get("key")}

    @property
    def who(self):
        """What is meant, in words."""
        return self.name or "the server on port %d" % self.port

    @property
    def gone(self):
        """Whether there is certainly no server: no launch of it lives, and nobody listens on its port here."""
        if self.state is not None and server_state.alive(self.state):
            return False
        return self.host in ("127.0.0.1", "::1") and not listeners.sockets(self.port)

    @property
    def died(self):
        """Whether a launch of this name is known, and its process is not there any more."""
        return self.state is not None and not server_state.alive(self.state)

    def pid(self):
        """Who listens on its port, as far as this user may see, or None."""
        found = listeners.listening_on(self.port, processes.table())
        return found[0] if found else None
