"""Parameters that a role is given, against the role's own argument_specs, as far as they are known already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleanslate.errors import Problems
from cleanslate.model import Role
from cleanslate.playbook.check.survey import Survey
from cleanslate.playbook.values import as_data, did_you_mean


def check_specs(survey: Survey, extra_vars: Mapping[str, Any], problems: Problems) -> None:
    """Note every parameter that the role would refuse; what `-e` replaces, and conditional roles, are left alone."""
    for role in survey.roles:
        spec = _spec(role)
        if spec is not None and not role.keywords.when:
            _check(role, spec, extra_vars, problems)


def _spec(role: Role) -> dict[str, dict[str, Any]] | None:
    entry = role.argument_specs.get(role.tasks_from) if role.argument_specs is not None else None
    options = entry.get("options") if isinstance(entry, Mapping) else None
    if not isinstance(options, Mapping):
        return None
    return {str(name): as_data(about or {}) for name, about in options.items() if isinstance(about or {}, Mapping)}


def _check(role: Role, spec: dict[str, dict[str, Any]], extra_vars: Mapping[str, Any], problems: Problems) -> None:
    from cleanslate.render import is_template
    from cleanslate.steps import _argument_spec

    names = _argument_spec.spellings(spec)
    for name, value in role.params.items():
        if name in extra_vars:
            continue
        if name not in names:
            fix = did_you_mean(str(name), names) or f"its parameters are {', '.join(sorted(spec))}"
            what = f'role "{role.name}" has no parameter "{name}"'
            problems.add(what, role.params.key_origin(name), fix=fix, code="role-argument")
        elif not is_template(value):
            about = spec.get(name) or next(one for one in spec.values() if name in (one.get("aliases") or ()))
            for sentence in _argument_spec.value_errors(about, as_data(value), str(name)):
                what = f'role "{role.name}": {sentence}'
                problems.add(what, role.params.value_origin(name), code="role-argument")


__all__ = ["check_specs"]
