"""What the person asked for: the options of one run, as the runner needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleanslate.dataclass import dataclass

if TYPE_CHECKING:
    from cleanslate.model import Inventory
    from cleanslate.runner.replay import Replay


@dataclass(frozen=True)
class LeaseWish:
    """That the run holds the machines it works on. `facts`: run, who, from, playbook, since. `wait` is in seconds."""

    facts: Mapping[str, Any]
    wait: float = 0.0


@dataclass(frozen=True)
class RunSettings:
    """The options of a run. Times are in seconds.

    step_deadline bounds a step that has no `timeout:` of its own; generous, because a model download is one
    step, and finite, because a connection that only seems to live must not hold a run for ever.
    ask(prompt, echo, seconds) asks the person; None when nobody can answer.
    used(path) is told of every file of the controller that takes part after the start: templates, copied files,
    includes, variable files. It is called in any thread, often for the same file, and must be quick.
    earlier(run, step name, step type, host) gives (run id, result fields) of a step in an earlier run, None where it is
    not there, and raises InputError where there is no such run; None when no records are kept.
    reload() reads the inventory's sources again (`meta: refresh_inventory`); None where there are none to read.
    """

    base: Path
    check: bool = False
    diff: bool = False
    tags: Sequence[str] = ()
    skip_tags: Sequence[str] = ()
    limit: str | None = None
    forks: int = 50
    start_at: str | None = None
    confirm_steps: bool = False
    force_handlers: bool = False
    extra_vars: Mapping[str, Any] = field(default_factory=dict)
    connection_vars: Mapping[str, Any] = field(default_factory=dict)
    become: bool | None = None
    become_user: str | None = None
    verbosity: int = 0
    step_deadline: float = 24 * 3600.0
    ask: Callable[[str, bool, float | None], str | None] | None = None
    decrypt: Callable[[str], str] | None = None
    used: Callable[[Path], None] = lambda _path: None
    earlier: Callable[[str, str, str, str], tuple[str, Mapping[str, Any]] | None] | None = None
    lease: LeaseWish | None = None
    on_hangup: str = "stop"  # or `continue`: what a lost terminal means
    reload: Callable[[], Inventory] | None = None
    replay: Replay | None = None  # what an earlier run has done, that this one goes on with
