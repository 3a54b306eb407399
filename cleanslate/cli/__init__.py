"""The Invoke tasks. Importing this costs Invoke and nothing else: each task imports what it needs when it is called."""

from cleanslate.cli.tasks import namespace

__all__ = ["namespace"]
