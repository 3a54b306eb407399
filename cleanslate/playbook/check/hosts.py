"""Host patterns of plays against the inventory, and against what earlier plays add to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cleanslate.errors import CleanslateError, InputError, Origin, Problems
from cleanslate.model import Inventory, Play
from cleanslate.playbook.check.handlers import as_pattern
from cleanslate.playbook.check.survey import Survey
from cleanslate.playbook.forms import ALL_ARGUMENTS
from cleanslate.playbook.values import templated

_MAKERS = {
    "add_host": ("name", "hostname", "host", "groups", "groupname", "group"),
    "group_by": ("key", "parents"),
}


def check_hosts(
    surveys: Sequence[Survey], inventory: Inventory, extra_vars: Mapping[str, Any], problems: Problems
) -> None:
    """Note every play whose hosts are nowhere: names that exist neither in the inventory nor by an earlier step."""
    made: list[re.Pattern[str]] = []
    for survey in surveys:
        _check_play(survey.play, inventory, extra_vars, made, problems)
        made += _made(survey)


def _check_play(
    play: Play,
    inventory: Inventory,
    extra_vars: Mapping[str, Any],
    made: Sequence[re.Pattern[str]],
    problems: Problems,
) -> None:
    from cleanslate.inventory import match_hosts

    subject = f'play "{play.name}"' if play.name else "play"
    origin = _place(play)
    hosts = _rendered(play, inventory, extra_vars, subject, origin, problems)
    if not hosts:
        return
    noted = Problems()
    try:
        match_hosts(hosts, inventory, problems=noted)
    except InputError as error:
        noted.include(error)
    if noted.found and any(pattern.fullmatch(name) for name in _literal_names(hosts) for pattern in made):
        return
    for problem in noted.found:
        severity = problem.severity if _literal_names(hosts) else "warning"
        said = f"{subject}: {problem.what}"
        problems.add(said, problem.origin or origin, fix=problem.fix, severity=severity, code="no-such-host")


def _place(play: Play) -> Origin:
    hosts = play.hosts
    first = hosts[0] if isinstance(hosts, list) and hosts else hosts
    return getattr(first, "origin", None) or getattr(hosts, "origin", None) or play.origin


def _rendered(
    play: Play,
    inventory: Inventory,
    extra_vars: Mapping[str, Any],
    subject: str,
    origin: Origin,
    problems: Problems,
) -> Any:
    hosts = play.hosts
    if not any(templated(part) for part in (hosts if isinstance(hosts, list) else [hosts])):
        return hosts
    from cleanslate.inventory import match_hosts
    from cleanslate.render import Renderer, Variables

    groups = {name: match_hosts(name, inventory) for name in inventory.groups}
    renderer = Renderer()
    try:
        return renderer.render(hosts, Variables([play.vars, {"groups": groups}, extra_vars], renderer))
    except CleanslateError as error:
        fix = "give the variable with -e, or a default in the template: target | default('all')"
        problems.add(f'{subject}: "hosts" cannot be told: {error.what}', error.origin or origin, fix=fix)
        return None


def _literal_names(hosts: Any) -> list[str]:
    """The names of hosts and groups in a pattern that add hosts (`!x` and `&x` only take away)."""
    from cleanslate.inventory.patterns import split_pattern

    words = [word for word in split_pattern(hosts) if word[0] not in "!&~" and not re.search(r"[*?]", word)]
    return [re.sub(r"\[-?\d*(?:[:-]-?\d*)?\]\Z", "", word) for word in words]


def _made(survey: Survey) -> list[re.Pattern[str]]:
    """Names of hosts and groups that the play's add_host and group_by steps may make."""
    anything = re.compile(".*")
    found: list[re.Pattern[str]] = [anything] if survey.open_roles else []
    for one in survey.steps:
        keys = _MAKERS.get(one.step.type)
        if one.step.type == "meta" and "refresh_inventory" in map(str, one.step.args.values()):
            found.append(anything)
        if keys is None:
            continue
        if ALL_ARGUMENTS in one.step.args:
            found.append(anything)
        for key in keys:
            value = one.step.args.get(key) or []
            words = value if isinstance(value, list) else str(value).split(",")
            found += [as_pattern(str(word).strip()) for word in words]
    return found
