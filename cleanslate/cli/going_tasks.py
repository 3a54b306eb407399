"""The tasks about runs that go or have stopped: who holds a host, go on, follow, stop."""

from __future__ import annotations

from typing import Any

from cleanslate.cli.ours import task

_RUN = "an id, a prefix of one, last, last-good, last-failed, or PLAYBOOK@-2"
_INVENTORY = "inventory: a file, a folder, a script, or hosts with commas (may be repeated)"


@task(
    positional=["action", "host"],
    iterable=["inventory"],
    short={"inventory": "i", "become": "b"},
    help={
        "action": "show, or release (with --steal)",
        "host": "the host",
        "inventory": _INVENTORY,
        "run": "only this run's lease",
        "steal": "take the lease away from whoever holds it; both sides keep it on record",
        "become": "look, or take, as root",
        "json": "as JSON",
    },
)
def lease(
    context: Any,
    action: str,
    host: str,
    inventory: Any = None,
    run: str | None = None,
    steal: bool = False,
    become: bool = False,
    json: bool = False,
) -> int:
    """Show who works on a host, or take it away from them: inv lease show gpu1."""
    from cleanslate.cli.lease import lease as work
    from cleanslate.cli.play import PlayOptions
    from cleanslate.cli.settings import settings_of

    options = PlayOptions("", inventory or (), become=become)
    return work(action, host, options, settings_of(context), run=run, steal=steal, as_json=json)


TASKS = (lease,)
