"""Asks ansible-core again for everything that the tests hold against it, and tells where it now says something else.

    python -m tests.against ANSIBLE_PYTHON [expressions|steps|inventories|projects ...]

ANSIBLE_PYTHON is the interpreter of an environment with ansible-core 2.19; `inv test --against-ansible` makes one.
Exit status: 0 when it agrees with everything that is written down, 1 otherwise.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

TESTS = Path(__file__).parent.parent


def expressions(python: str) -> list[str]:
    """Templates, conditions, filters, tests, lookups and loops."""
    return _program(TESTS / "render/against_ansible.py", python)


def steps(python: str) -> list[str]:
    """Step types: results, check mode, diffs, and what they leave."""
    return _module("tests.steps.against_ansible", python)


def inventories(python: str) -> list[str]:
    """Groups, variables and patterns."""
    from tests.inventory.cases import CASES

    folder = TESTS / "inventory"
    done = subprocess.run(
        [python, str(folder / "reference.py")], input=json.dumps(CASES), capture_output=True, text=True
    )
    if done.returncode:
        return [done.stderr.strip()[-2000:]]
    now, kept = json.loads(done.stdout), json.loads((folder / "expected.json").read_text())
    return [f"the inventory {name!r} comes out otherwise" for name in {*now, *kept} if now.get(name) != kept.get(name)]


def projects(python: str, slugs: tuple[str, ...] = ()) -> list[str]:
    """Whole playbook projects: exit status, and every file that they leave, held against what is expected of ours."""
    from tests.projects import run as checker
    from tests.projects.test_projects import PROJECTS

    playbook = Path(python).with_name("ansible-playbook")
    with tempfile.TemporaryDirectory(prefix="against-") as folder:
        options = SimpleNamespace(
            projects=str(TESTS / "projects/playbooks"),
            tmp=folder,
            runner=f"{playbook} {{playbook}} -i {{inventory}} -e workdir={{workdir}} {{args}}",
            flags=checker.FLAGS,
            slack=4.0,
            keep=False,
        )
        chosen = slugs or tuple(PROJECTS)
        with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            results = list(pool.map(lambda slug: checker.run_project(slug, options), chosen))
    failed = [(slug, result["failed"]) for slug, result in zip(chosen, results, strict=True) if result["failed"]]
    return [f"the project {slug} leaves something else: {said}" for slug, said in failed]


def _program(path: Path, python: str) -> list[str]:
    return _said(subprocess.run([sys.executable, str(path), python], capture_output=True, text=True))


def _module(name: str, python: str) -> list[str]:
    return _said(subprocess.run([sys.executable, "-m", name, python], capture_output=True, text=True))


def _said(done: subprocess.CompletedProcess[str]) -> list[str]:
    if done.returncode == 0:
        return []
    lines = [line for line in done.stdout.splitlines() if "all as they were kept" not in line]
    return lines or [done.stderr.strip()[-2000:]]


PARTS: dict[str, Callable[[str], list[str]]] = {
    "expressions": expressions,
    "steps": steps,
    "inventories": inventories,
    "projects": projects,
}


def main() -> int:
    """Ask for the parts that the command line names, or for all of them."""
    python, *chosen = sys.argv[1:]
    differing = 0
    for name in chosen or PARTS:
        began = time.monotonic()
        found = PARTS[name](python)
        differing += len(found)
        for line in found:
            print(f"  {line}")
        verdict = "agrees" if not found else f"{len(found)} differ"
        print(f"{name}: {verdict} ({time.monotonic() - began:.0f} s)", flush=True)
    print("ansible-core agrees with what the tests hold against it" if not differing else f"{differing} differences")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
