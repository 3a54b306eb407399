"""The network is cut while the story goes, for five seconds or for ever: it goes on, or `unreachable` is told in time.

Never a hang, and never a double effect: afterwards the run is gone on with, and there is one launch and one server.
As it is, a few of the cuts are tried; all of them: CLEANSLATE_CUTS=all ./inv test --path tests/story/test_cut.py.
"""

from __future__ import annotations

import os
import time
from itertools import product

import pytest

from cleanslate.record import list_runs, read_events
from tests.story.practice import STEPS, Story
from tests.story.wire import WiredRoom

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces take root; CI is root"),
]
PLACES = STEPS[5:12]
HOWS = ("killed", "dropped")
ALL = [(how, lasts, place) for how, lasts, place in product(HOWS, (5.0, None), PLACES)]
FEW = [("dropped", 5.0, "Launch"), ("dropped", None, PLACES[0])]


class Cut(Story):
    """The story in a lab at the end of a wire."""

    def __init__(self, folder) -> None:
        self.folder = folder
        self.runs = folder / "runs"
        self.room = WiredRoom(folder, alive=(1, 3))
        self.lab = self.room.lab
        self.inventory = self.room.inventory

    def close(self) -> None:
        """End it."""
        self.room.close()


@pytest.fixture
def story(tmp_path):
    made = Cut(tmp_path)
    yield made
    made.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("how", "lasts", "place"), ALL if os.environ.get("CLEANSLATE_CUTS") == "all" else FEW)
def test_a_cut_network(story, how, lasts, place):
    """Five seconds are survived, or told; for ever is told within half a minute."""
    running = story.play()
    assert story.until_begun(place, running), story.said()
    time.sleep(0.15 * (len(place) % 3))
    story.room.cut(how)
    if lasts is not None:
        time.sleep(lasts)
        story.room.mend(how)
    code = running.wait(60)
    said = story.said()
    runs = list_runs(story.runs)
    if lasts is None:
        story.room.mend(how)
    if code != 0:
        assert (4, "unreachable") == (code, runs[0].outcome), said
        lost = [e.data for e in read_events(runs[0].folder) if e.kind == "host.finished" and e.data["status"] != "ok"]
        assert "unreachable" == lost[-1]["status"], said
        code, told = story.inv("resume", "last", "--unfinished", "again")
        assert 0 == code, said + told
    story.assert_one_server()
    print(how, lasts, place, "resumed work" if len(runs) == len(list_runs(story.runs)) else "unreachable, gone on with")
