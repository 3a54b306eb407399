"""The tasks for those who work on cleanslate itself: the gate and its parts, the reference, extras."""

from __future__ import annotations

from typing import Any

from cleanslate.cli.ours import task


@task(help={"fast": "only the fast part of the tests", "static": "everything but the tests"})
def check(context: Any, fast: bool = False, static: bool = False) -> int:
    """Run the gate: format, lint, types, imports, docs fresh, playbooks, tests."""
    from cleanslate.cli.develop import check as run
    from cleanslate.cli.settings import project_root

    return run(project_root(), fast=fast, static=static)


@task(
    positional=["path"],
    help={
        "path": "a test file or folder",
        "fast": "leave out the slow ones",
        "match": "only tests whose name matches",
        "failed": "only those that failed the last time, one after the other",
        "against_ansible": "instead, ask ansible-core 2.19 again for all that the tests hold against it; with PATH, "
        "only for expressions, steps, inventories or projects",
    },
    short={"match": "k"},
)
def test(
    context: Any,
    path: str = "",
    fast: bool = False,
    match: str | None = None,
    failed: bool = False,
    against_ansible: bool = False,
) -> int:
    """Run the tests."""
    from cleanslate.cli.develop import against_ansible as compare
    from cleanslate.cli.develop import test as run
    from cleanslate.cli.settings import project_root

    if against_ansible:
        return compare(project_root(), [path] if path else [])
    return run(project_root(), [path] if path else [], fast=fast, match=match, failed=failed)


@task(
    positional=["row"],
    help={"row": "start-up, one-host, fifty-hosts, latency, files, scale, waiting or events; without it, all of them"},
)
def bench(context: Any, row: str = "") -> int:
    """Measure us beside other tools (which are installed), and write the figures into docs/speed.md: ten minutes."""
    from cleanslate.cli.develop import bench as run

    return run([row] if row else [])


@task()
def fix(context: Any) -> int:
    """Format the code and mend what the linter can mend."""
    from cleanslate.cli.develop import fix as run
    from cleanslate.cli.settings import project_root

    return run(project_root())


@task(help={"check": "only say whether they are fresh"})
def docs(context: Any, check: bool = False) -> int:
    """Write the reference pages from the step types."""
    from cleanslate.cli.settings import project_root
    from cleanslate.cli.step_pages import write_reference

    return write_reference(project_root(), only_check=check)


@task(positional=["name"], help={"name": "ansible: Ansible's own modules (apt, user, community.general...)"})
def extras(context: Any, name: str) -> int:
    """Install what an extra of cleanslate needs, beside it."""
    from cleanslate.cli.develop import extras as run

    return run(name)


TASKS = (check, test, bench, fix, docs, extras)
