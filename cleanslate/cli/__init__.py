"""The Invoke tasks. Importing this costs Invoke and nothing else: each task imports what it needs when it is called."""

from cleanslate.cli.startup import collect_rarely, import_invoke, keep_bytecode

collect_rarely()
keep_bytecode()
import_invoke()

from cleanslate.cli.tasks import namespace  # noqa: E402 - Invoke comes with the first task, and must be light by then

__all__ = ["namespace"]
