"""The tasks about runs that were made: list, show, compare, repeat, hand on, report."""

from __future__ import annotations

from typing import Any

from cleanslate.cli.ours import task

_RUN = "an id, a prefix of one, last, last-good, last-failed, or PLAYBOOK@-2"


@task(
    short={"count": "n"},
    help={
        "json": "as JSON",
        "count": "how many, the newest first; 0 for all",
        "playbook": "only of this playbook: its name, or a pattern",
        "host": "only those that this host took part in: a name, or a pattern",
        "outcome": "only ok, failed, unreachable, wedged, interrupted, error, or none (not ended)",
        "since": "only since: 3h, 2d, today, 2026-01-31",
    },
)
def runs(
    context: Any,
    json: bool = False,
    count: int = 20,
    playbook: str | None = None,
    host: str | None = None,
    outcome: str | None = None,
    since: str | None = None,
) -> int:
    """List the runs that were made, the newest first."""
    from cleanslate.cli.runs import show_runs, since_when
    from cleanslate.cli.settings import settings_of
    from cleanslate.record import Wanted

    wanted = Wanted(playbook, host, outcome, since_when(since) if since else None)
    return show_runs(settings_of(context), wanted, count, as_json=json)


@task(
    positional=["run"],
    incrementable=["verbose"],
    short={"verbose": "v"},
    help={
        "run": _RUN,
        "step": "only this step, with its result: its number, its name, or a pattern",
        "host": "only this host: a name, or a pattern",
        "json": "as JSON",
        "verbose": "show results",
    },
)
def show(
    context: Any,
    run: str = "last",
    step: str | None = None,
    host: str | None = None,
    json: bool = False,
    verbose: int = 0,
) -> int:
    """Show a run again, as it was told while it went."""
    from cleanslate.cli.runs import show_run
    from cleanslate.cli.settings import settings_of

    return show_run(settings_of(context), run, step=step, host=host, as_json=json, verbosity=verbose)


@task(
    positional=["before", "after"],
    help={"before": f"{_RUN}; the last but one", "after": "another; the last one", "json": "as JSON"},
)
def diff(context: Any, before: str = "@-2", after: str = "last", json: bool = False) -> int:
    """Compare two runs: what was put in differently, and what came of it."""
    from cleanslate.cli.diff import show_diff
    from cleanslate.cli.settings import settings_of

    return show_diff(settings_of(context), before, after, as_json=json)


@task(
    positional=["run"],
    iterable=["extra_vars", "vault_password_file"],
    short={"extra_vars": "e", "yes": "y"},
    help={
        "run": f"{_RUN}; or a file that inv export made",
        "yes": "go on without asking, whatever cannot be the same",
        "extra_vars": "a secret that the record does not have: name=value (may be repeated)",
        "vault_password_file": "the vault password file, where it is not where it was",
    },
)
def rerun(context: Any, run: str, yes: bool = False, extra_vars: Any = None, vault_password_file: Any = None) -> int:
    """Make a run again: its commit, changes, inventory, variables and flags; says first what cannot be the same."""
    from cleanslate.cli.rerun import rerun as make
    from cleanslate.cli.settings import settings_of

    return make(
        settings_of(context),
        run,
        yes=yes,
        extra_vars=extra_vars or (),
        vault_password_file=vault_password_file or (),
    )


@task(
    positional=["run", "file"],
    help={"run": _RUN, "file": "the file to write; ID.cleanslate.tar.gz here, if none is named"},
)
def export(context: Any, run: str = "last", file: str = "") -> int:
    """Write a run and the code that it needs into one file, which a teammate can give to inv rerun."""
    from cleanslate.cli.runs import export_run
    from cleanslate.cli.settings import settings_of

    return export_run(settings_of(context), run, file)


@task(
    positional=["run"],
    help={
        "run": _RUN,
        "html": "write a page that needs nothing else: timeline, GPU memory, differences, logs (- is standard output)",
        "junit": "write JUnit XML (- is standard output)",
    },
)
def report(context: Any, run: str = "last", html: str | None = None, junit: str | None = None) -> int:
    """Write a report of a run: a page for people, JUnit XML for machines."""
    from cleanslate.cli.reporting import report as write
    from cleanslate.cli.settings import settings_of

    return write(settings_of(context), run, html=html, junit=junit)


TASKS = (runs, show, diff, rerun, export, report)
