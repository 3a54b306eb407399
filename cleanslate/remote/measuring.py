"""Puts load on a server from its own machine and measures what comes back: streamed completions, several at once."""

import json
import statistics
import threading
import time

from cleanslate.remote import asking
from cleanslate.remote.registry import Failed, changes
from cleanslate.remote.serving import Server
from cleanslate.remote.streaming import Asker

_PATHS = {"chat": "/v1/chat/completions", "completions": "/v1/completions"}
_TELL = 1.0
_TICK = 0.05
SUMMED = (
    *("tokens_per_second", "requests_per_second", "first_token_p50", "first_token_p95", "between_p50", "between_p95"),
    *("gap_p50", "gap_p95", "request_p50", "request_p95", "accept_length"),
)
"""What each round gives, and the result sums up as median, low and high."""


@changes  # it changes nothing, but it is load, and must not come in check mode
def run(call, server, load, limit):
    """Measure; the prompts come along as JSON. Gives {levels, model, counted, prompt_tokens, seconds, notes}.

    server: the arguments of Server. load: {api, model, body, max_tokens, temperature, concurrency: [n], requests,
    repetitions, warm_up, request_seconds}. levels: [{concurrency, requests, errors: {text: count}, first_errors,
    metrics: {name: {median, low, high, rounds} or None}}]. Failed kinds: wrong, failed (warm-up or all requests),
    timeout (what was measured so far is in `levels`).
    """
    prompts = json.loads(call.blob.read().decode("utf-8"))
    return _Measurement(call, Server(**server), load, prompts, limit).run()


class _Measurement:
    def __init__(self, call, server, load, prompts, limit):
        self.call, self.server, self.load, self.prompts = call, server, load, prompts
        self.path = _PATHS[load["api"]]
        self.until = time.monotonic() + limit
        self.limit = limit
        self.levels = []
        self.counted = set()
        self.prompt_tokens = []
        self.next = 0
        self.notes = []
        self.told_at = 0.0

    def run(self):
        """Warm up, then every level, its rounds one after the other."""
        began = time.monotonic()
        self.model = self.load["model"] or self._model()
        self._warm_up()
        for concurrency in self.load["concurrency"]:
            self.levels.append(self._level(concurrency))
        if self.counted == {"pieces"}:
            self.notes.append("it does not tell how many tokens it gave: pieces of the stream were counted instead")
        return dict(self._known(), seconds=round(time.monotonic() - began, 2))

    def _known(self):
        return {
            "levels": self.levels,
            "model": self.model,
            "counted": "usage" if self.counted == {"usage"} else "pieces",
            "prompt_tokens": statistics.median(self.prompt_tokens) if self.prompt_tokens else None,
            "notes": self.notes,
        }

    def _model(self):
        status, data = asking.ask(self.server.place, "GET", "/v1/models", seconds=10.0)
        if status == "refused":
            raise Failed("failed", "nobody listens on port %d: %s does not run" % (self.server.port, self.server.who))
        try:
            return json.loads(data)["data"][0]["id"] if status == 200 else "default"
        except (ValueError, LookupError, TypeError):
            return "default"

    def _body(self):
        prompt = self.prompts[self.next % len(self.prompts)]
        self.next += 1
        body = {
            "model": self.model,
            "max_tokens": self.load["max_tokens"],
            "temperature": self.load["temperature"],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self.load["api"] == "chat":
            body["messages"] = prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt}]
        else:
            body["prompt"] = prompt
        return dict(body, **self.load["body"])

    def _warm_up(self):
        """Requests that do not count; when none of them comes through, nothing else will."""
        count = self.load["warm_up"]
        if not count:
            return
        done, _ = self._round(min(count, max(self.load["concurrency"])), count, "warm-up")
        if done and all(each.error for each in done):
            raise Failed("failed", "%s answers no request: %s" % (self.server.who, done[0].error))

    def _level(self, concurrency):
        count = self.load["requests"] or max(2 * concurrency, len(self.prompts))
        rounds, errors = [], {}
        self.next = 0  # each level and round asks the same, in the same order
        for number in range(self.load["repetitions"]):
            self.next = 0
            before = self._accepts()
            what = "%d at once, round %d of %d" % (concurrency, number + 1, self.load["repetitions"])
            done, seconds = self._round(concurrency, count, what)
            for each in done:
                if each.error:
                    errors[each.error] = errors.get(each.error, 0) + 1
            good = [each for each in done if not each.error]
            self.counted |= {each.counted for each in good}
            self.prompt_tokens += [each.prompt_tokens for each in good if each.prompt_tokens]
            rounds.append(dict(measured(good, seconds), accept_length=self._accepted(before)))
        failed = sum(errors.values())
        level = {"concurrency": concurrency, "requests": count * len(rounds), "failed": failed, "errors": errors}
        level["metrics"] = {name: summed([each[name] for each in rounds]) for name in SUMMED}
        return level

    def _round(self, concurrency, count, what):
        """Send `count` requests with so many at once; ([Streamed], seconds from the first to the last byte)."""
        bodies = [self._body() for _ in range(count)]
        done, lock = [], threading.Lock()
        askers = [Asker(self.server.place, self.path, self.load["request_seconds"]) for _ in range(concurrency)]

        def work(asker):
            while not asker.stopped.is_set():
                with lock:
                    if not bodies:
                        return
                    body = bodies.pop(0)
                one = asker.ask(body)
                with lock:
                    done.append(one)

        threads = [threading.Thread(target=work, args=(asker,), daemon=True) for asker in askers]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                self._look(what, len(done), count)
                self.call.cancelled.wait(_TICK)
        finally:
            for asker in askers:
                asker.stop()
            for thread in threads:
                thread.join(2.0)
        return done, max((each.ended for each in done), default=began) - began

    def _look(self, what, done, count):
        now = time.monotonic()
        if self.call.cancelled.is_set():
            raise Failed("cancelled", "the measurement was ended")
        if now >= self.until or self.call.left() <= 0:
            said = "the measurement is not over after %.0f s (%s, %d of %d requests)" % (self.limit, what, done, count)
            raise Failed("timeout", said, fix="fewer requests or tokens, or more time with `within`", **self._known())
        if now - self.told_at >= _TELL:
            self.told_at = now
            self.call.progress(text="%s: %d of %d requests" % (what, done, count), done=done, requests=count)

    # ------------------------------------------------------------------ what the engine says of its speculation

    def _accepts(self):
        """The numbers from which an accept length is told, or None where the engine tells none."""
        source = self.server.profile.get("accepts")
        if source is None:
            return None
        found, wrong = asking.reading(self.server.place, source, 10.0)
        return None if wrong else [found[name] for name in source["names"]]

    def _accepted(self, before):
        after = self._accepts()
        if after is None:
            return None
        if len(after) == 1:
            return after[0]
        accepted, drafts = (late - early for late, early in zip(after, before or [0.0, 0.0]))  # noqa: B905 - runs on Python 3.8
        return 1 + accepted / drafts if drafts > 0 else None


def measured(good, seconds):
    """The numbers of one round from its requests that came through, in seconds; None where there is nothing to tell."""
    gaps = [late - early for each in good for early, late in zip(each.at, each.at[1:])]  # noqa: B905 - as below
    found = {
        "tokens_per_second": sum(each.tokens for each in good) / seconds if good and seconds > 0 else None,
        "requests_per_second": len(good) / seconds if good and seconds > 0 else None,
    }
    between = [each.between for each in good if each.between is not None]
    samples = (("first_token", [each.first for each in good]), ("between", between), ("gap", gaps))
    for name, values in (*samples, ("request", [each.seconds for each in good])):
        found[name + "_p50"], found[name + "_p95"] = percentile(values, 50), percentile(values, 95)
    return found


def percentile(values, share):
    """The value below or at which `share` percent lie, between neighbours in proportion; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    place = (len(ordered) - 1) * share / 100.0
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def summed(values):
    """{median, low, high, rounds} of the rounds that gave a value, or None where none did."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    told = {"median": statistics.median(known), "low": min(known), "high": max(known)}
    return dict({name: round(value, 5) for name, value in told.items()}, rounds=len(known))
