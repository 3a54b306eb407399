"""The controller is killed with SIGKILL at random moments of the story, and the run is gone on with.

Each seed is one moment. As it is, a few of them are tried; all fifty: CLEANSLATE_SEEDS=0-49 ./inv test --path
tests/story/test_killed.py (about ten minutes); one of them again: CLEANSLATE_SEEDS=17.
"""

from __future__ import annotations

import os
import random
import time

import pytest

from cleanslate.record import list_runs
from tests.story.practice import STEPS, Story

pytestmark = pytest.mark.slow
_LAUNCH = STEPS.index("Launch")


def seeds() -> list[int]:
    """The moments to try."""
    first, _, last = os.environ.get("CLEANSLATE_SEEDS", "1-3").partition("-")
    return list(range(int(first), int(last or first) + 1))


@pytest.fixture
def story(tmp_path):
    """A fresh lab: a stuck server holds the GPUs, and an orphan one of them."""
    made = Story(tmp_path)
    yield made
    made.close()


def kill(story: Story, running, chance: random.Random, step: str | None) -> bool:
    """Kill the controller a moment after it has begun a step (None: after it was started); False if it was over."""
    if step is None:
        time.sleep(chance.uniform(0.0, 3.0))
    elif not story.until_begun(step, running):
        return False
    time.sleep(chance.choice((0.0, 0.02, 0.1, 0.4, 1.0)) * chance.random())
    running.kill()
    return running.wait() != 0


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", seeds())
def test_killed_at_a_moment_of_the_story_and_gone_on_with(story, seed):
    """The record reads back and tells what was running; in the end one launch, one server that serves, no lease."""
    chance = random.Random(seed)
    # All of the story in turn; each third moment is one just around the launch.
    place = chance.choice((_LAUNCH - 1, _LAUNCH, _LAUNCH + 1)) if seed % 3 == 2 else (seed * 5) % (len(STEPS) + 1) - 1
    running = story.play()
    killed = kill(story, running, chance, STEPS[place] if place >= 0 else None)
    while killed:
        runs = list_runs(story.runs)
        if not runs:  # it had not begun
            running = story.play()
        else:
            story.assert_records()
            begun = story.begun()
            code, told = story.inv("show", "last")
            assert (0, True) == (code, "has not ended in order" in told or "RECAP ok" in told), told
            assert begun == [] or f"STEP {begun[-1]}" in told or f": {begun[-1]}" in told, told
            if runs[0].outcome == "ok":  # killed after its last word
                break
            running = story.start("resume", "last", "--wait", "30s")
        # Some are killed once more while they go on, wherever that is.
        killed = chance.random() < 0.3 and kill(story, running, chance, None)
    assert 0 == running.wait(120) or killed, story.said()
    story.assert_one_server()
