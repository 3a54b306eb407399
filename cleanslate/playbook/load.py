"""The doors of this room for reading: a whole playbook, and what dynamic includes bring during a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cleanslate.errors import InputError, Origin, Problems
from cleanslate.model import Keywords, Node, Play, Playbook, Role, SourceMap
from cleanslate.playbook.entries import read_entries
from cleanslate.playbook.inherit import NOTHING
from cleanslate.playbook.loader import Loader, Scope, TooMuch
from cleanslate.playbook.plays import read_playbook
from cleanslate.playbook.roles import Use, read_role
from cleanslate.playbook.values import did_you_mean
from cleanslate.yamlfile import Decrypt, shown_path


def load_playbook(
    path: Path,
    *,
    vault: Decrypt | None = None,
    problems: Problems | None = None,
    extra_vars: Mapping[str, Any] | None = None,
) -> Playbook:
    """Read a playbook with its roles and everything it imports; InputError lists all mistakes.

    With `problems`, mistakes are added there instead, and what could be read comes back, so that `check_playbook` can
    look for more before all of them are told. `extra_vars` (`-e`) may name what is imported.
    """
    found = Problems() if problems is None else problems
    loader = Loader(path.parent, found, vault, extra_vars or {})
    if not path.is_file():
        raise InputError(f'there is no playbook "{shown_path(path)}"', fix=_near_playbook(path))
    plays: list[Play] = []
    try:
        loader.enter(path, Origin(shown_path(path)), "the playbook")
        plays = read_playbook(path, loader)
    except TooMuch as error:
        found.include(error)
    if problems is None:
        found.raise_if_any()
    return Playbook(path, tuple(plays), tuple(loader.files))


def _near_playbook(path: Path) -> str | None:

    if not path.parent.is_dir():
        return f"there is no folder {shown_path(path.parent)} either"
    return did_you_mean(path.name, [one.name for one in path.parent.iterdir() if one.suffix in (".yml", ".yaml")])


def load_tasks_file(
    path: Path,
    *,
    play: Play,
    role: Role | None,
    inherit: Keywords,
    vault: Decrypt | None = None,
    handlers: bool = False,
    extra_vars: Mapping[str, Any] | None = None,
    problems: Problems | None = None,
) -> tuple[Node, ...]:
    """Read a file of steps for an include; `inherit` is what its steps take over (`inherited_by_include`).

    Raises InputError with all mistakes, unless `problems` collects them. With `handlers` the entries are handlers.
    """
    found = Problems() if problems is None else problems
    loader = Loader(play.playbook.parent, found, vault, extra_vars or {}, play)
    scope = Scope(inherit, path, role, handlers=handlers)
    loader.enter(path, None, "the file")
    nodes = read_entries(loader.read(path), scope, loader, shown_path(path), Origin(shown_path(path)))
    if problems is None:
        found.raise_if_any()
    return nodes


def load_role(
    name: str,
    *,
    playbook_dir: Path,
    params: SourceMap | None = None,
    tasks_from: str = "main",
    vars_from: str = "main",
    defaults_from: str = "main",
    handlers_from: str = "main",
    inherit: Keywords = NOTHING,
    play: Play | None = None,
    parent: Role | None = None,
    public: bool = False,
    allow_duplicates: bool = True,
    validate: bool = True,
    origin: Origin | None = None,
    vault: Decrypt | None = None,
    extra_vars: Mapping[str, Any] | None = None,
    problems: Problems | None = None,
) -> Role:
    """Read a role for an include_role; `parent` is the role that includes it, `inherit` what its steps take over.

    Raises InputError with all mistakes, unless `problems` collects them (a role that is not found raises always).
    """
    found = Problems() if problems is None else problems
    loader = Loader(playbook_dir, found, vault, extra_vars or {}, play)
    use = Use(
        name=name,
        origin=origin,
        subject=f'role "{name}"',
        params=params if params is not None else SourceMap(),
        tasks_from=tasks_from,
        vars_from=vars_from,
        defaults_from=defaults_from,
        handlers_from=handlers_from,
        public=public,
        allow_duplicates=allow_duplicates,
        parents=(*parent.parents, parent) if parent is not None else (),
        validate=validate,
    )
    role = read_role(use, Scope(inherit, playbook_dir / "main.yml", parent), loader)
    if role is None:
        raise InputError(problems=found.errors)
    if problems is None:
        found.raise_if_any()
    return role
