"""`--tags` and `--skip-tags` against the tags that a playbook has."""

from __future__ import annotations

from collections.abc import Sequence

from cleanslate.errors import Problems
from cleanslate.model import Playbook, Role, walk
from cleanslate.playbook.values import did_you_mean, templated

_SPECIAL = frozenset(("always", "never", "tagged", "untagged", "all"))


def check_tags(playbook: Playbook, only: Sequence[str], skip: Sequence[str], problems: Problems) -> None:
    """Warn of asked-for tags that no step has; silent where a template or an include may still bring them."""
    known: set[str] = set()
    for play in playbook.plays:
        nodes = [*play.pre_tasks, *play.tasks, *play.post_tasks]
        for role in _all_roles(play.roles):
            nodes += role.tasks
            known |= set(role.keywords.tags)
        known |= set(play.keywords.tags)
        for step in walk(tuple(nodes)):
            known |= set(step.keywords.tags)
            if step.type in ("include_tasks", "include_role"):
                return
    if any(templated(tag) for tag in known):
        return
    for option, asked in (("--tags", only), ("--skip-tags", skip)):
        for tag in asked:
            if tag not in known and tag not in _SPECIAL:
                fix = did_you_mean(tag, known) or (
                    f"there are {', '.join(sorted(known))}" if known else "no step has tags"
                )
                problems.add(f'{option}: no step has the tag "{tag}"', fix=fix, severity="warning", code="no-such-tag")


def _all_roles(roles: Sequence[Role]) -> list[Role]:
    found: list[Role] = []
    for role in roles:
        found += [*_all_roles(role.dependencies), role]
    return found
