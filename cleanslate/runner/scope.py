"""Where a step stands: in which play, and below which dynamic includes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from cleanslate.dataclass import dataclass
from cleanslate.model import Play, Role

Layers = list[Mapping[str, Any]]


@dataclass(frozen=True)
class Frame:
    """What dynamic includes add for the steps below them: parameters, outermost first, and the file they are in."""

    params: tuple[Mapping[str, Any], ...] = ()
    folder: Path | None = None

    def below(self, params: Mapping[str, Any], folder: Path | None = None) -> Frame:
        """The frame one include further down."""
        return Frame((*self.params, params) if params else self.params, folder or self.folder)


@dataclass
class PlayScope:
    """What one play adds for all of its hosts."""

    play: Play
    roles: list[Role] = field(default_factory=list)  # whose vars and defaults later steps see
    role_names: list[str] = field(default_factory=list)  # of the play's own roles, and of those included so far
    prompts: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Layers] = field(default_factory=dict)  # by host: vars_files, whose names may be templates
    hosts_all: Sequence[str] = ()
    batch: Sequence[str] = ()
