"""Steps that shall go on by themselves (`async` with `poll: 0`): only those that can."""

from __future__ import annotations

from cleanslate.errors import Problems
from cleanslate.playbook.check.survey import Found
from cleanslate.steps import registry


def check_background(found: Found, problems: Problems) -> None:
    """Refuse `poll: 0` for a step whose work would end with the connection."""
    step, words = found.step, found.step.keywords
    step_type = registry.step_type(step.type)
    if words.async_seconds in (None, 0) or words.poll not in (0, "0") or step_type.background:
        return
    where = "on the target" if step_type.on_target else "on the controller"
    problems.add(
        f'{found.subject}: {step.type} works step by step {where}, so it cannot go on by itself ("poll: 0")',
        step.origin,
        fix="command, shell, get_url and Ansible's modules can; or leave out poll, and async is its time limit",
        code="async",
    )
