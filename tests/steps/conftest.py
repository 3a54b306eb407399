"""Fixtures of the step types' tests."""

from tests.steps.server_fixtures import serving, state_home  # noqa: F401 - fixtures
