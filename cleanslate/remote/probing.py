"""Asks a server over HTTP whether it serves, in the background: its health path, then real generations.

A generation is the proof. Static endpoints answer 200 with a dead engine (GPU fact 83), and health itself stays 200
while a scheduler hangs (fact 86). One answer may take twenty seconds and more, so the asking has a thread of its
own, and the one who watches the process is never kept waiting.
"""

import json
import threading
import time

from cleanslate.remote import asking

_POLL = 0.2
_SLOW_POLL = 1.0


class Prober(threading.Thread):
    """Asks until stopped, as `plan` says.

    plan: {host, port, path, seconds, probe: [{path, body, model}], requests, probe_seconds, key}.
    `http` is the last status (a number, or refused, timeout, or what went wrong), `answered` the generations in a row,
    `failed` how often one did not come, `said` the last one's trouble, `text` what was generated.
    """

    def __init__(self, plan):
        super().__init__(daemon=True)
        self.plan = plan
        self.http = None
        self.http_seconds = None
        self.answered = 0
        self.failed = 0
        self.said = None
        self.text = None
        self.took = []
        self.ended = threading.Event()
        self._connection = None
        self._form = None

    @property
    def done(self):
        """Whether it serves: health says 200 and as many generations came as were asked for."""
        return self.http == 200 and (not self.plan["probe"] or self.answered >= self.plan["requests"])

    def run(self):
        """Ask for health; while that is 200, for generations."""
        while not self.ended.is_set():
            began = time.monotonic()
            status, _ = self._ask("GET", self.plan["path"], None, self.plan["seconds"])
            self.http, self.http_seconds = status, round(time.monotonic() - began, 3)
            if status == 200 and self.plan["probe"] and not self.done:
                self._generate()
                if self.answered:
                    continue
            self.ended.wait(_POLL if status in ("refused", 200) else _SLOW_POLL)

    def stop(self):
        """End it now, in the middle of a question too."""
        self.ended.set()
        if self._connection is not None:
            asking.cut(self._connection)
        self.join(1.0)

    def _generate(self):
        """Ask for one short generation, in the first form that the server knows."""
        forms = [self._form] if self._form else self.plan["probe"]
        for form in forms:
            began = time.monotonic()
            status, data = self._ask("POST", form["path"], self._body(form), self.plan["probe_seconds"])
            if status in (404, 405) and form is not forms[-1]:
                continue
            text = generated(data) if status == 200 else None
            if text is None:
                self.failed, self.answered = self.failed + 1, 0
                self.said = "%s: %s" % (form["path"], _trouble(status, data))
                return
            self._form, self.text, self.said = form, text[:200], None
            self.answered += 1
            self.took.append(round(time.monotonic() - began, 3))
            return

    def _body(self, form):
        body = dict(form["body"])
        if form.get("model") and "model" not in body:
            status, data = self._ask("GET", "/v1/models", None, 10.0)
            try:
                body["model"] = json.loads(data)["data"][0]["id"] if status == 200 else "default"
            except (ValueError, LookupError, TypeError):
                body["model"] = "default"
        return body

    def _ask(self, method, path, body, seconds):
        """(status or what went wrong, bytes); `end` cuts it off."""
        return asking.ask(self.plan, method, path, body, seconds, self._keep)

    def _keep(self, connection):
        self._connection = connection


def _trouble(status, data):
    if status == "timeout":
        return "no answer in time"
    said = data.decode("utf-8", "replace").strip()[:200]
    return "HTTP %s %s" % (status, said) if isinstance(status, int) else str(status)


def generated(data):
    """The text in an answer of any of the engines, or None where there is no generation in it.

    An empty text counts only where the answer says that tokens were generated.
    """
    try:
        value = json.loads(data)
    except ValueError:
        return None
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return None
    text = _text(value)
    if text:
        return text
    counted = (value.get("usage") or {}).get("completion_tokens") or (value.get("meta_info") or {}).get(
        "completion_tokens"
    )
    return "" if text is not None and counted else None


def _text(value):
    choices = value.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        first = choices[0]
        message = first.get("message") if isinstance(first.get("message"), dict) else {}
        return first.get("text", message.get("content") or message.get("reasoning_content") or "")
    for name in ("text", "generated_text", "content", "response"):
        if isinstance(value.get(name), str):
            return value[name]
    return None
