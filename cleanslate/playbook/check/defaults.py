"""What `module_defaults` are for: step types that there are, and groups of modules that a collection has."""

from __future__ import annotations

from cleanslate.errors import Problems
from cleanslate.model import SourceMap
from cleanslate.playbook.check.survey import Found
from cleanslate.playbook.types import known_names, step_name
from cleanslate.playbook.values import did_you_mean, templated
from cleanslate.steps import registry


def check_defaults(found: Found, problems: Problems) -> None:
    """Note names in a step's module_defaults that nothing is called by, which would go unnoticed."""
    for layer in found.step.keywords.module_defaults:
        if isinstance(layer, SourceMap):
            for name in layer:
                _check(name, layer, found, problems)


def _check(name: object, layer: SourceMap, found: Found, problems: Problems) -> None:
    if not isinstance(name, str) or templated(name) or step_name(name):
        return
    origin = layer.key_origin(name)
    if name.startswith("group/"):
        from cleanslate.modules.groups import is_group

        if not is_group(name, (found.step.role.path,) if found.step.role else ()):
            what = f'module_defaults: no collection that is installed has the group "{name.removeprefix("group/")}"'
            fix = "name it with its collection (group/amazon.aws.aws), and install that"
            problems.add(what, origin, fix=fix, code="module-defaults")
    elif "." not in name and not any(name in registry.names_of(one) for one in registry.added()):
        near = did_you_mean(name, known_names())
        if near:
            problems.add(f'module_defaults: there is no step type "{name}"', origin, fix=near, code="module-defaults")
