"""Labs for the tests of this room."""

import pytest

from tests.lab.practice import Practice


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """A lab as it comes up, shared: whoever starts something in it ends it again."""
    practice = Practice(tmp_path_factory.mktemp("a lab") / "room")
    practice.run("up")
    yield practice
    practice.close()


@pytest.fixture
def own_lab(tmp_path):
    """A lab of one's own, in a folder with a blank; not up yet."""
    practice = Practice(tmp_path / "own lab")
    yield practice
    practice.close()
