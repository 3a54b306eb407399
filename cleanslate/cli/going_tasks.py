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
    from cleanslate.cli.loading import PlayOptions
    from cleanslate.cli.settings import settings_of

    options = PlayOptions("", inventory or (), become=become)
    return work(action, host, options, settings_of(context), run=run, steal=steal, as_json=json)


@task(
    positional=["run"],
    iterable=["extra_vars", "vault_id", "vault_password_file"],
    incrementable=["verbose"],
    short={"extra_vars": "e", "verbose": "v"},
    help={
        "run": _RUN,
        "force": "also where the part that was done reads differently now",
        "unfinished": "what to do with commands that may have run: again, or done (take them as done)",
        "wait": "how long to wait for hosts that another run holds (10m)",
        "extra_vars": "variables that the record does not keep, since they are secret",
        "vault_id": "as for inv play",
        "vault_password_file": "as for inv play",
        "ask_vault_password": "as for inv play",
        "output": "console, plain, json or quiet",
        "verbose": "show results",
    },
)
def resume(
    context: Any,
    run: str = "last",
    force: bool = False,
    unfinished: str | None = None,
    wait: str | None = None,
    extra_vars: Any = None,
    vault_id: Any = None,
    vault_password_file: Any = None,
    ask_vault_password: bool = False,
    output: str | None = None,
    verbose: int = 0,
) -> int:
    """Go on with a run that failed, was stopped or was lost: on each host at its first step without a result."""
    given = dict(locals())
    del given["context"], given["run"]
    from cleanslate.cli.resume import ResumeOptions
    from cleanslate.cli.resume import resume as work
    from cleanslate.cli.settings import settings_of

    return work(run, ResumeOptions(**given), settings_of(context))


@task(
    positional=["run"],
    incrementable=["verbose"],
    short={"verbose": "v"},
    help={"run": _RUN, "output": "console, plain, json or quiet", "verbose": "show results"},
)
def attach(context: Any, run: str = "last", output: str = "console", verbose: int = 0) -> int:
    """Follow a run that goes in the background; Ctrl-C leaves it going."""
    from cleanslate.cli.background import attach as work
    from cleanslate.cli.settings import settings_of

    return work(settings_of(context), run, output, verbose)


@task(positional=["run"], help={"run": _RUN, "wait": "how long to wait for its end (1m)"})
def stop(context: Any, run: str = "last", wait: str = "1m") -> int:
    """Stop a run as Ctrl-C would: always parts run, leases end, and it can be resumed."""
    from cleanslate.cli.background import stop as work
    from cleanslate.cli.play import seconds_of
    from cleanslate.cli.settings import settings_of

    return work(settings_of(context), run, seconds_of(wait))


TASKS = (lease, resume, attach, stop)
