"""Two things that people expect and Invoke's parser lacks: optional positional arguments, and `TASK --help`.

Invoke takes every positional argument for required, and gives the word `--help` to one that is still missing. Both
are mended in its parser itself, so that `inv` and plain `invoke` behave alike.
"""

from __future__ import annotations

from typing import Any

from invoke.parser import Argument
from invoke.parser.parser import ParseMachine


class OptionalPositional(Argument):  # type: ignore[misc]  # invoke has no types
    """A positional argument that may be left out; `fallback` is its value then."""

    def __init__(self, *given: Any, fallback: Any, **words: Any) -> None:
        super().__init__(*given, **words)
        self.fallback = fallback


_handle = ParseMachine.handle
_complete_context = ParseMachine.complete_context


def _handle_help(machine: Any, token: str) -> None:
    """Take --help behind a task's name as a question about the task, whatever it still misses."""
    in_task = machine.context is not None and machine.context is not machine.initial
    if token in ("--help", "-h") and in_task and not machine.waiting_for_flag_value:
        machine.initial.flags["--help"].value = machine.context.name
        machine.asked_for_help = True
        return
    _handle(machine, token)


def _complete_optional(machine: Any) -> None:
    """Before Invoke looks for missing positional arguments, give the optional ones their fallback."""
    if machine.context is not None:
        for argument in machine.context.positional_args:
            if argument.value is None and isinstance(argument, OptionalPositional):
                argument.set_value(argument.fallback, cast=False)
            elif argument.value is None and getattr(machine, "asked_for_help", False):
                argument.set_value("", cast=False)
    _complete_context(machine)


def extend_parser() -> None:
    """Put both into Invoke's parser; twice is once."""
    ParseMachine.handle = _handle_help
    ParseMachine.complete_context = _complete_optional
