"""`plugin: community.proxmox.proxmox`: the nodes and guests of a Proxmox cluster, with that plugin's options.

Containers also get `hypervisor` and `vmid`, by which cleanslate reaches them through their node.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlencode

from cleanslate.errors import CleanslateError, InputError, Origin
from cleanslate.inventory.assembly import assign
from cleanslate.inventory.constructed import Constructed
from cleanslate.inventory.plugins import PluginContext, check_options
from cleanslate.inventory.proxmox_api import Api, Refused
from cleanslate.inventory.tree import forget_structure, set_depths
from cleanslate.model import SourceMap, SourceText
from cleanslate.render import Variables

_TEXTS = {
    "url": "http://localhost:8006",
    "user": None,
    "password": None,
    "token_id": None,
    "token_secret": None,
    "group_prefix": "proxmox_",
    "facts_prefix": "proxmox_",
    "hostname": None,
    "qemu_hostname": None,
    "lxc_hostname": None,
}
_FLAGS = {
    "validate_certs": True,
    "want_facts": False,
    "want_post_filter_facts": False,
    "qemu_extended_statuses": False,
    "want_proxmox_nodes_ansible_host": False,
    "exclude_nodes": False,
    "exclude_vms": False,
}
_NUMBERS = {"api_timeout": 5, "facts_concurrency": 1}
_OTHERS = ("filters", "strict", "compose", "groups", "keyed_groups", "leading_separator", "use_extra_vars")
_CACHE = ("cache", "cache_plugin", "cache_timeout", "cache_connection", "cache_prefix")  # asked anew in each run
_FROM_ENVIRONMENT = ("url", "user", "password", "token_id", "token_secret")
_WHOLE = ("description",)  # settings that are texts, whatever stands in them
_DISKS = ("virtio", "sata", "ide", "scsi")


def read(options: SourceMap, context: PluginContext) -> None:
    """Ask the cluster, and add what it has; what cannot be asked is noted at the option that it depends on."""
    known = check_options(options, (*_TEXTS, *_FLAGS, *_NUMBERS, *_OTHERS, *_CACHE), context)
    plugin = _Proxmox(options, context)
    if not plugin.checked() or not known:
        return
    try:
        plugin.add_all()
    except InputError as error:
        for problem in error.problems:
            at = problem.origin or options.value_origin("url") or Origin(context.file)
            context.assembly.problems.add(f"proxmox: {problem.what}", at, fix=problem.fix)
    set_depths(context.assembly.inventory)
    forget_structure(context.assembly.inventory)


class _Proxmox:
    def __init__(self, options: SourceMap, context: PluginContext) -> None:
        self.options = options
        self.context = context
        self.assembly = context.assembly
        self.origin = Origin(context.file)
        self.constructed = Constructed(options, context)
        self.renderer = self.constructed.renderer
        self.added: dict[str, str] = {}  # the cluster's names of guests -> ours

    # ------------------------------------------------------------------ options

    def checked(self) -> bool:
        """Whether the options have the right shape, and there is what a login needs."""
        count = len(self.assembly.problems.found)
        kinds = ((_FLAGS, bool, "yes or no"), (_NUMBERS, int, "a number"))
        for names, kind, said in kinds:
            for name in names:
                if not isinstance(self.options.get(name, kind()), kind):
                    self._mistake(name, f'"{name}" takes {said}')
        if not isinstance(self.options.get("filters", []), list):
            self._mistake("filters", '"filters" takes a list of expressions')
        if not self.text("user"):
            self._mistake("plugin", "the plugin needs a user", "user: name@pve, or PROXMOX_USER")
        elif not self.text("password") and not (self.text("token_id") and self.text("token_secret")):
            self._mistake("plugin", "the plugin needs a password, or token_id and token_secret")
        return self.constructed.checked() and len(self.assembly.problems.found) == count

    def _mistake(self, name: str, what: str, fix: str | None = None) -> None:
        self.assembly.problems.add(what, self.options.value_origin(name) or self.origin, fix=fix)

    def text(self, name: str) -> str:
        """An option that is text: as written, rendered; else from the environment; else its default."""
        value = self.options.get(name)
        if value is None and name in _FROM_ENVIRONMENT:
            value = os.environ.get(f"PROXMOX_{name.upper()}")
        if value is None:
            return _TEXTS[name] or ""
        if not isinstance(value, SourceText):
            return str(value)
        try:
            return str(self.renderer.render(value, Variables([], self.renderer)))
        except CleanslateError as error:
            self._mistake(name, f'"{name}" cannot be worked out: {error.what}', error.fix)
            return ""

    def flag(self, name: str) -> bool:
        """An option that is yes or no."""
        return bool(self.options.get(name, _FLAGS[name]))

    # ------------------------------------------------------------------ what is added

    def add_all(self) -> None:
        """Everything that the cluster has and the options let through."""
        api = Api(self.text("url").rstrip("/"), float(self.options.get("api_timeout", 5)), self.flag("validate_certs"))
        secret = (self.text("token_id"), self.text("token_secret"))
        api.log_in(self.text("user"), self.text("password"), None if self.text("password") else secret)
        states = ["lxc", "qemu", "running", "stopped", "templates"]
        for name in [*states, *(("prelaunch", "paused") if self.flag("qemu_extended_statuses") else ())]:
            self._group(f"all_{name}")
        guests = [] if self.flag("exclude_vms") else api.get("cluster/resources?type=vm")
        for node in api.get("nodes"):
            self._add_node(api, node)
            if node.get("status") != "offline":
                for kind in ("lxc", "qemu"):
                    self._group(f"{node['node']}_{kind}")
                here = [one for one in guests if one.get("node") == node["node"] and one.get("type") in ("lxc", "qemu")]
                self._add_guests(api, here)
        self._add_pools(api)

    def _add_node(self, api: Api, node: Mapping[str, Any]) -> None:
        if self.flag("exclude_nodes"):
            return
        values: dict[str, Any] = {}
        if self.flag("want_proxmox_nodes_ansible_host") and node.get("status") != "offline":
            faces = api.tried(f"nodes/{node['node']}/network", [])
            address = next((face["address"] for face in faces if face.get("address")), None)
            values = {"ansible_host": address} if address else {}
        name = self._named(("hostname",), {**node, "name": node["node"]}, str(node["node"]))
        self._add_host(name, self._group("nodes"), values)

    def _add_guests(self, api: Api, guests: list[Mapping[str, Any]]) -> None:
        wanted = self.flag("want_facts")
        with ThreadPoolExecutor(max(1, int(self.options.get("facts_concurrency", 1)))) as pool:
            facts = pool.map(lambda one: self._facts(api, one) if wanted else {}, guests)
            for guest, more in zip(guests, facts, strict=True):
                self._add_guest(api, guest, more)

    def _add_guest(self, api: Api, guest: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        name, kind, node = str(guest.get("name") or guest["vmid"]), guest["type"], guest["node"]
        template = bool(guest.get("template"))
        known = {"node": node, "vmid": guest["vmid"], "vmtype": kind, "name": name, "status": guest.get("status")}
        values = {self._fact(word): value for word, value in {**known, "template": template}.items()}
        if guest.get("tags"):
            values[self._fact("tags")] = guest["tags"]
        values |= facts
        if not self._passes(name, values):
            return
        if self.flag("want_post_filter_facts") and not self.flag("want_facts"):
            values |= self._facts(api, guest)
        if kind == "lxc":
            values |= {"hypervisor": node, "vmid": guest["vmid"]}
        ours = self._named((f"{kind}_hostname", "hostname"), guest, name)
        self.added[name] = ours
        if template:
            self._add_host(ours, self._group("all_templates"), values)
            return
        state = guest.get("status")
        if state == "running" and kind == "qemu" and self.flag("qemu_extended_statuses"):
            state = values.get(self._fact("qmpstatus"), state)
        groups = [self._group(one) for one in (f"all_{kind}", f"{node}_{kind}", f"all_{state}")]
        self._add_host(ours, groups[0], values, *groups[1:])

    def _add_host(self, name: str, group: str, values: Mapping[str, Any], *more: str) -> None:
        host = self.assembly.host(name, group, self.origin, self.context.path)
        for other in more:
            self.assembly.host(name, other, self.origin, self.context.path)
        for key, value in values.items():
            assign(host, key, value, self.origin, self.origin)
        set_depths(self.assembly.inventory)
        self.constructed.construct(host)

    def _add_pools(self, api: Api) -> None:
        for pool in api.tried("pools", []):
            if pool.get("poolid"):
                group = self._group(f"pool_{pool['poolid']}")
                found = api.tried(f"pools?{urlencode({'poolid': pool['poolid']})}", [{}])
                for member in found[0].get("members", ()):
                    if member.get("name") in self.added:
                        self.assembly.host(self.added[member["name"]], group, self.origin, self.context.path)

    # ------------------------------------------------------------------ names and conditions

    def _group(self, name: str) -> str:
        made = _safe(self.text("group_prefix") + name.lower())
        self.assembly.group(made, self.origin)
        return made

    def _fact(self, name: str) -> str:
        return _safe(self.text("facts_prefix") + name.lower())

    def _named(self, options: tuple[str, ...], values: Mapping[str, Any], default: str) -> str:
        template = next((self.options[one] for one in options if self.options.get(one)), None)
        if template is None:
            return default
        return str(self.renderer.render(template, Variables([dict(values)], self.renderer)))

    def _passes(self, name: str, values: Mapping[str, Any]) -> bool:
        """Whether every filter lets a guest through; one that cannot be worked out does, unless `strict`."""
        variables = Variables([dict(values)], self.renderer)
        for condition in self.options.get("filters") or ():
            try:
                if not self.renderer.expression(condition, variables):
                    return False
            except CleanslateError as error:
                if self.options.get("strict") is True:
                    raise InputError(f"the filter {condition} for {name}: {error.what}") from None
        return True

    # ------------------------------------------------------------------ facts

    def _facts(self, api: Api, guest: Mapping[str, Any]) -> dict[str, Any]:
        """What the cluster knows of one guest; why it is not known where it refuses to tell."""
        place = f"nodes/{guest['node']}/{guest['type']}/{guest['vmid']}"
        try:
            state = api.get(f"{place}/status/current")
            found = {"status": state["status"]}
            if guest["type"] == "qemu":
                found["qmpstatus"] = state.get("qmpstatus")
            found |= dict(self._settings(api, place))
            found["snapshots"] = [one["name"] for one in api.get(f"{place}/snapshot") if one["name"] != "current"]
        except Refused as error:
            return {self._fact("fact_gathering_failed"): True, self._fact("fact_gathering_error"): str(error)}
        if guest["type"] == "lxc" and found["status"] == "running":
            faces = api.tried(f"{place}/interfaces", None) or []
            kept = ("name", "hwaddr", "inet", "inet6")
            found["lxc_interfaces"] = [{key: face[key] for key in kept if key in face} for face in faces]
        return {self._fact(name): value for name, value in found.items()}

    def _settings(self, api: Api, place: str) -> Iterator[tuple[str, Any]]:
        for name, value in api.get(f"{place}/config").items():
            if name == "tags" and value.strip():
                yield "tags_parsed", [tag.strip() for tag in value.strip().replace(",", ";").split(";")]
            if name == "agent" and str(value).split(",")[0] in ("1", "enabled=1"):
                faces = list(_agent_faces(api.tried(f"{place}/agent/network-get-interfaces", {})))
                if faces:
                    yield "agent_interfaces", faces
            if name == "lxc":
                yield name, {key.removeprefix("lxc."): inner for key, inner in value}
                continue
            text = f"disk_image={value}" if name == "rootfs" or name.startswith(_DISKS) else value
            yield name, text if name in _WHOLE else _parts(text)


def _parts(value: Any) -> Any:
    """`a=1,b=2` as a map; everything else as it is."""
    if not isinstance(value, str) or not all("=" in part for part in value.split(",")):
        return value
    return dict(part.split("=", 1) for part in value.split(","))


def _agent_faces(answer: Any) -> Iterator[dict[str, Any]]:
    faces = answer.get("result") if isinstance(answer, Mapping) else None
    for face in faces if isinstance(faces, list) else ():
        addresses = [f"{one['ip-address']}/{one['prefix']}" for one in face.get("ip-addresses", ())]
        yield {"name": face["name"], "mac-address": face.get("hardware-address", ""), "ip-addresses": addresses}


def _safe(name: str) -> str:
    """A name without blanks, and with an underscore for what no name can have."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name.replace(" ", ""))
