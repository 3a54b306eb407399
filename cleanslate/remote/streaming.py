"""Sends one request for a streamed completion and notes when each piece of it came."""

import http.client
import json
import socket
import threading
import time

from cleanslate.remote.asking import cut


class Streamed:
    """One request: `at` are the seconds after its start at which text came, `tokens` how many in all.

    tokens: as the server counts them (`usage`), else the number of pieces; `counted` says which. error: None, or what
    went wrong; then the rest tells what came before.
    """

    def __init__(self):
        self.began = time.monotonic()
        self.ended = self.began
        self.at = []
        self.tokens = None
        self.prompt_tokens = None
        self.counted = "pieces"
        self.error = None
        self.whole = False

    @property
    def seconds(self):
        """From the sending to the last byte."""
        return self.ended - self.began

    @property
    def first(self):
        """Seconds to the first text, or None."""
        return self.at[0] if self.at else None

    @property
    def between(self):
        """Mean seconds for one more token after the first piece, or None where only one piece came."""
        if len(self.at) < 2 or not self.tokens or self.tokens < 2:
            return None
        return (self.at[-1] - self.at[0]) / (self.tokens - 1)


class Asker:
    """Asks with a hard deadline; `stop` ends the question under way, from another thread."""

    def __init__(self, place, path, seconds):
        self.place, self.path, self.seconds = place, path, seconds
        self.stopped = threading.Event()
        self._connection = None

    def stop(self):
        """Ask nothing more, and end what is under way."""
        self.stopped.set()
        if self._connection is not None:
            cut(self._connection)

    def ask(self, body):
        """Send one request and take its stream to the end; gives a Streamed, never raises."""
        found = Streamed()
        connection = http.client.HTTPConnection(self.place["host"], self.place["port"], timeout=self.seconds)
        self._connection = connection
        late = threading.Event()
        guard = threading.Timer(self.seconds, lambda: (late.set(), cut(connection)))
        guard.daemon = True
        guard.start()
        try:
            connection.request("POST", self.path, body=json.dumps(body).encode(), headers=self._headers())
            self._take(connection.getresponse(), found)
        except ConnectionRefusedError:
            found.error = "refused: nobody listens"
        except socket.timeout:
            found.error = "no answer in time"
        except (OSError, ValueError, http.client.HTTPException) as error:
            found.error = "no answer in time" if late.is_set() else str(error) or type(error).__name__
        finally:
            found.ended = time.monotonic()
            guard.cancel()
            connection.close()
        if found.error is None and late.is_set():
            found.error = "no answer in time"
        if found.error is None and not found.at:
            found.error = "it generated nothing"
        elif found.error is None and not found.whole:
            found.error = "the stream broke off"
        if found.tokens is None:
            found.tokens = len(found.at)
        return found

    def _headers(self):
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream", "Connection": "close"}
        if self.place.get("key"):
            headers["Authorization"] = "Bearer " + self.place["key"]
        return headers

    def _take(self, answer, found):
        if answer.status != 200:
            said = answer.read(4096).decode("utf-8", "replace").strip()[:200]
            found.error = "HTTP %d %s" % (answer.status, said)
            return
        for line in iter(answer.readline, b""):
            now = time.monotonic()
            if not line.startswith(b"data:"):
                continue
            data = line[5:].strip()
            if data == b"[DONE]":
                found.whole = True
                return
            self._event(json.loads(data), now, found)
            if found.error:
                return

    def _event(self, event, now, found):
        if not isinstance(event, dict):
            return
        if event.get("error"):
            error = event["error"]
            found.error = str(error.get("message", error) if isinstance(error, dict) else error)[:200]
            return
        usage = event.get("usage")
        if isinstance(usage, dict) and isinstance(usage.get("completion_tokens"), int):
            found.tokens, found.counted = usage["completion_tokens"], "usage"
            found.prompt_tokens = usage.get("prompt_tokens")
        if any(_text(choice) for choice in event.get("choices") or ()):
            found.at.append(now - found.began)


def _text(choice):
    delta = choice.get("delta") or {}
    return choice.get("text") or delta.get("content") or delta.get("reasoning_content") or delta.get("reasoning")
