"""Fixtures of the step types' tests."""

from tests.steps.server_fixtures import serving  # noqa: F401 - a fixture
