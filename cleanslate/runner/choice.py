"""Which of a play's steps run: --tags, --skip-tags, --start-at-task, and --step, which asks."""

from __future__ import annotations

import threading
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from cleanslate.model import SourceText, Step
from cleanslate.playbook import selected
from cleanslate.runner.scope import Frame, PlayScope

if TYPE_CHECKING:
    from cleanslate.runner.world import World


class Choice:
    """The choice for one batch of a play; each step is asked about once, whatever the number of hosts."""

    def __init__(self, world: World, scope: PlayScope) -> None:
        self.world = world
        self.scope = scope
        self._lock = threading.Lock()
        self._started_at = world.settings.start_at is None
        self._confirmations: dict[int, bool] = {}
        self._confirm_no_more = False

    def selected(self, step: Step) -> bool:
        """Whether --tags, --skip-tags and --start-at-task let a step run."""
        settings = self.world.settings
        if not self._started_at:
            if not _matches_start(step, settings.start_at or ""):
                return False
            self._started_at = True
        return selected(self._tags(step), settings.tags, settings.skip_tags) and self._confirmed(step)

    def _tags(self, step: Step) -> list[str]:
        """The step's tags; a tag may be a template, of text or of a list."""
        found: list[str] = []
        for tag in step.keywords.tags:
            if "{" not in tag:
                found.append(tag)
                continue
            variables = self.world.variables.of_step(self.scope.batch[0], self.scope, step, Frame())
            rendered = self.world.variables.renderer(step).render(SourceText(tag, step.origin), variables)
            found += [str(one) for one in rendered] if isinstance(rendered, list) else str(rendered).split(",")
        return found

    def _confirmed(self, step: Step) -> bool:
        """--step: ask once for each step; `c` goes on without asking again."""
        settings = self.world.settings
        if not settings.confirm_steps or settings.ask is None:
            return True
        with self._lock:
            if id(step) not in self._confirmations:
                answer = "y"
                if not self._confirm_no_more:
                    answer = (settings.ask(f"Run step {step.title}? (N)o/(y)es/(c)ontinue", True, None) or "n").lower()
                self._confirm_no_more = self._confirm_no_more or answer.startswith("c")
                self._confirmations[id(step)] = answer[:1] in ("y", "c")
            return self._confirmations[id(step)]


def _matches_start(step: Step, wanted: str) -> bool:
    """--start-at-task takes a name or a pattern with wildcards."""
    return step.title == wanted or fnmatchcase(step.title, wanted)
