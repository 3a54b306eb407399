"""Every mistake in mistakes.golden is told with exactly the lines below it, and nothing else is."""

from __future__ import annotations

import pytest

from tests.playbook.mistakes import read_cases, said

CASES = {case.name: case for case in read_cases()}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_told_with_its_place_and_what_to_do(name, tmp_path):
    case = CASES[name]
    assert case.says == said(case.files, tmp_path)


def test_every_case_has_a_name_of_its_own():
    assert len(CASES) == len(read_cases())
