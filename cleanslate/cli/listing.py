"""What there is: playbooks, and the hosts, steps and tags of one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleanslate.cli.settings import Settings
from cleanslate.errors import InputError
from cleanslate.model import Node, Play, Role, Step, walk

if TYPE_CHECKING:
    from cleanslate.cli.loading import Loaded, PlayOptions


def list_playbooks(settings: Settings, *, as_json: bool) -> int:
    """Print the playbooks with the first comment or name of each."""
    folder = settings.root / "playbooks"
    found = [{"name": path.stem, "path": str(path), "about": _about(path)} for path in sorted(folder.glob("*.y*ml"))]
    if as_json:
        print(json.dumps(found, indent=2))
        return 0
    if not found:
        print(f"there are no playbooks in {folder}")
    width = max((len(entry["name"]) for entry in found), default=0)
    for entry in found:
        print(f"{entry['name']:<{width}}  {entry['about']}".rstrip())
    return 0


def _about(path: Path) -> str:
    """The first comment line of the file, or else the name of its first play."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        return f"(cannot be read: {error})"
    for line in lines:
        if line.startswith("#") and line.strip("# "):
            return line.strip("# ")
        if line.lstrip("- ").startswith("name:"):
            return line.partition(":")[2].strip().strip("\"'")
    return ""


def list_plays(loaded: Loaded, options: PlayOptions) -> None:
    """--list-hosts, --list-tasks, --list-tags."""
    from cleanslate.cli.loading import words

    only, skip = words(options.tags), words(options.skip_tags)
    print(f"playbook: {loaded.playbook.path}")
    for number, play in enumerate(loaded.playbook.plays, 1):
        print(f"\n  play #{number} ({play.hosts}): {play.name or play.hosts}  {play.origin}")
        if options.list_hosts:
            _print_hosts(loaded, play, options.limit)
        chosen = [(step, role) for step, role in play_steps(play) if _chosen(step, only, skip)]
        if options.list_tasks:
            print("    steps:")
            for step, role in chosen:
                tags = f"  [{', '.join(sorted(set(step.keywords.tags)))}]" if step.keywords.tags else ""
                print(f"      {f'{role} : ' if role else ''}{step.title}  {step.origin}{tags}")
        if options.list_tags:
            every = sorted({tag for step, _ in chosen for tag in step.keywords.tags})
            print(f"    tags: [{', '.join(every)}]")


def _chosen(step: Step, only: list[str], skip: list[str]) -> bool:
    from cleanslate.playbook import selected

    return selected(step.keywords.tags, only, skip)


def _print_hosts(loaded: Loaded, play: Play, limit: str | None) -> None:
    from cleanslate.inventory import match_hosts
    from cleanslate.render import Renderer, Variables, is_template

    pattern: Any = play.hosts
    if is_template(pattern):
        renderer = Renderer()
        pattern = renderer.render(pattern, Variables([play.vars, loaded.extra_vars], renderer))
    hosts = match_hosts(pattern, loaded.inventory, limit=limit)
    print(f"    hosts ({len(hosts)}):")
    for host in hosts:
        print(f"      {host}")


def play_steps(play: Play) -> Iterator[tuple[Step, str]]:
    """Every step of a play with the name of its role, in the order in which they run."""
    yield from _steps(play.pre_tasks, "")
    for role in play.roles:
        yield from _role_steps(role)
    yield from _steps(play.tasks, "")
    yield from _steps(play.post_tasks, "")


def _role_steps(role: Role) -> Iterator[tuple[Step, str]]:
    for dependency in role.dependencies:
        yield from _role_steps(dependency)
    yield from _steps(role.tasks, role.name)


def _steps(nodes: tuple[Node, ...], role: str) -> Iterator[tuple[Step, str]]:
    for step in walk(nodes):
        yield step, step.role.name if step.role else role


def known_playbooks(settings: Settings, path: str) -> list[Path]:
    """The playbooks that a path stands for: itself, those of a folder, or all of the repository's."""
    given = Path(path).expanduser() if path else settings.root / "playbooks"
    if given.is_dir():
        found = sorted(file for file in given.glob("*.y*ml") if file.is_file())
        if not found:
            raise InputError(f"there are no playbooks in {given}")
        return found
    from cleanslate.cli.settings import find_playbook

    return [find_playbook(settings.root, path)]
