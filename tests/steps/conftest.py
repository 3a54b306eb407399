"""Fixtures of the step types' tests."""

from tests.steps.fake_engine import engine  # noqa: F401 - a fixture
from tests.steps.server_fixtures import serving, state_home  # noqa: F401 - fixtures
