"""A playbook project written for one test: `site.yml` and whatever lies beside it."""

from __future__ import annotations

from pathlib import Path

from cleanslate.errors import Problems
from cleanslate.inventory import load_inventory
from cleanslate.model import Node, Playbook, Step, walk
from cleanslate.playbook import check_playbook, load_playbook

INVENTORY = "[web]\nweb1\nweb2\n\n[db]\ndb1\n\n[empty]\n"


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder / "site.yml"


def load(folder: Path, files: dict[str, str], **options) -> Playbook:
    return load_playbook(write(folder, files), **options)


def tasks(folder: Path, text: str, **files: str) -> list[Step]:
    """The steps of a play with these tasks; `files` are named with `__` for a slash and without `.yml`."""
    indented = "".join(f"    {line}\n" for line in text.strip("\n").splitlines())
    others = {f"{name.replace('__', '/')}.yml": content for name, content in files.items()}
    return steps(load(folder, {"site.yml": f"- hosts: web\n  tasks:\n{indented}", **others}).plays[0].tasks)


def steps(nodes: tuple[Node, ...]) -> list[Step]:
    return list(walk(nodes))


def names(nodes: tuple[Node, ...]) -> list[str]:
    return [step.title for step in walk(nodes)]


def says(folder: Path, files: dict[str, str], *, extra_vars=None, lint=False) -> list[str]:
    """Everything that is said about a project, paths cut off."""
    inventory = load_inventory([str(write(folder, {"hosts.ini": INVENTORY}).with_name("hosts.ini"))], base=folder)
    problems = Problems()
    playbook = load(folder, files, problems=problems, extra_vars=extra_vars)
    check_playbook(playbook, inventory, extra_vars=extra_vars or {}, problems=problems, lint=lint)
    return [str(problem).replace(f"{folder}/", "") for problem in problems.found]
