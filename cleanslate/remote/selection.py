"""Which processes belong to a server: the union of what is known about it, less what must never be touched.

No single trace is enough. Workers leave the launcher's tree, group and even its cgroup (sglang#23627), rewrite
their titles (vllm PR#21445), and survive the process that holds the port (vllm#55510).
"""

from cleanslate.remote import (
    containers,
    gpu_devices,
    ladder,
    listeners,
    matching,
    processes,
    protection,
    server_state,
)
from cleanslate.remote.engines import ENGINES, defaults
from cleanslate.remote.registry import Failed


class Selection:
    """What to look for. Made once; `find` looks at the process table as it is at that moment.

    name: of the server, for its state file. engines: names, None for the launched one's or all by default.
    port: whose listener is part of it. holders: whether every holder of the GPUs in here is part of it (None: when
    this is a container). gpus: device numbers that holders are limited to. extra: the user's own patterns.
    protect: names or pids that are never part of it.
    """

    def __init__(self, name=None, engines=None, port=None, holders=None, gpus=None, extra=None, protect=None):
        self.state = server_state.read(name) if name else None
        self.name = name
        self.engines = self._engines(engines)
        self.port = port if port is not None else (self.state or {}).get("port")
        self.holders = containers.inside_one() if holders is None else holders
        self.gpus = None if gpus is None else {int(number) for number in gpus}
        self.protect = list(protect or ())
        self.patterns = matching.patterns(self.engines, extra)
        self.fronts = matching.front_texts(self.engines)
        self.spared = {}
        self.blind = 0
        self.believed = self._believed()

    def _engines(self, given):
        if given is None:
            launched = (self.state or {}).get("engine")
            return [launched] if launched in ENGINES else defaults()
        unknown = [name for name in given if name not in ENGINES]
        if unknown:
            known = ", ".join(ENGINES)
            raise Failed("wrong", 'no engine is called "%s"; known are %s' % (unknown[0], known))
        return list(given)

    def _believed(self):
        """Whether the state file speaks of this boot and this PID namespace."""
        state = self.state
        if not state:
            return False
        boot, namespace = state.get("boot_id"), state.get("pid_namespace")
        return boot in (None, server_state.boot_id()) and namespace in (None, server_state.pid_namespace())

    def find(self, known=()):
        """Everything that belongs to the server now, as [(process, why)]; `known` are keys found before.

        What has ended is left out, and so is what must not be touched; the latter is noted in `spared`.
        """
        table = processes.table()
        own = processes.ourselves(table)
        others = self._others(table)
        why = {}
        self._recorded(table, why)
        self._by_pattern(table, why)
        self._by_port(table, why)
        self._by_device(table, why)
        for key in known:
            if key[0] in table and table[key[0]].key == key:
                why.setdefault(key[0], "found before")
        # Nothing follows from what is spared: the children of a protected process are not the server's.
        why = {pid: reason for pid, reason in why.items() if self._may_touch(table[pid], reason, own, others)}
        self._groups(table, why, known)
        self._below(table, why)
        found = [pid for pid in sorted(why) if self._may_touch(table[pid], why[pid], own, others)]
        return [(table[pid], why[pid]) for pid in found if not table[pid].gone]

    def zombies(self):
        """What of the server has ended and was not reaped by its parent, as [{..., parent}]."""
        dead = [process for process in processes.table().values() if process.gone and self._was_ours(process)]
        return [dict(process.tell(), parent=ladder.parent_of(process.key)) for process in dead]

    def _was_ours(self, process):
        if self.believed and process.key == (self.state["pid"], self.state.get("start")):
            return True
        return matching.match(process.comm, [], self.patterns) is not None

    def _recorded(self, table, why):
        """The launched process itself, and the group and session that the launch made."""
        if not self.believed:
            return
        state = self.state
        first = state["pid"]
        self._kept(table, why)
        leader = table.get(first)
        if leader is not None and leader.start != state.get("start"):
            return  # the number belongs to a stranger by now, and so does any group of that name
        # Only a group or session that the launch itself made: any other may have other people's processes in it.
        for process in table.values():
            if process.pid == first:
                why[process.pid] = "launched as %s" % self.name
            elif process.pgid == first:
                why[process.pid] = "in the process group of the launch"
            elif process.sid == first:
                why[process.pid] = "in the session of the launch"

    def _kept(self, table, why):
        """What lives below the launch's keeper: it takes in every orphan of the server, and ends with the last."""
        keeper = self.state.get("keeper") or {}
        kept = table.get(keeper.get("pid"))
        if kept is not None and kept.start == keeper.get("start"):
            why.update(dict.fromkeys(processes.descendants([kept.pid], table), "below the keeper of the launch"))

    def _by_pattern(self, table, why):
        for process in table.values():
            if process.pid in why or process.kernel or process.gone:
                continue
            met = matching.match(process.comm, process.argv, self.patterns)
            if met and processes.same_namespace(process):
                kind, text, engine = met
                why[process.pid] = "%s: %s %s" % (engine, _KIND_WORDS[kind], text)

    def _by_port(self, table, why):
        if self.port is None:
            return
        for pid in listeners.listening_on(int(self.port), table):
            why.setdefault(pid, "listens on port %s" % self.port)

    def _by_device(self, table, why):
        """Holders of the GPUs in here. One of a namespace below is another container's business."""
        if not self.holders:
            return
        majors = gpu_devices.device_majors()
        self.blind = 0
        for process in table.values():
            if process.pid in why or process.kernel or process.gone:
                continue
            used = gpu_devices.used_by(process, majors)
            self.blind += used is None and process.pid > 1
            if used is None or not used.holds or not processes.same_namespace(process):
                continue
            if self.gpus is None or self.gpus & set(used.minors):
                numbers = ", ".join(str(number) for number in used.minors)
                why[process.pid] = "holds GPU %s" % numbers if numbers else "holds GPU memory"

    def _groups(self, table, why, known):
        """The group and session of each one found that leads one. One led by somebody else says nothing."""
        leaders = {pid for pid in why if pid in (table[pid].pgid, table[pid].sid)}
        leaders |= {key[0] for key in known if key[0] not in table}  # one of ours that has died meanwhile
        for process in table.values():
            if process.pid in why:
                continue
            if process.pgid in leaders:
                why[process.pid] = "in the process group of %d" % process.pgid
            elif process.sid in leaders:
                why[process.pid] = "in the session of %d" % process.sid

    def _below(self, table, why):
        for pid, parent in processes.descendants(list(why), table).items():
            why.setdefault(pid, "child of %d" % parent)

    def _others(self, table):
        """Processes of other launched servers, as {pid: name}."""
        found = {}
        for name in server_state.names():
            if name == self.name:
                continue
            try:
                state = server_state.read(name)
            except Failed:
                continue
            if not state or not server_state.alive(state):
                continue
            mine = {p.pid for p in table.values() if state["pid"] in (p.pid, p.pgid, p.sid)}
            for pid in mine | set(processes.descendants(list(mine), table)):
                found[pid] = name
        return found

    def _may_touch(self, process, why, own, others):
        reason = self._sparing(process, own, others)
        if reason is None:
            return True
        self.spared[process.key] = dict(process.tell(), why=why, spared=reason)
        return False

    def _sparing(self, process, own, others):
        if process.kernel or process.pid <= 1:
            return "the machine's own"
        if process.pid in own:
            return "this very run, or what it came from"
        if process.pid in others:
            return "belongs to the server %s" % others[process.pid]
        if protection.named(process, self.protect):
            return "protected by name"
        by = protection.protector(process)
        return "protected: %s" % by if by else None

    def mains(self, found):
        """The keys to ask first: the launched process, else the engines' front processes, else those without a parent
        among the found.
        """
        if self.believed:
            recorded = [process.key for process, _ in found if process.key == (self.state["pid"], self.state["start"])]
            if recorded:
                return recorded
        fronts = [process.key for process, _ in found if self._is_front(process)]
        if fronts:
            return fronts
        pids = {process.pid for process, _ in found}
        return [process.key for process, _ in found if process.ppid not in pids]

    def _is_front(self, process):
        met = matching.match(process.comm, process.argv, self.patterns)
        return met is not None and met[1] in self.fronts


_KIND_WORDS = {"titles": "title", "modules": "module", "commands": "command", "scripts": "script"}
