"""What every step type promises: it is documented, its example runs, check mode foretells it and leaves no trace."""

from __future__ import annotations

import pytest
import yaml

from cleanslate.model import Status
from cleanslate.steps.contract import with_descriptions
from cleanslate.steps.registry import canonical, step_names, step_type
from tests.steps.examples import FIXTURES, KEYWORDS, Example, Needs


@pytest.fixture
def example(request, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    with FIXTURES.get(request.param, Needs()).stage() as stage:
        yield Example(request.param, tmp_path, stage)


every_step_type = pytest.mark.parametrize("name", step_names())
every_example = pytest.mark.parametrize("example", step_names(), indirect=True)


@every_step_type
def test_it_says_what_it_is_what_it_takes_and_what_it_gives(name):
    found = step_type(name)
    undocumented = [
        field for field, info in with_descriptions(found.arguments).model_fields.items() if not info.description
    ]
    assert (found.name, undocumented) == (name, [])
    assert found.summary.endswith(".")
    assert found.returns or not found.on_target
    assert all(found.returns.values())


@every_step_type
def test_its_example_is_a_list_of_steps_and_shows_the_step_type(name):
    tasks = yaml.safe_load(step_type(name).example)
    kinds = [[canonical(key) for key in task if key not in KEYWORDS] for task in tasks]
    assert all(len(kind) == 1 and kind[0] for kind in kinds)
    assert [name] in kinds


@every_step_type
def test_its_rules_speak_of_arguments_that_it_has(name):
    found = step_type(name)
    known = set(found.arguments.model_fields)
    for info in found.arguments.model_fields.values():
        known |= set(getattr(info.validation_alias, "choices", None) or [info.validation_alias or ""])
        known.add(info.alias or "")
    rules = [*found.exclusive, *found.one_of, *found.any_of, *found.together]
    named = {name for rule in rules for name in rule} | set(found.unrendered) | ({found.free_form} - {None})
    assert named - known == set()


def test_every_fixture_belongs_to_a_step_type():
    assert set(FIXTURES) - set(step_names()) == set()


@every_example
def test_its_example_runs_check_mode_foretells_it_and_a_second_time_changes_nothing(example):
    ran = example.run()
    for one in ran:
        assert one.applied.result.data.get("failed") is False, one.applied.result
        assert one.after == one.before, f"{one.step.name} left a trace in check mode"
        foretells(one)
        if one.again is not None:
            assert one.again.result.data["changed"] is False, one.again.result
    shown = [task for task in example.tasks() if example.step.name in map(canonical, task) and "when" not in task]
    assert any(one.step is example.step for one in ran) or not shown


def foretells(one):
    """Check mode says changed or not as apply does; unknown only where the step type says that it cannot know."""
    if one.foretold.result.status is Status.UNKNOWN:
        assert not one.step.foretells, one.foretold.result
    else:
        expected = one.applied.result
        assert (one.foretold.result.data["failed"], one.foretold.result.data["changed"]) == (
            False,
            expected.data["changed"],
        )
        assert one.foretold.result.diffs == expected.diffs
