"""Waits until a server has no request under way, by its own word; what it does not tell is unknown, not zero."""

import time

from cleanslate.remote import asking
from cleanslate.remote.registry import Failed, reads
from cleanslate.remote.serving import Server

_TICK = 0.1
_TELL = 1.0
_ANSWER = 10.0
_BARREN = 3  # rounds in which no source of a server that answers told a number


@reads
def wait(call, server, limit, settle=0.3):
    """Wait up to `limit` seconds for 0 requests in flight, seen for `settle` on end; `server` are Server's arguments.

    Gives {in_flight, most, seconds, source, serving, who}. Where no server is there, serving is False and in_flight
    None. Failed kinds: timeout (in_flight says how many are left), unknown (it never told), unsupported, wrong.
    """
    return _Drain(call, Server(**server), limit, settle).run()


class _Drain:
    def __init__(self, call, server, within, settle):
        self.call = call
        self.server = server
        self.sources = list(server.profile.get("load") or ())
        if not self.sources:
            what = "%s tells nobody how many requests it has" % server.engine
            raise Failed("unsupported", what, fix="stop_server drains with its grace; or ask what is in front of it")
        self.within, self.settle = within, settle
        self.began = time.monotonic()
        self.counts = []
        self.told = None
        self.said = []
        self.barren = 0
        self.zero_since = None
        self.told_at = 0.0

    def run(self):
        """Ask until it is empty, gone, or time is over."""
        while True:
            now = time.monotonic()
            if self.server.gone:
                return self._result(serving=False)
            count = self._count()
            if count is None:
                self.zero_since = None
                self._judge_silence()
            else:
                self.counts.append(count)
                self.zero_since = (self.zero_since or now) if count == 0 else None
                if count == 0 and time.monotonic() - self.zero_since >= self.settle:
                    return self._result(serving=True)
            if now - self.began >= self.within or self.call.left() <= 0:
                raise self._late(count)
            self._tell(now, count)
            if self.call.cancelled.wait(_TICK):
                raise Failed("cancelled", "the wait for %s to drain was ended" % self.server.who)

    def _count(self):
        """How many requests are in flight now, or None; the source that answers first is kept."""
        self.said = []
        left = max(0.5, self.began + self.within - time.monotonic())
        for source in [self.told] if self.told else self.sources:
            found, wrong = asking.reading(self.server.place, source, min(_ANSWER, left))
            if wrong is None:
                self.told = source
                return int(sum(found.values()))
            self.said.append(wrong)
        return None

    def _judge_silence(self):
        """A server that answers and has no source at all will never have one."""
        absent = self.said and all(": HTTP 4" in each or "does not tell" in each for each in self.said)
        self.barren = self.barren + 1 if absent and not self.counts else 0
        if self.barren >= _BARREN:
            offs = [source["off"] for source in self.sources if source.get("off")]
            what = "%s does not say how many requests it has: %s" % (self.server.who, "; ".join(self.said))
            raise Failed("unsupported", what, fix=offs[0] if offs else None, in_flight=None)

    def _late(self, count):
        facts = {"in_flight": count, "most": max(self.counts, default=None), "said": self.said}
        if count is None:
            what = "whether %s has requests is unknown after %.0f s: %s"
            what = what % (self.server.who, self.within, "; ".join(self.said))
            return Failed("unknown", what, fix="it hangs or is unreachable: stop_server ends it either way", **facts)
        what = "%s still has %s after %.0f s" % (self.server.who, _requests(count), self.within)
        return Failed("timeout", what, fix="is new load kept away from it? else give it longer with `within`", **facts)

    def _result(self, serving):
        return {
            "serving": serving,
            "in_flight": 0 if serving else None,
            "most": int(max(self.counts)) if self.counts else None,
            "source": self.told["path"] if self.told else None,
            "seconds": round(time.monotonic() - self.began, 2),
            "who": self.server.who,
        }

    def _tell(self, now, count):
        if now - self.told_at < _TELL:
            return
        self.told_at = now
        said = "requests unknown (%s)" % "; ".join(self.said) if count is None else _requests(count)
        self.call.progress(text="%s, %.0f s" % (said, now - self.began), in_flight=count)


def _requests(count):
    return "1 request" if count == 1 else "%d requests" % count
