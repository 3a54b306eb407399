"""Tells others how a run ended: by a command, or by a webhook with a body that Slack (and what imitates it) takes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cleanslate.dataclass import dataclass

if TYPE_CHECKING:
    from cleanslate.report.story import RunStory

KINDS = ("failure", "recovery")
_COLORS = {"failure": "#c0303b", "recovery": "#2b7a6b"}
_COMMAND_SECONDS = 60
_WEBHOOK_SECONDS = 15
_MOST_REASONS = 5
_LONG = 300  # characters of a reason


@dataclass(frozen=True)
class Notify:
    """The `notify` setting: a command (text for a shell, or words), a webhook's address, and what to tell of."""

    command: str | Sequence[str] | None = None
    webhook: str | None = None
    on: Sequence[str] = KINDS


def message(story: RunStory, kind: str) -> dict[str, Any]:
    """The body: `text` says it in one line, an attachment says why, where and how to see more."""
    facts = story.facts
    name = PurePosixPath(str(facts.get("playbook") or "run")).stem
    hosts = ", ".join(str(host) for host in facts.get("hosts") or ()) or "no host"
    said = "is well again" if kind == "recovery" else str(facts.get("outcome") or "ended")
    fields = [
        ("run", facts.get("id")),
        ("by", f"{facts.get('user')} on {facts.get('controller')}"),
        ("took", f"{float(facts.get('seconds') or 0):.0f} s"),
        ("see", f"inv show {facts.get('id')}"),
    ]
    return {
        "text": _escaped(f"{name} {said} on {hosts}"),
        "attachments": [
            {
                "color": _COLORS[kind],
                "text": _escaped("\n".join(_reasons(story))),
                "fields": [{"title": title, "value": _escaped(value), "short": True} for title, value in fields],
            }
        ],
    }


def _reasons(story: RunStory) -> list[str]:
    found = [
        f"{one.host}: {step.name}: {_first(one.result.get('msg') or one.status)}"
        for step in story.steps
        for one in step.hosts.values()
        if one.bad
    ]
    more = len(found) - _MOST_REASONS
    return [*found[:_MOST_REASONS], *([f"and {more} more"] if more > 0 else [])]


def _first(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    line = next(iter(text.strip().splitlines()), "")
    return line if len(line) <= _LONG else f"{line[:_LONG]}..."


def _escaped(value: Any) -> str:
    """Text in which Slack sees no links, mentions or channels."""
    return str(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def send(notify: Notify, kind: str, body: Mapping[str, Any], environment: Mapping[str, str]) -> list[str]:
    """Tell it by every way that is set; gives what went wrong, in words that show no address."""
    troubles = []
    if notify.command:
        troubles.append(_run(notify.command, body, {**environment, "CLEANSLATE_KIND": kind}))
    if notify.webhook:
        troubles.append(_post(os.path.expandvars(notify.webhook), body))
    return [trouble for trouble in troubles if trouble]


def _run(command: str | Sequence[str], body: Mapping[str, Any], environment: Mapping[str, str]) -> str | None:
    """Run a command with the body on its standard input."""
    shell = isinstance(command, str)
    try:
        done = subprocess.run(
            command,
            shell=shell,
            input=json.dumps(body).encode(),
            env={**os.environ, **environment},
            capture_output=True,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the notify command did not run: {error}"
    if done.returncode == 0:
        return None
    said = _first((done.stderr or done.stdout).decode("utf-8", "replace"))
    return f"the notify command ended with exit code {done.returncode}" + (f": {said}" if said else "")


def _post(address: str, body: Mapping[str, Any]) -> str | None:
    """Post the body as JSON. The address often is a secret, so only its host is ever shown."""
    import urllib.error
    import urllib.request

    place = urlsplit(address)
    if place.scheme not in ("http", "https") or not place.hostname:
        return "the notify webhook is no address that begins with https://"
    request = urllib.request.Request(
        address, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=_WEBHOOK_SECONDS):
            return None
    except urllib.error.HTTPError as error:
        with error:
            return f"the notify webhook at {place.hostname} answered {error.code} {error.reason}"
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        return f"the notify webhook at {place.hostname} cannot be reached: {type(reason).__name__}"
