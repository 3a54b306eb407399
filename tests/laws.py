"""How many examples a law is tried with: fewer in the quick part of the suite, which is run after every change."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

QUICK = 10
"""The most in the quick part. The whole suite tries as many as each test says."""

settings.register_profile("fast", max_examples=QUICK, deadline=None)


def examples(most: int, **named: Any) -> settings:
    """`@examples(40)`: as many, without a deadline for one, or what the profile allows where that is less."""
    return settings(max_examples=min(most, settings.default.max_examples), deadline=None, **named)
