"""What a server's log tells of its start: the phase, shards, the ready line, a line after which it never comes up."""

import re

_BAR = re.compile(r"(?P<what>[^|\r\n]*?):?\s*(?P<percent>\d{1,3})%.*?(?P<done>\d+)/(?P<all>\d+)")


_BAR_WIDTH = 400
_LONGEST = 2000


def _short(text):
    """A line without its middle where it is very long: patterns are searched in what people would read."""
    return text if len(text) <= 2 * _LONGEST else text[:_LONGEST] + " ... " + text[-_LONGEST:]


class Startup:
    """The state of a start so far. `ready` and `fatal` are patterns of the user's, on top of the profile's.

    ready: None means the profile's own, the empty text that no line is waited for. now: seconds, any clock.
    """

    def __init__(self, profile, ready=None, fatal=()):
        self.phases = profile["phases"]
        self.markers = [(place, re.compile(each["marker"])) for place, each in enumerate(self.phases) if each["marker"]]
        wanted = profile["ready"] if ready is None else ready
        self.ready = re.compile(wanted) if wanted else None
        patterns = [(text, "this is a line that the playbook calls fatal") for text in fatal] + list(profile["fatal"])
        self.fatal = [(re.compile(text), hint) for text, hint in patterns]
        self.place = 0
        self.times = []
        self.is_ready = False
        self.verdict = None
        self.shards = None
        self.bar = None
        self.last = None

    def begin(self, now):
        """Start the clock of the first phase."""
        self.times = [(self.phases[0]["name"], now)]

    def take(self, texts, now):
        """Take what the log says now."""
        for text in map(_short, texts):
            self.last = text.strip()[-300:]
            self._phase(text, now)
            self._progress(text)
            if self.ready is not None and self.ready.search(text):
                self.is_ready = True
            if self.verdict is None:
                self._fatal(text)

    def _phase(self, text, now):
        for place, marker in self.markers:
            if place > self.place and marker.search(text):
                self.place, self.bar = place, None
                self.times.append((self.phases[place]["name"], now))

    def _progress(self, text):
        found = _BAR.search(text[-_BAR_WIDTH:]) if "%" in text else None
        if not found:
            return
        done, whole = int(found["done"]), int(found["all"])
        self.bar = {"what": found["what"].strip()[-60:], "done": done, "all": whole}
        if "shard" in found["what"].lower():
            self.shards = [done, whole]

    def _fatal(self, text):
        for pattern, hint in self.fatal:
            if pattern.search(text):
                self.verdict = {"line": text.strip()[-300:], "hint": hint}
                return

    @property
    def phase(self):
        """The phase that the start is in."""
        return self.phases[self.place]

    @property
    def ready_enough(self):
        """Whether the ready line was seen, or none is waited for."""
        return self.is_ready or self.ready is None

    def timeline(self, now):
        """[{name, seconds}] of the phases so far."""
        found, end = [], now
        for name, at in reversed(self.times):
            found.insert(0, {"name": name, "seconds": round(end - at, 1)})
            end = at
        return found
