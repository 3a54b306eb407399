"""Mistakes people make, each with what is said about it: mistakes.golden holds the cases.

A case is `=== its name`, the playbook, further files each below `@@ path`, and what is said below `--- says`.
`python -m tests.playbook.mistakes` writes the file anew from what is said now; the diff is for reading.
"""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cleanslate.errors import InputError, Problems
from cleanslate.inventory import load_inventory
from cleanslate.playbook import check_playbook, load_playbook

GOLDEN = Path(__file__).with_name("mistakes.golden")
INVENTORY = "[web]\nweb1\nweb2\n\n[db]\ndb1\n\n[empty]\n"


@dataclass(frozen=True)
class Mistake:
    name: str
    files: dict[str, str]
    says: list[str]


def read_cases() -> list[Mistake]:
    cases = []
    for chunk in re.split(r"^=== ", GOLDEN.read_text(), flags=re.MULTILINE)[1:]:
        name, _, body = chunk.partition("\n")
        source, _, says = body.partition("--- says\n")
        parts = re.split(r"^@@ (.*)\n", "site.yml\n" + source, flags=re.MULTILINE)
        files = {"site.yml": parts[0].removeprefix("site.yml\n")}
        files |= dict(zip(parts[1::2], parts[2::2], strict=True))
        cases.append(Mistake(name.strip(), files, says.strip().splitlines()))
    return cases


def said(files: dict[str, str], folder: Path, *, lint: bool = True) -> list[str]:
    """What is said about a playbook and its files, in file order, with paths from its folder."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "hosts.ini").write_text(INVENTORY)
    before = Path.cwd()
    os.chdir(folder)
    try:
        problems = Problems()
        inventory = load_inventory(["hosts.ini"], base=Path())
        try:
            playbook = load_playbook(Path("site.yml"), problems=problems)
            check_playbook(playbook, inventory, extra_vars={}, problems=problems, lint=lint)
        except InputError as error:
            problems.include(error)
    finally:
        os.chdir(before)
    found = sorted(problems.found, key=lambda problem: problem.origin or ("", 0, 0))
    return [line for problem in found for line in str(problem).splitlines()]


def rewrite() -> None:
    written = []
    for case in read_cases():
        with tempfile.TemporaryDirectory() as folder:
            lines = said(case.files, Path(folder))
        files = "".join(text if path == "site.yml" else f"@@ {path}\n{text}" for path, text in case.files.items())
        written.append(f"=== {case.name}\n{files}--- says\n" + "".join(f"{line}\n" for line in lines) + "\n")
    GOLDEN.write_text("".join(written))


if __name__ == "__main__":
    rewrite()
