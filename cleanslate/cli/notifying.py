"""Decides whether a run that ended is news: it failed, or it is the first that went well after one that did not."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cleanslate.cli.settings import Settings
from cleanslate.errors import InputError, suggest
from cleanslate.report.notify import KINDS, Notify

_FAILURES = ("failed", "unreachable", "wedged", "error")
_KNOWN = ("command", "webhook", "on")


def notify_setting(given: Any) -> Notify:
    """The `notify` setting of invoke.yaml; InputError for what it cannot be."""
    if isinstance(given, str):
        given = {"webhook": given} if given.startswith(("http://", "https://", "$")) else {"command": given}
    given = dict(given.items()) if hasattr(given, "items") else given  # Invoke has mappings of its own
    if not isinstance(given, Mapping):
        raise InputError("invoke.yaml: notify is a command, an address, or a mapping of command, webhook and on")
    for key in given:
        if key not in _KNOWN:
            raise InputError(
                f'invoke.yaml: notify has no "{key}"', fix=suggest(str(key), _KNOWN) or f"known: {', '.join(_KNOWN)}"
            )
    on = given.get("on", KINDS)
    kinds = [on] if isinstance(on, str) else list(on)
    for kind in kinds:
        if kind not in KINDS:
            raise InputError(
                f'invoke.yaml: notify on "{kind}"', fix=suggest(str(kind), KINDS) or f"known: {', '.join(KINDS)}"
            )
    command = given.get("command")
    words = command if command is None or isinstance(command, str) else [str(word) for word in command]
    return Notify(words, given.get("webhook"), kinds)


def notify(settings: Settings, folder: Path) -> None:
    """Tell of a run that has just ended, if that is news; what goes wrong with that is a line on standard error."""
    setting = settings.notify
    if setting is None:
        return
    from cleanslate.record import read_events, read_run
    from cleanslate.report.notify import message, send
    from cleanslate.report.story import tell_story

    facts = read_run(folder)
    kind = news(settings.runs, folder, facts)
    if kind is None or kind not in setting.on:
        return
    body = message(tell_story(facts, read_events(folder, whole=False)), kind)
    environment = {
        "CLEANSLATE_RUN": str(facts["id"]),
        "CLEANSLATE_OUTCOME": str(facts.get("outcome")),
        "CLEANSLATE_PLAYBOOK": Path(str(facts["playbook"])).stem,
        "CLEANSLATE_RECORD": str(folder),
    }
    for trouble in send(setting, kind, body, environment):
        print(f"warning: {trouble}", file=sys.stderr)


def news(runs: Path, folder: Path, facts: Mapping[str, Any]) -> str | None:
    """`failure`, `recovery`, or None. Check mode, interruptions and hosts held by others are no news."""
    from cleanslate.record import walk_runs

    if facts.get("check"):
        return None
    if facts.get("outcome") in _FAILURES:
        return "failure"
    if facts.get("outcome") != "ok":
        return None
    name, hosts = Path(str(facts["playbook"])).stem, set(facts.get("hosts") or ())
    for run in walk_runs(runs):
        same = run.folder != folder and run.name == name and not run.check and hosts & set(run.hosts)
        if same and run.outcome in ("ok", *_FAILURES):
            return None if run.outcome == "ok" else "recovery"
    return None
