"""sleep: time passes on the target, and none in check mode."""

import pytest

from cleanslate.errors import InputError
from cleanslate.model import Status
from tests.steps.harness import DirectTarget, run_step


@pytest.mark.parametrize("arguments", [{"seconds": 0.02}, {"for": "20ms"}, {"seconds": "20ms"}])
def test_it_sleeps_and_changes_nothing(arguments):
    result = run_step("sleep", arguments).result
    assert (Status.OK, True) == (result.status, result.data["seconds"] >= 0.02)


def test_check_mode_does_not_sleep():
    target = DirectTarget()
    result = run_step("sleep", {"for": "1h"}, check=True, target=target).result
    assert (Status.OK, []) == (result.status, target.calls)


def test_how_long_is_left_is_shown():
    target = DirectTarget()
    run_step("sleep", {"for": 1.05}, target=target)
    assert [{"text": "1 s left", "seconds_left": 1}] == target.progress


def test_a_length_that_is_none_is_refused():
    with pytest.raises(InputError, match="is not a duration"):
        run_step("sleep", {"for": "a while"})
