"""Whole playbook projects: what they leave behind with ours is what they left behind with ansible-core."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from tests.projects import run as checker

HERE = Path(__file__).parent
PROJECTS = sorted(path.parent.name for path in (HERE / "playbooks").glob("*/expect.yml"))
OURS = f"{sys.executable} -m cleanslate.cli play {{playbook}} -i {{inventory}} -e workdir={{workdir}} {{args}}"


@pytest.mark.slow
@pytest.mark.parametrize("slug", PROJECTS)
def test_a_project_leaves_what_it_leaves_with_ansible(slug, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(HERE.parent.parent))
    options = SimpleNamespace(
        projects=str(HERE / "playbooks"), tmp=str(tmp_path), runner=OURS, flags=checker.FLAGS, slack=1.0, keep=False
    )
    result = checker.run_project(slug, options)
    assert [] == result["failed"], result["log"]


def test_the_projects_are_many_and_each_says_what_it_covers():
    told = [yaml.safe_load((HERE / "playbooks" / slug / "expect.yml").read_text()) for slug in PROJECTS]
    assert 40 <= len(PROJECTS)
    assert [] == [slug for slug, expect in zip(PROJECTS, told, strict=True) if not expect.get("covers")]
