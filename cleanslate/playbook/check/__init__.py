"""Everything about a playbook that can be known before a host is touched, and that reading it has not shown yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleanslate.errors import Problems
from cleanslate.model import Inventory, Playbook
from cleanslate.playbook.check.arguments import check_arguments
from cleanslate.playbook.check.background import check_background
from cleanslate.playbook.check.defaults import check_defaults
from cleanslate.playbook.check.files import check_files, check_vars_files
from cleanslate.playbook.check.handlers import check_notified
from cleanslate.playbook.check.hosts import check_hosts
from cleanslate.playbook.check.lint import lint_plays
from cleanslate.playbook.check.modes import check_modes
from cleanslate.playbook.check.names import check_names
from cleanslate.playbook.check.specs import check_specs
from cleanslate.playbook.check.survey import Survey, survey_play
from cleanslate.playbook.check.tags import check_tags
from cleanslate.playbook.check.templates import TemplateCheck
from cleanslate.playbook.check.truth import check_truth
from cleanslate.playbook.loader import Loader
from cleanslate.yamlfile import Decrypt


def check_playbook(
    playbook: Playbook,
    inventory: Inventory,
    *,
    extra_vars: Mapping[str, Any],
    problems: Problems,
    vault: Decrypt | None = None,
    lint: bool = False,
) -> None:
    """Add every mistake to `problems`: arguments, templates, files, handlers, host patterns, includes by literal names.

    With `lint`, also what runs and is probably not meant: handlers nobody notifies, results nobody reads and the like.
    """
    loader = Loader(playbook.path.parent, problems, vault, extra_vars)
    surveys = [survey_play(play, loader) for play in playbook.plays]
    templates = TemplateCheck(problems)
    for survey in surveys:
        check_vars_files(survey, loader)
        check_specs(survey, extra_vars, problems)
        templates.check_play(survey)
        for found in survey.steps:
            check_arguments(found, problems)
            check_modes(found, problems)
            check_defaults(found, problems)
            check_truth(found, survey, problems)
            check_background(found, problems)
            templates.check_step(found)
            check_files(found, survey, loader, templates)
        check_notified(survey, problems)
    check_hosts(surveys, inventory, extra_vars, problems)
    check_names(surveys, inventory, extra_vars, loader, problems)
    if lint:
        lint_plays(surveys, templates, problems)
    problems.found[:] = dict.fromkeys(problems.found)  # aliases and roles used twice say the same twice


__all__ = ["Survey", "check_playbook", "check_tags"]
