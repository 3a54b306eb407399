"""The Invoke collection: `invoke play restart-eagle3` and everything that `invoke --list` shows."""

from cleanslate.cli import namespace

__all__ = ["namespace"]
