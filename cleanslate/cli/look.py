"""Looks at hosts as they are now, changing nothing: whether they are there, their system, driver and GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from cleanslate.cli.asking import connection_variables
from cleanslate.cli.loading import PlayOptions, vault_of
from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError, Origin
from cleanslate.model import Event, Inventory, Keywords, Play, Playbook, SourceMap, SourceText, Step
from cleanslate.record.observing import Observed
from cleanslate.redaction import Secrets

_SYSTEM = frozenset(("os", "kernel", "machine"))
_GPU = frozenset(("driver", "kernel_driver", "gpus"))
_SECONDS = 120.0


@dataclass
class Seen:
    """What a look found: hosts that are not in the inventory, why some could not be looked at, and the others."""

    gone: list[str] = field(default_factory=list)
    unseen: dict[str, str] = field(default_factory=dict)
    targets: dict[str, dict[str, Any]] = field(default_factory=dict)


def look(options: PlayOptions, root: Path, hosts: Sequence[str], known: Mapping[str, Mapping[str, Any]]) -> Seen:
    """Look at the hosts that took part, and at what is known of the targets; only what is known is looked for."""
    from cleanslate.inventory import load_inventory

    secrets = Secrets()
    seen = Seen()
    try:
        inventory = load_inventory(list(options.inventory), base=root, vault=vault_of(options, secrets))
    except InputError as error:
        seen.unseen["the inventory"] = error.what
        return seen
    there = {*inventory.hosts, "localhost"}
    seen.gone = [host for host in dict.fromkeys((*hosts, *known)) if host not in there]
    wanted = {"setup": _SYSTEM, "gpu_info": _GPU}
    steps = {
        name: [host for host in known if host in there and keys & set(known[host])] for name, keys in wanted.items()
    }
    if options.ask_pass or options.ask_become_pass or not any(steps.values()):
        return seen
    _ask(inventory, [_play(name, names, root) for name, names in steps.items() if names], options, root, secrets, seen)
    return seen


def _play(step_type: str, hosts: Sequence[str], root: Path) -> Play:
    origin = Origin("inv rerun")
    arguments = {"gather_subset": ["!all", "min"]} if step_type == "setup" else {"holders": False}
    words = Keywords(ignore_errors=True, ignore_unreachable=True, changed_when=(False,))
    step = Step(step_type, SourceMap(arguments, origin), words, origin, name=SourceText(f"Look ({step_type})"))
    pattern = SourceText(",".join(hosts))
    return Play(
        step.name, pattern, origin, root / "playbooks" / "look.yml", gather_facts=False, tasks=(step,), lease=False
    )


def _ask(
    inventory: Inventory, plays: Sequence[Play], options: PlayOptions, root: Path, secrets: Secrets, seen: Seen
) -> None:
    from cleanslate.connect.connections import RunConnections
    from cleanslate.runner.run import run_playbook
    from cleanslate.runner.settings import RunSettings

    observed = Observed()

    def told(event: Event) -> None:
        observed(event)
        if event.kind == "host.finished" and event.data["status"] in ("failed", "unreachable"):
            seen.unseen.setdefault(f"host {event.data['host']}", str(event.data["result"].get("msg") or "no answer"))

    connections = RunConnections(accept_new_host_keys=options.accept_new_host_keys, become_password=None)
    settings = RunSettings(
        base=root,
        connection_vars=connection_variables(options, secrets),
        become=True if options.become else None,
        become_user=options.become_user,
        step_deadline=_SECONDS,
        decrypt=vault_of(options, secrets),
    )
    try:
        run_playbook(
            Playbook(plays[0].playbook, tuple(plays)),
            inventory,
            settings,
            connections,
            secrets=secrets,
            listeners=[told],
            run_id="look",
        )
    finally:
        connections.close()
    seen.targets = observed.targets
