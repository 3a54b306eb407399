"""Waits until a launched server really serves, or says at once and exactly why it will not.

Each tick asks in this order: does the process live; did it write a line after which it never comes up; do its
workers live; is the ready line there, and HTTP, and a generation, and as many workers as ranks. Silence alone is no
verdict: silence without CPU, reading or GPU memory moving is.
"""

import statistics
import time

from cleanslate.remote import (
    commandline,
    exits,
    launch_spec,
    listeners,
    processes,
    server,
    server_state,
    specs,
    wait_report,
)
from cleanslate.remote.logfile import Log
from cleanslate.remote.paths import expand
from cleanslate.remote.probing import Prober
from cleanslate.remote.profiles import PROFILES
from cleanslate.remote.registry import Failed, changes, reads
from cleanslate.remote.startup import Startup
from cleanslate.remote.vitals import GpuWatch, Vitals

_TICK = 0.1
_TELL = 1.0
_LAST_WORDS = 1.0
_MUTE = 3


@reads
def wait(call, options):
    """Wait until it serves; gives what was seen. `options` are those of `Watch`.

    Failed kinds: unknown (no such launch), died, fatal, worker, silent, mute, foreign, timeout.
    """
    watch = Watch(call, **options)
    try:
        return watch.run()
    finally:
        watch.close()


class Watch:
    """One wait.

    name: of a launched server; without it only HTTP and `log` are watched. engine, port, host: None for what the
    launch knows. ready_line, health_path, fatal, workers (0: not counted): instead of, or beside, the profile's.
    probe: {requests, seconds, path, body} or None for no generation. silence: seconds, {phase: seconds}, or None.
    """

    def __init__(
        self,
        call,
        within,
        name=None,
        engine=None,
        port=None,
        host=None,
        ready_line=None,
        health_path=None,
        fatal=(),
        workers=None,
        probe=None,
        silence=None,
        log=None,
        api_key=None,
    ):
        self.call = call
        self.within = within
        self.name = name
        self.state = self._launched(name)
        self.engine = engine or (self.state or {}).get("engine") or "http"
        self.profile = PROFILES[self.engine]
        self.said = commandline.settings(self.engine, (self.state or {}).get("argv") or [])
        self.port = port or (self.state or {}).get("port") or self.profile["port"]
        self.host = host or _host(self.said.get("host"))
        self.silence = silence
        self.ranks = workers if workers is not None else commandline.ranks(self.said)
        self.other_node = (commandline.number(self.said.get("rank") or 0) or 0) > 0
        own_log = (self.state or {}).get("log")
        self.log_path = own_log or (expand(log) if log else None)
        self.log = Log(self.log_path, at_end=own_log is None) if self.log_path else None
        if own_log is None and ready_line is None:
            ready_line = ""  # a line from before the wait cannot be told from one of this start
        self.startup = Startup(self.profile, ready_line, fatal)
        self.vitals = Vitals(self.state, self.profile.get("workers")) if self.state else None
        self.gpus = GpuWatch(call, self.vitals) if self.state else None
        self.prober = self._prober(health_path, probe, api_key)
        if self.prober is None and self.startup.ready is None and not self.other_node:
            raise Failed("wrong", "nothing tells when %s serves: give its port, its engine or a ready_line" % self.who)
        self.began = time.monotonic()
        self.spoke_at = self.began
        self.fatal_at = None
        self.told_at = 0.0
        self.usual = self._usual()

    @staticmethod
    def _launched(name):
        if name is None:
            return None
        state = server_state.read(name)
        if state is None:
            known = ", ".join(server_state.names()) or "none"
            raise Failed("unknown", "no server was launched here under the name %s; known are %s" % (name, known))
        return state

    @property
    def who(self):
        """What is waited for, in words."""
        return self.name or "the server on port %s" % self.port

    def _prober(self, health_path, probe, api_key):
        if self.port is None or self.other_node:
            return None  # another node's rank serves a dummy health (GPU fact 99)
        asked = probe or {}
        own = [{"path": asked["path"], "body": asked.get("body") or {}}] if asked.get("path") else None
        plan = {
            "host": self.host,
            "port": self.port,
            "path": health_path or self.profile["health"]["path"],
            "seconds": self.profile["health"]["seconds"],
            "probe": (own or self.profile["probe"]) if probe is not None else [],
            "requests": asked.get("requests", 1),
            "probe_seconds": asked.get("seconds", 60.0),
            "key": api_key or self.said.get("key"),
        }
        return Prober(plan)

    def _usual(self):
        """How long this very specification took before, in seconds, or None."""
        state = self.state or {}
        mine = launch_spec.digest(state.get("identity"))
        served = [each for each in state.get("history") or () if each.get("healthy_after")]
        took = [each["healthy_after"] for each in served if each.get("identity") == mine]
        return round(statistics.median(took)) if took else None

    # ------------------------------------------------------------------ the loop

    def run(self):
        """Tick until there is a verdict."""
        self.startup.begin(self.began)
        if self.prober:
            self.prober.start()
        if self.gpus:
            self.gpus.start()
        while True:
            now = time.monotonic()
            self._listen(now)
            self._judge(now)
            if self._serves(now):
                return wait_report.success(self, now)
            if now - self.began >= self.within or self.call.left() <= 0:
                raise self._failure("timeout", *wait_report.missing(self, now))
            self._tell(now)
            if self.call.cancelled.wait(_TICK):
                raise Failed("cancelled", "the wait for %s was ended" % self.who, **wait_report.seen(self, now))

    def close(self):
        """End what runs beside the loop."""
        for thread in (self.prober, self.gpus):
            if thread is not None and thread.ident is not None:
                thread.stop()

    def _listen(self, now):
        if self.log is not None:
            texts = self.log.read()
            if texts:
                self.spoke_at = now
                self.startup.take(texts, now)
        if self.vitals is not None:
            self.vitals.look(now)
            if self.gpus.changed_at and self.gpus.changed_at > self.vitals.active_at:
                self.vitals.moved(self.gpus.changed_at)

    def _judge(self, now):
        """Raise as soon as it is certain that it does not come up."""
        if self.state is not None and not server_state.alive(self.state) and not self._only_stepped_aside():
            raise self._death(now)
        if self.startup.verdict:
            self.fatal_at = self.fatal_at or now
            if now - self.fatal_at >= _LAST_WORDS:
                said = self.startup.verdict
                raise self._failure("fatal", "%s will not come up: %s" % (self.who, said["line"]), said["hint"])
        if self.vitals is None:
            return
        dead = self.vitals.dead_worker(now)
        if dead:
            what = "a worker of %s has died: pid %d (%s)" % (self.who, dead[0], dead[1])
            raise self._failure("worker", what, "its traceback stands in the log, far above the last line")
        self._judge_silence(now)
        if self.prober and self.prober.failed >= _MUTE and self.prober.http == 200 and self.startup.ready_enough:
            what = "%s says that it is ready and generates nothing: %s" % (self.who, self.prober.said)
            raise self._failure(
                "mute", what, "the engine hangs behind its HTTP server: stop_server with diagnose: true"
            )

    def _only_stepped_aside(self):
        """A launcher that ended well while what it started lives on under its keeper."""
        server.wait_for_end(self.state)
        end = exits.ending(self.state)
        if not end or end.get("code") != 0:
            return False
        self.vitals.look(time.monotonic(), always=True)
        return bool(self.vitals.found)

    def _judge_silence(self, now):
        quiet = now - self.spoke_at
        idle = now - max(self.spoke_at, self.vitals.active_at)
        phase = self.startup.phase
        limit = self._limit(phase)
        if idle < limit:
            return
        what = "%s is silent %s for %.0f s, no CPU used" % (self.who, phase["said"], quiet)
        if self.startup.last:
            what += "; its last line: " + self.startup.last[:200]
        raise self._failure("silent", what, wait_report.silence_hint(phase))

    def _limit(self, phase):
        """How long nothing at all may happen in a phase."""
        if isinstance(self.silence, dict):
            limit = self.silence.get(phase["name"], phase["silence"])
        elif self.silence is not None:
            return self.silence
        else:
            limit = phase["silence"]
        watchdog = commandline.number(self.said.get("watchdog")) if self.said.get("watchdog") else None
        return max(limit, watchdog + 60) if watchdog and phase["name"] == "warm-up" else limit

    def _serves(self, now):
        if not self.startup.ready_enough or (self.prober is not None and not self.prober.done):
            return False
        if self.vitals is None:
            return True
        self.vitals.look(now, always=True)
        if self.ranks and self.vitals.workers and self.vitals.living_workers < self.ranks:
            return False
        self._refuse_strangers()
        return True

    def _refuse_strangers(self):
        """What answers on the port must be this server, not one that was left over there."""
        if self.prober is None:
            return
        table = processes.table()
        there = listeners.listening_on(self.port, table)
        mine = {each.pid for each in self.vitals.found}
        if there and not mine & set(there):
            other = table[there[0]]
            what = "port %d is answered by pid %d (%s), which is no part of %s"
            what = what % (self.port, other.pid, other.title[:80], self.who)
            raise self._failure("foreign", what, "stop that one first: stop_server finds it by port")

    def _death(self, now):
        current = server_state.read(self.name) or self.state
        replaced = current.get("launch_id") != self.state["launch_id"]
        died = server.died(self.state if replaced else current)
        if replaced:
            died.message += "; meanwhile launch %s has taken its place" % current["launch_id"]
        ago = time.time() - (died.details["exit"]["at"] or time.time())
        if ago > now - self.began + 1:
            died.message += "; that was %.0f s before this wait began" % (ago - (now - self.began))
        self._listen(now)
        return Failed("died", died.message, **dict(wait_report.seen(self, now), **died.details))

    def _failure(self, kind, what, fix):
        return Failed(kind, what, fix=fix, **wait_report.seen(self, time.monotonic()))

    def _tell(self, now):
        if now - self.told_at >= _TELL:
            self.told_at = now
            self.call.progress(**wait_report.progress(self, now))


def _host(said):
    return said if said and said not in ("0.0.0.0", "::", "*", "localhost") else "127.0.0.1"


@changes
def note(call, name, launch_id, seconds):
    """Remember how long a launch took to serve, for the estimates of later ones; gives {noted}."""
    state = server_state.read(name)
    if state is None or state.get("launch_id") != launch_id or state.get("healthy_after"):
        return {"noted": False}
    server_state.write(dict(state, healthy_after=seconds, healthy_at=time.time()))
    specs.served(name, launch_id)
    return {"noted": True}
