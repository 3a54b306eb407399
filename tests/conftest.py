"""Fixtures that several rooms' tests share."""

from tests.room.fixtures import actor, freezer, gpu_room, libraries, room, rooms, standing_rooms  # noqa: F401 - fixtures
