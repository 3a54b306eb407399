"""`inv lint`: everything that can be known of playbooks without a host, as file:line:column: severity: message."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from cleanslate.cli.listing import known_playbooks
from cleanslate.cli.loading import PlayOptions, load
from cleanslate.cli.settings import Settings
from cleanslate.errors import InputError, Problem

OUTPUTS = ("text", "json", "sarif")


def lint(path: str, options: PlayOptions, settings: Settings, *, output: str) -> int:
    """Check playbooks; 64 when one has errors, 0 when there are only warnings. `output` is one of OUTPUTS."""
    if output not in OUTPUTS:
        raise InputError(f'there is no output "{output}"', fix=f"one of {', '.join(OUTPUTS)}")
    found: list[Problem] = []
    count = 0
    for playbook in known_playbooks(settings, path):
        count += 1
        try:
            found += load(replace(options, name=str(playbook)), settings, lint=True).warnings
        except InputError as error:
            found += error.problems
    found += _own_step_types(settings)
    found = sorted(dict.fromkeys(found), key=lambda problem: problem.origin or ("", 0, 0))
    errors = sum(1 for problem in found if problem.severity == "error")
    if output == "sarif":
        from cleanslate.cli.sarif import sarif

        print(json.dumps(sarif(found, settings.root), indent=2))
    elif output == "json":
        print(json.dumps([_shown(problem) for problem in found], indent=2))
    else:
        for problem in found:
            print(problem)
        print(f"{count} playbook{'' if count == 1 else 's'}, {errors} errors, {len(found) - errors} warnings")
    return 64 if errors else 0


def _own_step_types(settings: Settings) -> list[Problem]:
    """What is wrong with the repository's own step types, used or not."""
    from cleanslate.playbook.own import own_files, own_type

    found: list[Problem] = []
    for name in own_files(settings.root / "playbooks"):
        try:
            own_type(name, settings.root / "playbooks")
        except InputError as error:
            found += error.problems
    return found


def _shown(problem: Problem) -> dict[str, Any]:
    origin = problem.origin
    return {
        "file": origin.file if origin else None,
        "line": origin.line if origin else None,
        "column": origin.column if origin else None,
        "severity": problem.severity,
        "message": problem.what,
        "fix": problem.fix,
        "code": problem.code or None,
    }
