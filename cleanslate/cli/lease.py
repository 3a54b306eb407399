"""`inv lease show` and `inv lease release --steal`: who works on a host, and taking it away from them."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleanslate.cli.settings import Settings
from cleanslate.errors import InputError

if TYPE_CHECKING:
    from cleanslate.cli.loading import PlayOptions
    from cleanslate.connect.target import Target
    from cleanslate.model import Inventory

_DEADLINE = 30.0
_EVENTS = {"began": "began", "ended": "ended", "robbed": "was robbed of its lease"}


def lease(
    action: str, host: str, options: PlayOptions, settings: Settings, *, run: str | None, steal: bool, as_json: bool
) -> int:
    """Show or take away the leases of one host."""
    from cleanslate.connect.connections import RunConnections

    if action not in ("show", "release"):
        raise InputError(f'there is no "inv lease {action}"', fix="show or release")
    if action == "release" and not steal:
        raise InputError(
            "a lease ends by itself when its run ends; while the run goes, it can only be taken away",
            fix=f"stop the run (inv stop), or: inv lease release --steal {host}",
        )
    connections = RunConnections(accept_new_host_keys=settings.accept_new_host_keys)
    try:
        target = _target(host, options, settings, connections)
        return _show(host, target, as_json=as_json) if action == "show" else _steal(host, target, run, settings)
    finally:
        connections.close()


def _target(host: str, options: PlayOptions, settings: Settings, connections: Any) -> Target:
    """The host as a play would reach it, as the user that it would log in as (or become)."""
    from cleanslate.inventory import load_inventory, match_hosts
    from cleanslate.model import Keywords, Play
    from cleanslate.redaction import Secrets
    from cleanslate.runner.bus import Bus
    from cleanslate.runner.reach import target_of
    from cleanslate.runner.scope import PlayScope
    from cleanslate.runner.settings import RunSettings
    from cleanslate.runner.variables import VariableWorld
    from cleanslate.runner.world import World

    sources = [text if "," in text else str(Path(text).absolute()) for text in options.inventory]
    inventory: Inventory = load_inventory(sources or list(settings.inventory), base=Path.cwd())
    names = match_hosts(host, inventory)
    if len(names) != 1:
        raise InputError(f'"{host}" is {len(names)} hosts', fix="name one")
    from cleanslate.errors import Origin

    playbook = settings.root / "playbooks" / "lease.yml"
    play = Play(None, host, Origin("command line"), playbook)
    run_settings = RunSettings(base=settings.root, become=True if options.become else None)
    secrets = Secrets()
    variables = VariableWorld(inventory, run_settings, playbook, secrets, {})
    world = World(run_settings, variables, connections, Bus(secrets, ()), secrets)
    scope = PlayScope(play, [], hosts_all=names)
    seen = variables.of_play(names[0], scope)
    return target_of(world, scope, Keywords(), seen, names[0], delegated=False)


def _show(host: str, target: Target, *, as_json: bool) -> int:
    from cleanslate.connect.lease import holder_text, when_text

    told = target.call("leases.show", {}, deadline=_DEADLINE, read_only=True)
    if as_json:
        print(json.dumps({"host": host, **told.values}, indent=2))
        return 0
    for one in told["leases"]:
        print(f"{host}: {holder_text(one)}")
    if not told["leases"]:
        print(f"{host}: nobody holds it")
    for entry in told["journal"]:
        outcome = f": {entry['outcome']}" if entry.get("outcome") else ""
        by = f" by {entry['by']} on {entry['by_from']}" if entry.get("by") else ""
        event = _EVENTS.get(entry["event"], entry["event"])
        when = when_text(entry["at"])
        print(f"  {when}  {entry['run']}  {entry['playbook']}  {entry['who']} on {entry['from']}  {event}{by}{outcome}")
    return 0


def _steal(host: str, target: Target, run: str | None, settings: Settings) -> int:
    from cleanslate.connect.lease import holder_text
    from cleanslate.record import note_robbery
    from cleanslate.runner.run import who

    me, here = who(), socket.gethostname()
    told = target.call("leases.steal", {"who": me, "come_from": here, "run": run}, deadline=_DEADLINE)
    for one in told["robbed"]:
        print(f"{host}: taken away: {holder_text(one)}")
        print("  what that run has under way goes on until its next step; then it stops, with exit 5")
    if not told["robbed"]:
        print(f"{host}: nobody holds it{f' for run {run}' if run else ''}")
    try:
        note_robbery(settings.runs, host, me, here, told["robbed"])
    except OSError as error:
        print(f"warning: this is not on record here, only there: {settings.runs}: {error.strerror}", file=sys.stderr)
    return 0
